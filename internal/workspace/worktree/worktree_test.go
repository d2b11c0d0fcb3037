package worktree

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// bench is a caller's repository with a keeper beside it.
type bench struct {
	t    testing.TB
	k    *Keeper
	home string
	dir  string // the caller's folder
	// given are files that every git of an agent or person has open.
	given []*os.File
}

// whole leaves a test out of the run with the race detector: what git does is the same there, and takes minutes.
func whole(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("without -short it runs")
	}
}

// newBench is a repository and what keeps its worktrees, for tests of one goroutine.
func newBench(t testing.TB) *bench {
	t.Helper()
	whole(t)
	return newRaced(t)
}

// newRaced is newBench for tests in which goroutines meet, in themselves or in what they call.
func newRaced(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t}
	b.begin()
	return b
}

func (b *bench) begin() {
	b.t.Helper()
	home, err := filepath.EvalSymlinks(b.t.TempDir())
	if err != nil {
		b.t.Fatal(err)
	}
	b.home, b.dir = home, filepath.Join(home, "project")
	b.k = b.keeper()
	b.git(home, "init", "-q", "-b", "main", b.dir)
	b.write("a.txt", "one\ntwo\nthree\n")
	b.write("sub/b.txt", "b\n")
	b.write(".gitignore", "*.log\nnode_modules/\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "commit", "-qm", "first")
}

func (b *bench) keeper() *Keeper {
	return New(Options{Data: filepath.Join(b.home, "data"), Folders: filepath.Join(b.home, "folders"),
		Environ: b.environ(), Now: time.Now})
}

func (b *bench) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home}
}

