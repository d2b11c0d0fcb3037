//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

const hiddenLine = "PASSWORD=LEAKME\n"

// tracked is a repository that has a file in it that is hidden from commands, and one more.
func tracked(t *testing.T, level troupe.Level) *room {
	t.Helper()
	has(t, "git")
	r := newRoom(t, Options{}).at(level)
	needLandlock(t, r)
	needCovers(t, r)
	r.env = append(r.env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@a")
	r.conf.Hidden = []string{r.secret(".env", hiddenLine, 0o644), r.secret("sub/.env.sh", "#!LEAKME\n", 0o755)}
	r.secret("other", "one\n", 0o644)
	r.must("git init -q -b main . && git add -A && git commit -qm first")
	return r
}

// must runs a command that nothing confines.
func (r *room) must(command string) string {
	r.t.Helper()
	out, code, _ := r.plain(command)
	if code != 0 {
		r.t.Fatalf("%s: %s", command, out)
	}
	return out
}

// Git knows a hidden file that has not changed, and works beside it as if nothing were hidden.
func TestHiddenFromGit(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			r := tracked(t, level)
			try := func(command, want string) {
				t.Helper()
				out, code, _ := r.run(command)
				if code != 0 || strings.TrimSpace(out) != want {
					t.Errorf("%s: exit %d, %q, want %q", command, code, out, want)
				}
			}
			clean := func() {
				t.Helper()
				for _, c := range []string{"git status -s", "git diff", "git diff HEAD --stat", "git diff-files",
					"git diff --exit-code HEAD", "git ls-files -m", "git describe --always --dirty | grep dirty || :"} {
					try(c, "")
				}
			}
			clean()
			r.file("other", "one\ntwo\n")
			try("git status -s", "M other")
			try("git diff --stat | tail -n1", "1 file changed, 1 insertion(+)")
			if level == troupe.LevelReadOnly {
				return
			}
			before := r.must("git rev-parse HEAD:.env HEAD:sub")
			try("git add -A && git diff --cached --name-only", "other")
			try("git commit -qam x && git show --stat --format= | head -n1 | tr -d ' '", "other|1+")
			clean()
			r.file("other", "three\n")
			try("git commit -qam y && git log --oneline | wc -l", "3")
			r.file("other", "four\n")
			r.file("new", "new\n")
			try("git stash -qu && cat other && git stash pop -q && cat other new", "three\nfour\nnew")
			try("git add . && git reset -q && git checkout -q -- other && git clean -fdq && git update-index "+
				"--refresh && git checkout -q -b b && git merge -q main && git rebase -q main", "")
			clean()
			if after := r.must("git rev-parse HEAD:.env HEAD:sub"); after != before {
				t.Errorf("what is hidden was committed: %s and %s", before, after)
			}
			// Whoever looks from outside finds nothing amiss either.
			if out := r.must("git status -s; git diff HEAD; git fsck --no-dangling 2>&1; cat .env"); out != hiddenLine {
				t.Errorf("from outside: %s", out)
			}
		})
	}
}

// If it did change, git cannot tell how. It says so, or nothing at all; and nothing of what
// hides it, nor of what is hidden, gets into the repository.
func TestHiddenChangedUnderGit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"longer": func(path string) error {
			return os.WriteFile(path, []byte(hiddenLine+"MORE=LEAKME\n"),
				0o600)
		},
		"same length":  func(path string) error { return os.WriteFile(path, []byte("PASSWORD=LEAKED\n"), 0o600) },
		"emptied":      func(path string) error { return os.Truncate(path, 0) },
		"another time": func(path string) error { return os.Chtimes(path, old(), old().Add(time.Hour)) },
		"executable":   func(path string) error { return os.Chmod(path, 0o755) },
		// Which git cannot see here.
		"within the second": func(path string) error {
			if err := os.WriteFile(path, []byte("PASSWORD=LEAKED\n"), 0o600); err != nil {
				return err
			}
			return os.Chtimes(path, old(), old().Add(time.Microsecond))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tracked(t, troupe.LevelWorkspace)
			before := r.must("git rev-parse HEAD:.env")
			contents := func() string {
				return r.must("git cat-file --batch-all-objects --batch-check | grep blob | " +
					"sort")
			}
			had := contents()
			path := filepath.Join(r.ws, ".env")
			check(t, "change", change(path))
			is, err := os.ReadFile(path)
			check(t, "read", err)
			for _, command := range []string{"git status -s", "git diff", "git diff HEAD --stat", "git diff --binary",
				"git stash", "git add -A", "git add .env", "git add -f -u --ignore-errors", "git hash-object -w .env",
				"git update-index .env", "git commit -qam x", "git commit -q -m x .env"} {
				out, code, _ := r.run(command)
				if strings.Contains(out, "LEAK") || strings.Contains(out, "PASSWORD=") ||
					strings.Contains(out, "\x00") || strings.Contains(out, "@@") {
					t.Errorf("%s: exit %d\n%s", command, code, out)
				}
				if writes := !strings.Contains(command, "diff") && !strings.Contains(command, "status"); writes &&
					code == 0 && name != "within the second" && name != "executable" {
					t.Errorf("%s says that all is well\n%s", command, out)
				}
			}
			if now := contents(); now != had {
				t.Errorf("there is more in the repository than before:\n%s\n%s", had, now)
			}
			if after := r.must("git rev-parse HEAD:.env"); after != before {
				t.Errorf("it was committed: %s", after)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(is) {
				t.Errorf("it was written: %q, %v", now, err)
			}
		})
	}
}

// What the user tells git by the environment it is still told.
func TestHiddenKeepsGitsOwnSettings(t *testing.T) {
	t.Parallel()
	r := tracked(t, troupe.LevelReadOnly)
	r.env = append(r.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=somebody")
	if out, code, _ := r.run("git config user.name; git config core.checkStat; git config core.trustctime; git " +
		"status -s"); code != 0 || out != "somebody\nminimal\nfalse\n" {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// A command from which nothing is hidden has nothing to be told.
func TestNothingHiddenNothingSaid(t *testing.T) {
	t.Parallel()
	r := newRoom(t, Options{})
	needLandlock(t, r)
	if err := os.Mkdir(filepath.Join(r.ws, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, hidden := range [][]string{nil, {filepath.Join(r.ws, "none")}, {filepath.Join(r.ws, "folder")}} {
		r.conf.Hidden = hidden
		if out, _, _ := r.run("env"); strings.Contains(out, "GIT_CONFIG_COUNT") {
			t.Errorf("%q: %s", hidden, out)
		}
	}
}
