package app

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestGuardAsksGit: what git would change of what is protected is known before it is asked for, and as it starts, by
// whatever words it is told.
func TestGuardAsksGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "here")
	// The branch "brings" adds two files, of which one is protected; "tracks" is a repository that tracks both.
	script := `git init -q -b main . && mkdir sub && echo one > a && git add a && git commit -qm one &&
		git checkout -qb brings && echo new > .mcp.json && echo new > plain && git add . && git commit -qm two &&
		git format-patch -q --stdout main..brings > ../brings.patch && mkfifo ../pipe && git clone -q . ../tracks &&
		git checkout -q main && git config alias.a1 'checkout -q' && git config alias.a2 a1 && git config alias.a3 a2 &&
		git config alias.a4 a3 && git config alias.round round && git config alias.sh '!git checkout' && git config alias.status 'checkout -q' &&
		git config alias.up '-C .. -C here checkout'`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), "HOME="+root, "XDG_CONFIG_HOME="+root, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	a.env.Environ = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
	g := a.newGuard(t.Context())
	both := []string{filepath.Join(dir, ".mcp.json"), filepath.Join(dir, "plain")}

	for _, x := range []struct {
		in, input string
		argv      []string
		environ   []string
		some      bool // both are known; else nothing is
	}{
		{argv: []string{"git", "checkout", "brings"}, some: true},
		{argv: []string{"/usr/bin/git", "-c", "x.y=z", "merge", "brings"}, some: true},
		{argv: []string{"git", "a1", "brings"}, some: true},
		{argv: []string{"git", "a3", "brings"}, some: true},
		{argv: []string{"git", "a4", "brings"}}, // one of another, and so on
		{argv: []string{"git", "round", "brings"}},
		{argv: []string{"git", "sh", "brings"}}, // it starts git again
		{argv: []string{"git", "none", "brings"}},
		{argv: []string{"git", "up", "brings"}, in: "here/sub/..", some: true},
		{argv: []string{"git", "status", "brings"}}, {argv: []string{"git", "log", "brings"}},
		{argv: []string{"git", "checkout", "none"}}, // what is not known asks for no file that is tracked
		{argv: []string{"git", "apply", "../pipe"}},
		{argv: []string{"git", "apply"}}, {argv: []string{"git"}},
		{argv: []string{"git", "am"}, input: filepath.Join(root, "brings.patch"), some: true},
		{argv: []string{"git", "-C", "here", "checkout", "brings"}, in: ".", some: true},
		{argv: []string{"git", "-C", dir, "checkout", "brings"}, in: "tracks", some: true},
		{argv: []string{"git", "checkout", "brings"}, in: ".", environ: []string{"X=1", "GIT_WORK_TREE=here"},
			some: true},
		{argv: []string{"git", "checkout", "brings"}, in: "tracks", environ: []string{"GIT_WORK_TREE=" + dir},
			some: true},
		{argv: []string{"git", "checkout", "brings"}, in: ".", environ: []string{"MY_GIT_WORK_TREE=here"}},
		{argv: []string{"git", "checkout", "brings"}, in: "."},
	} {
		got := g.starts(filepath.Join(root, cmp.Or(x.in, "here")), x.input, x.argv, x.environ)
		slices.Sort(got)
		if x.some && !slices.Equal(got, both) || !x.some && len(got) > 0 {
			t.Errorf("%q in %q: %q", x.argv, x.in, got)
		}
	}

	tracked := []string{filepath.Join(root, "tracks", ".mcp.json")}
	seen := a.newGuard(t.Context()) // of a machine on which git is seen as it starts, if this is one
	g.box = sandbox.New(sandbox.Options{NoNotify: true})
	for _, x := range []struct {
		g    *guard
		in   string
		args []string
		want []string
	}{
		{g, "here", []string{"checkout", "brings"}, both[:1]}, // "plain" is not protected
		{g, "here", []string{"checkout", "none"}, nil},
		{g, "tracks", []string{"apply", "../pipe"}, tracked}, // it could be any
		{g, "tracks", nil, tracked},
		{g, "tracks", []string{}, tracked},
		{seen, "tracks", nil, tracked},
		{g, ".", []string{"checkout", "brings"}, nil},
	} {
		if got := x.g.gitChanges(session.Place{Cwd: filepath.Join(root, x.in)}, x.args); !slices.Equal(got, x.want) {
			t.Errorf("%q in %s: %q, want %q", x.args, x.in, got, x.want)
		}
	}
	if seen.box.Support(t.Context()).Notify {
		if got := seen.gitChanges(session.Place{Cwd: filepath.Join(root, "tracks")}, []string{}); len(got) > 0 {
			t.Errorf("what is seen as it starts is asked about before: %q", got)
		}
	}
	for _, g := range []*guard{g, seen} {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}
}
