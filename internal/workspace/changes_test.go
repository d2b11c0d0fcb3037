package workspace

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// A file that only looks changed, by its times, is not one that git would change: every file of a tree that was
// copied looks so, until git has looked at it.
func TestChangesLookAtContent(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	environ := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	for _, name := range []string{"same", "changed", "run\there"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "-b", "main")
	run("add", ".")
	run("commit", "-q", "-m", "first")
	for _, name := range []string{"same", "changed", "run\there"} {
		if err := os.Chtimes(filepath.Join(dir, name), time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "changed"), []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "run\there"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "changed"), filepath.Join(dir, "run\there")}
	for _, args := range [][]string{{"stash"}, {"restore", "."}, {"reset", "--hard"}, {"checkout", "."}} {
		got, _, err := Changes(t.Context(), dir, "", environ, args)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q (%v), want %q", args, got, err, want)
		}
	}
	// However an option is written that has git take back what is not committed.
	for _, args := range [][]string{{"checkout", "HEAD", "changed"}, {"checkout", "-qf", "main"},
		{"checkout", "--forc", "main"}, {"switch", "--discard", "main"}, {"switch", "-fq", "main"},
		{"reset", "--har", "HEAD"}} {
		if got, _, err := Changes(t.Context(), dir, "", environ, args); err != nil || !slices.Contains(got, want[0]) {
			t.Errorf("%s: %q (%v)", args, got, err)
		}
	}
}

// TestChangesKeepsErrors: what one of several looks could not tell is not forgotten for those behind it, and a list
// that was cut is not taken for a whole one.
func TestChangesKeepsErrors(t *testing.T) {
	slow := errors.New("git took too long")
	for _, args := range [][]string{{"stash", "pop"}, {"rebase", "--exec", "make", "main"}, {"reset", "--hard"}} {
		c := changed{top: "/top", seen: map[string]bool{}, ask: func(out *git.Capped, args ...string) error {
			if slices.Contains(args, "diff") {
				return slow
			}
			_, err := io.WriteString(out, "name")
			return err
		}}
		if known := c.command(args[0], args[1:]); !known || !errors.Is(c.err, slow) {
			t.Errorf("%s: %v, %v", args, known, c.err)
		}
	}
	c := changed{top: "/top", seen: map[string]bool{}, ask: func(out *git.Capped, _ ...string) error {
		out.Cut = true
		return nil
	}}
	if c.list("ls-files", "-z"); c.err == nil {
		t.Error("a list that was cut is taken for whole")
	}
}

// TestChangesTold: what git is told by other words than a commit's, and what patches bring, is known before it runs.
func TestChangesTold(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "here")
	environ := append(os.Environ(), "HOME="+root, "XDG_CONFIG_HOME="+root, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	script := `git init -q -b main . && mkdir sub && echo one > a && git add a && git commit -qm one &&
		git checkout -qb brings && echo new > .mcp.json && git add . && git commit -qm two &&
		git format-patch -q --stdout main..brings > ../brings.patch && cp ../brings.patch sub/ && mkfifo ../pipe &&
		git checkout -q main && git clone -q --bare . ../far && git branch -qD brings &&
		git remote add far ../far && git fetch -q far && git branch -q -u far/brings &&
		git config alias.co 'checkout -q' && git config alias.sh '!sh' && git config --global alias.far 'co far'`
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tt := range []struct {
		in, input string
		args      []string
		known     bool
		where     string // of what is brought; "": .mcp.json
	}{
		{args: []string{"checkout", "brings"}, known: true}, {args: []string{"switch", "brings"}, known: true},
		{args: []string{"merge"}, known: true}, {args: []string{"rebase", "-q"}, known: true},
		{args: []string{"rebase", "--continue"}}, {args: []string{"am", "../brings.patch"}, known: true},
		{args: []string{"am", "-q"}}, {args: []string{"am", "-q"}, input: filepath.Join(root, "brings.patch"),
			known: true},
		{args: []string{"apply", "brings.patch"}, in: "sub", known: true}, {args: []string{"apply", "../pipe"}},
		{args: []string{"apply", "-"}, input: filepath.Join(root, "pipe")}, {args: []string{"apply", "a"}},
		{args: []string{"rebase", "--skip"}}, {args: []string{"rebase", "--abort", "--skip"}},
		{args: []string{"am", "-p0", "../brings.patch"}, known: true, where: "b/.mcp.json"},
		{args: []string{"apply", "--directory=sub", "../brings.patch"}, known: true, where: "sub/.mcp.json"},
		{args: []string{"apply", "-p0", "--directory=sub", "../brings.patch"}, known: true, where: "sub/b/.mcp.json"},
		// Words of their own are no patches: it is asked what else could be.
		{args: []string{"apply", "--directory", "sub", "../brings.patch"}},
		{args: []string{"am", "-p", "0", "../brings.patch"}},
	} {
		want := filepath.Join(dir, cmp.Or(tt.where, ".mcp.json"))
		got, known, err := Changes(t.Context(), filepath.Join(dir, tt.in), tt.input, environ, tt.args)
		if err != nil || known != tt.known || known != slices.Contains(got, want) {
			t.Errorf("%s < %q: %q, known %v (%v)", tt.args, tt.input, got, known, err)
		}
	}
	for name, want := range map[string][]string{"co": {"checkout", "-q"}, "far": {"co", "far"}, "sh": nil, "none": nil,
		"a=b\nc": nil} {
		if got := Alias(t.Context(), dir, environ, name); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
