package e2e_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to play the newer version
)

// TestNewerDatabase: what a newer troupe wrote is left alone, and it is said why.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", "replies: [{text: ok}]\n")
	p.run(0, "-p", "go", "--model", "script:../s.yaml")
	file := filepath.Join(p.home(), "troupe.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p.refuses([]string{file, "version 99", "newer troupe"}, "sessions")
	p.refuses([]string{file, "version 99", "newer troupe"}, "-p", "go", "--model", "script:../s.yaml")
}

// TestUnusableHome: whatever is wrong with the home, one message names it and says what to do.
func TestUnusableHome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(p *place)
		says  string
	}{
		"a folder where the database should be": {func(p *place) { p.write("../home/troupe.db/x", "") },
			"home/troupe.db"},
		"not a database": {func(p *place) {
			p.write("../home/troupe.db",
				strings.Repeat("not one\n", 1000))
		}, "home/troupe.db"},
		"a home nobody can make": {func(p *place) {
			p.environ = append(p.environ,
				"TROUPE_HOME=/proc/none")
		}, "/proc/none"},
		"a file as home": {func(p *place) {
			p.write("../file", "")
			p.environ = append(p.environ, "TROUPE_HOME="+p.root+"/file")
		}, "/file"},
		"data where a file is": {func(p *place) {
			p.write("../file", "")
			p.environ = append(p.environ, "TROUPE_HOME=", "XDG_DATA_HOME="+p.root+"/file")
		}, "/file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("../s.yaml", "replies: [{text: ok}]\n")
			tt.spoil(p)
			p.refuses([]string{tt.says}, "-p", "go", "--model", "script:../s.yaml")
		})
	}
}

// refuses demands one message for people, and no success.
func (p *place) refuses(want []string, args ...string) {
	p.t.Helper()
	r := p.troupe(args...)
	if r.code != 1 && r.code != 2 || r.out != "" || !strings.HasPrefix(r.errOut, "troupe: ") ||
		strings.Contains(r.errOut, "\ntroupe: ") || strings.Contains(r.errOut, "goroutine") {
		p.t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	for _, w := range want {
		if !strings.Contains(r.errOut, w) {
			p.t.Errorf("the message does not say %q:\n%s", w, r.errOut)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "troupe.db")); err == nil {
		p.t.Error("a database appeared in the project")
	}
}