// git runs git as a person or an agent would.
func (b *bench) git(dir string, args ...string) string {
	b.t.Helper()
	out, err := b.try(dir, args...)
	if err != nil {
		b.t.Fatalf("git %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return strings.TrimSpace(out)
}

func (b *bench) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.ExtraFiles = dir, b.given
	cmd.Env = append(b.environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (b *bench) write(name, text string) { b.t.Helper(); put(b.t, filepath.Join(b.dir, name), text) }

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(data)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func newID(t testing.TB) troupe.SessionID {
	t.Helper()
	id, err := troupe.NewRootID(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bench) plan(name string) troupe.Workspace {
	b.t.Helper()
	ws, err := b.k.Plan(b.t.Context(), Wish{Owner: newID(b.t), Kind: troupe.WorkspaceTree, Name: name, Exact: true,
		From: b.dir})
	if err != nil {
		b.t.Fatal(err)
	}
	return ws
}

func (b *bench) open(ws troupe.Workspace) troupe.WorkspaceBase {
	b.t.Helper()
	base, err := b.k.Open(b.t.Context(), ws, Making{})
	if err != nil {
		b.t.Fatal(err)
	}
	return base
}

func (b *bench) made(name string) troupe.Workspace {
	b.t.Helper()
	ws := b.plan(name)
	b.open(ws)
	return ws
}

func (b *bench) save(ws troupe.Workspace, changed ...string) troupe.Checkpoint {
	b.t.Helper()
	c, err := b.k.Save(b.t.Context(), ws, changed, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bench) close(ws troupe.Workspace) troupe.WorkspaceResult {
	b.t.Helper()
	res, err := b.k.Close(b.t.Context(), ws, Ending{Message: "what it did"})
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

// fsck holds every repository to git's own check.
func (b *bench) fsck(dirs ...string) {
	b.t.Helper()
	for _, dir := range dirs {
		out, err := b.try(b.home, "--git-dir="+dir, "fsck", "--full", "--no-dangling")
		if err != nil || strings.Contains(out, "missing") {
			b.t.Errorf("fsck of %s: %v\n%s", dir, err, out)
		}
	}
}

// show is a file of a commit in the caller's repository.
func (b *bench) show(commit, name string) string {
	b.t.Helper()
	out, err := b.try(b.dir, "show", commit+":"+name)
	if err != nil {
		return "(" + strings.TrimSpace(out) + ")"
	}
	return out
}

func TestWorktree(t *testing.T) {
	b := newBench(t)
	ws := b.plan("fix-login")
	if there(ws.Top) || there(b.k.data) {
		t.Error("a plan changed something")
	}
	base := b.open(ws)
	if base.Commit != b.git(b.dir, "rev-parse", "HEAD") || base.Branch != "main" || base.Dirty != 0 {
		t.Errorf("base: %+v", base)
	}
	if got := get(filepath.Join(ws.Folder, "sub/b.txt")); got != "b\n" {
		t.Errorf("checked out: %q", got)
	}
	if got := b.git(ws.Top, "status", "--porcelain=v2", "--branch"); got !=
		"# branch.oid "+base.Commit+"\n# branch.head troupe/fix-login" {
		t.Errorf("status there: %s", got)
	}
	if got := b.git(ws.Top, "branch", "-r"); got != "origin/main" {
		t.Errorf("branches there: %s", got)
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "one\n2\nthree\n")
	b.git(ws.Top, "commit", "-qam", "by the agent")
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	if again := b.open(ws); again.Commit != base.Commit {
		t.Errorf("found again: %+v", again)
	}
	res := b.close(ws)
	if !res.Gone || res.Branch != "troupe/fix-login" || res.Commits != 2 || res.Files != 2 || res.Added != 2 ||
		res.Removed != 1 {
		t.Errorf("result: %+v", res)
	}
	if there(ws.Top) {
		t.Error("the folder is still there")
	}
	if got := b.show("troupe/fix-login", "new.txt"); got != "new\n" {
		t.Errorf("on the branch: %q", got)
	}
	if got := b.git(b.dir, "log", "--format=%s", "troupe/fix-login"); got != "what it did\nby the agent\nfirst" {
		t.Errorf("history: %s", got)
	}
	if got := b.git(b.dir, "status", "--porcelain"); got != "" {
		t.Errorf("the caller's: %s", got)
	}
	b.fsck(filepath.Join(b.dir, ".git"))
	// It goes on: its folder is as it was.
	b.open(ws)
	if got := get(filepath.Join(ws.Top, "new.txt")); got != "new\n" {
		t.Errorf("rebuilt: %q", got)
	}
	b.fsck(filepath.Join(ws.Top, ".git"))
}

func TestNothingChanged(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\nnot committed\nthree\n")
	ws := b.plan("idle")
	base := b.open(ws)
	res := b.close(ws)
	if !res.Gone || res.Tip != res.Base || res.Branch != "" || there(ws.Top) {
		t.Errorf("result: %+v", res)
	}
	kept := b.git(b.dir, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/troupe")
	if kept != "refs/heads/main\n"+refOf(ws, "base") {
		t.Errorf("refs: %s", kept)
	}
	rows, err := b.k.List(t.Context(), "", Listing{})
	if err != nil || len(rows) > 0 || there(filepath.Join(b.k.data, string(ws.Owner))) {
		t.Errorf("listed: %v, %v", rows, err)
	}
	if again := b.close(ws); !again.Gone {
		t.Errorf("closed again: %+v", again)
	}
	// A message later: the caller's folder has gone on, and this one is as it was.
	b.write("a.txt", "another\n")
	if again := b.open(ws); again.Commit != base.Commit {
		t.Errorf("base: %s, was %s", again.Commit, base.Commit)
	}
	if got := get(filepath.Join(ws.Top, "a.txt")); got != "one\nnot committed\nthree\n" {
		t.Errorf("a.txt: %q", got)
	}
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	if res := b.close(ws); !res.Gone || res.Branch == "" || res.Files != 1 {
		t.Errorf("result: %+v", res)
	}
	if err := b.k.Sweep(t.Context(), func(troupe.Workspace) bool { return true }); err != nil {
		t.Error(err)
	}
	if id := b.git(b.dir, "rev-parse", refOf(ws, "base")); id != base.Commit {
		t.Errorf("base: %s", id)
	}
}

// TestSweep: what is left of a workspace in which nothing was changed goes when it may, and only what a new beginning
// would need is lost with it.
func TestSweep(t *testing.T) {
	b := newBench(t)
	clean := b.made("clean")
	b.write("a.txt", "one\nnot committed\nthree\n")
	dirty := b.plan("dirty")
	base := b.open(dirty)
	copied := b.copyOf(troupe.WorkspaceCopy, b.dir)
	for _, ws := range []troupe.Workspace{clean, dirty, copied} {
		if res := b.close(ws); !res.Gone || res.Tip != res.Base {
			t.Fatalf("result: %+v", res)
		}
	}
	sweep := func(may ...troupe.SessionID) {
		t.Helper()
		err := b.k.Sweep(t.Context(), func(w troupe.Workspace) bool { return slices.Contains(may, w.Owner) })
		if err != nil {
			t.Fatal(err)
		}
	}
	sweep(clean.Owner)
	refs := b.git(b.dir, "for-each-ref", "--format=%(refname)", "refs/troupe")
	if refs != refOf(dirty, "base") || there(b.k.spent(clean.Owner)) || !there(b.k.spent(copied.Owner)) {
		t.Errorf("left: %s", refs)
	}
	sweep(dirty.Owner, copied.Owner)
	if refs := b.git(b.dir, "for-each-ref", "refs/troupe"); refs != "" || there(b.k.spent(copied.Owner)) {
		t.Errorf("left: %s", refs)
	}
	// The log has the base: while the repository has that, the folder is the one that it was.
	again, err := b.k.Open(t.Context(), dirty, Making{Base: &base})
	if err != nil || again.Commit != base.Commit {
		t.Errorf("made again: %+v, %v", again, err)
	}
	b.close(dirty)
	sweep(dirty.Owner)
	b.git(b.dir, "gc", "-q", "--prune=now")
	if _, err := b.k.Open(t.Context(), dirty, Making{Base: &base}); !errors.Is(err, errBaseGone) {
		t.Errorf("from a base that is gone: %v", err)
	}
	if there(filepath.Join(b.k.data, string(dirty.Owner))) || there(dirty.Top) {
		t.Error("something is left of it")
	}
}

// TestPains29: a worktree begins with HEAD and what was not committed, it is said so, and the caller's index stays.
func TestPains29(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\nunstaged\nthree\n")
	b.write("staged.txt", "staged\n")
	b.git(b.dir, "add", "staged.txt")
	b.write("staged.txt", "staged, and changed\n")
	b.write("deep/untracked.txt", "untracked\n")
	b.write("x.log", "ignored\n")
	b.write(".env", "SECRET=1\n")
	b.git(b.dir, "rm", "-q", "sub/b.txt")
	b.write("token", "hidden and staged\n")
	b.git(b.dir, "add", "token")
	index := get(filepath.Join(b.dir, ".git/index"))
	status := b.git(b.dir, "--no-optional-locks", "status", "--porcelain")
	ws := b.plan("dirty")
	base, err := b.k.Open(t.Context(), ws, Making{Hidden: func(path string) bool {
		return filepath.Base(path) == ".env" || filepath.Base(path) == "token"
	}})
	if err != nil {
		t.Fatal(err)
	}
	head := b.git(b.dir, "rev-parse", "HEAD")
	if base.Head != head || base.Commit == head || base.Dirty != 4 {
		t.Errorf("base: %+v", base)
	}
	if got := fmt.Sprint(base.Left); got != "[.env: no agent may read it token: no agent may read it]" {
		t.Errorf("left: %s", got)
	}
	for name, want := range map[string]string{"a.txt": "one\nunstaged\nthree\n", "staged.txt": "staged, and changed\n",
		"deep/untracked.txt": "untracked\n"} {
		if got := get(filepath.Join(ws.Top, name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []string{"x.log", ".env", "sub/b.txt", "token"} {
		if there(filepath.Join(ws.Top, name)) {
			t.Errorf("%s was carried over", name)
		}
	}
	if !bytes.Equal([]byte(index), []byte(get(filepath.Join(b.dir, ".git/index")))) {
		t.Error("the caller's index changed")
	}
	if got := b.git(b.dir, "status", "--porcelain"); got != status {
		t.Errorf("the caller's status: %s", got)
	}
	secret := b.git(b.dir, "hash-object", ".env")
	for _, dir := range []string{filepath.Join(b.dir, ".git"), filepath.Join(b.k.data, string(ws.Owner), "repo.git")} {
		if _, err := b.try(b.home, "--git-dir="+dir, "cat-file", "-e", secret); err == nil {
			t.Errorf("%s has what no agent may read", dir)
		}
	}
	if got := b.git(b.dir, "rev-parse", "refs/troupe/"+string(ws.Owner)+"/base"); got != base.Commit {
		t.Errorf("kept base: %s", got)
	}
	if got := b.git(ws.Top, "status", "--porcelain"); got != "" {
		t.Errorf("status there: %s", got)
	}
	b.git(b.dir, "gc", "-q", "--prune=now")
	b.fsck(filepath.Join(b.dir, ".git"), filepath.Join(ws.Top, ".git"))
}
