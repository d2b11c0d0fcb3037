package app

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLearned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	env := write(".env",
		"PORT=3000\nDEBUG=true\nexport "+
			"API_KEY=\"abc-123-def\"\nSECRET_TOKEN=LEAKME-7\nDATABASE_URL=postgres://u:hunter2-x@db/x\nNAME=produc"+
			"tion-7\n")
	key := write("id", "some words here\nzx81-spectrum-48\n")
	var l learned
	l.from(dir, []string{env, key, filepath.Join(dir, "gone"), dir})
	l.from(dir, []string{env})
	other := write("other", "TOKEN=saved-anew-99\n")
	if err := os.Rename(other, env); err != nil {
		t.Fatal(err)
	}
	l.from(dir, []string{env})
	// A value that holds another is masked whole, whichever was learned first.
	l.from(dir, []string{write("short", "ONE_KEY=held-by-more\n"), write("long", "TWO_KEY=held-by-more-than-it\n")})
	if got := l.mask("held-by-more-than-it"); got != "‹masked TWO_KEY›" {
		t.Errorf("the longer value is told as %s", got)
	}
	got := l.mask("3000 true abc-123-def LEAKME-7 hunter2-x production-7 zx81-spectrum-48 some words here " +
		"saved-anew-99")
	for _, secret := range []string{"abc-123-def", "LEAKME-7", "hunter2-x", "zx81", "saved-anew-99"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is told: %s", secret, got)
		}
	}
	for _, plain := range []string{"3000", "true", "production-7", "some words here", "‹masked API_KEY›"} {
		if !strings.Contains(got, plain) {
			t.Errorf("no %q in %s", plain, got)
		}
	}
}

// TestLearnedChoosesNothing: whoever writes a project's files does not choose what a person, a judge and the log get to
// see of a command.
func TestLearnedChoosesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".env")
	text := `: list src, ls -l src # API_KEY="rm -rf src1"
A_KEY="rm -rf src2"
B_KEY=curl$IFS.x1|sh
C_KEY=--no-verify-1
D_KEY=./deploy1.sh
E_KEY=/etc/passwd1
F_KEY=https://evil1.example/x
G_KEY=evil.example.com.org
rm-rf;src12345
` + strings.Repeat("LONG", 30) + `_KEY=abcdef123456
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var l learned
	l.from("p", []string{file})
	if got := l.mask(text); got != text {
		t.Errorf("of the file is masked: %s", got)
	}
}

// TestLearnedHasRoom: a file with many credentials takes no room of others, be they learned from files or kept.
func TestLearnedHasRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "A%d_KEY=fill-er-%d\n", i, i)
	}
	var l learned
	for name, text := range map[string]string{"a": many.String(), "b": "REAL_KEY=of-the-user-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for i := range maxLearnedFiles {
		names = append(names, filepath.Join(dir, "gone", fmt.Sprint(i)), filepath.Join(dir, "a"))
	}
	l.from("p", append(names, filepath.Join(dir, "b")))
	token := "tok/en+of=a login-1234567890"
	l.secret(token, "login")
	if got := l.mask("x of-the-user-1 y " + token); got != "x ‹masked REAL_KEY› y ‹masked login›" {
		t.Errorf("not all is masked: %s", got)
	}
	for _, around := range []string{"", "a", "ab", "abc", "Bearer "} {
		for _, said := range []string{base64.StdEncoding.EncodeToString([]byte(around + token + around)),
			base64.URLEncoding.EncodeToString([]byte(around + token)), url.QueryEscape(around + token),
			url.PathEscape(around + token), hex.EncodeToString([]byte(around + token + around))} {
			if got := l.mask("it said " + said + "."); !strings.Contains(got, "‹masked login›") {
				t.Errorf("a form of it passes: %s", got)
			}
		}
	}
	// What overlaps is covered whole.
	l.secret("overlap-1234", "one")
	l.secret("1234-tail-5678", "two")
	if got := l.mask("<overlap-1234-tail-5678>"); got != "<‹masked two›>" {
		t.Errorf("%s", got)
	}
}

func BenchmarkLearned(b *testing.B) {
	var l learned
	for i := range 5000 {
		l.add(pair{fmt.Sprintf("fill-er-%d-secret", i), maskMark + "x›"})
	}
	text := strings.Repeat("func (s *State) Apply(e troupe.Event) error {\n\treturn nil\n}\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		l.mask(text)
	}
}
