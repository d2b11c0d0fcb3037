package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// refusal is the reason why there is no worktree; nothing of it is left. A birth is refused for it already.
func (b *bench) refusal(name string, prepare func()) string {
	b.t.Helper()
	ws := b.plan(name)
	prepare()
	refs := b.git(b.dir, "for-each-ref")
	if _, err := b.k.Plan(b.t.Context(), Wish{Owner: newID(b.t), Kind: troupe.WorkspaceTree, From: b.dir}); err == nil {
		b.t.Error("it is planned")
	}
	_, err := b.k.Open(b.t.Context(), ws, Making{})
	user, ok := errors.AsType[*troupe.UserError](err)
	if !ok || user.Hint == "" {
		b.t.Errorf("refused with %v", err)
		return fmt.Sprint(err)
	}
	if there(ws.Top) || there(filepath.Join(b.k.data, string(ws.Owner))) || b.git(b.dir, "for-each-ref") != refs {
		b.t.Error("something is left of it")
	}
	return user.Problem
}

func TestFiltersRefused(t *testing.T) {
	for where, make := range map[string]func(b *bench){
		"tracked": func(b *bench) {
			b.write("assets/.gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n")
			b.git(b.dir, "add", "-A")
			b.git(b.dir, "commit", "-qm", "lfs")
		},
		"untracked": func(b *bench) { b.write(".gitattributes", "*.psd filter=lfs\n") },
		"of info":   func(b *bench) { b.write(".git/info/attributes", "[attr]big filter=lfs\n") },
		"the user's": func(b *bench) {
			put(b.t, filepath.Join(b.home, ".gitconfig"), "[core]\n\tattributesFile = "+b.home+"/attr\n")
			put(b.t, filepath.Join(b.home, "attr"), "*.psd filter=lfs\n")
		},
		"the user's, at git's own place": func(b *bench) {
			put(b.t, filepath.Join(b.home, ".config", "git", "attributes"), "*.psd filter=lfs\n")
		},
	} {
		t.Run(where, func(t *testing.T) {
			b := newBench(t)
			if got := b.refusal("lfs", func() { make(b) }); !strings.Contains(got, "lfs") {
				t.Errorf("refused: %s", got)
			}
		})
	}
	b := newBench(t)
	b.write(".gitattributes", "# filter=lfs\n*.txt -filter text\n")
	b.made("plain")
}

func TestPartialCloneRefused(t *testing.T) {
	b := newBench(t)
	b.git(b.dir, "config", "uploadpack.allowFilter", "true")
	clone := filepath.Join(b.home, "clone")
	b.git(b.home, "clone", "-q", "file://"+b.dir, clone)
	b.dir = clone
	if got := b.refusal("partial", func() { b.git(clone, "fetch", "-q", "--filter=blob:none") }); !strings.Contains(got,
		"partial clone") {
		t.Errorf("refused: %s", got)
	}
}

func TestShallow(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "two\n")
	b.git(b.dir, "commit", "-qam", "second")
	clone := filepath.Join(b.home, "clone")
	b.git(b.home, "clone", "-q", "--depth=1", "file://"+b.dir, clone)
	b.dir = clone
	ws := b.made("shallow")
	if got := b.git(ws.Top, "log", "--format=%s"); got != "second" {
		t.Errorf("log: %s", got)
	}
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "third")
	if res := b.close(ws); !res.Gone || res.Commits != 1 {
		t.Errorf("result: %+v", res)
	}
	b.fsck(filepath.Join(clone, ".git"))
}

func TestSubmodules(t *testing.T) {
	b := newBench(t)
	lib := filepath.Join(b.home, "lib")
	b.git(b.home, "init", "-q", lib)
	put(t, filepath.Join(lib, "l.txt"), "l\n")
	b.git(lib, "add", "-A")
	b.git(lib, "commit", "-qm", "lib")
	b.git(b.dir, "submodule", "add", "-q", lib, "lib")
	b.git(b.dir, "commit", "-qm", "with lib")
	ws := b.plan("modules")
	base := b.open(ws)
	if got := fmt.Sprint(base.Left); got != "[lib: it is a submodule]" {
		t.Errorf("left: %s", got)
	}
	if got := b.git(ws.Top, "status", "--porcelain"); got != "" || !there(filepath.Join(ws.Top, "lib")) {
		t.Errorf("status there: %q", got)
	}
	put(t, filepath.Join(ws.Top, "new.txt"), "new\n")
	res := b.close(ws)
	if got := b.git(b.dir, "ls-tree", res.Tip, "lib"); !strings.HasPrefix(got, "160000 ") || !res.Gone {
		t.Errorf("%+v: %s", res, got)
	}
	// One that the agent checks out keeps the folder.
	b.open(ws)
	b.git(ws.Top, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
	put(t, filepath.Join(ws.Top, "lib/l.txt"), "by the agent\n")
	if res := b.close(ws); res.Gone || !strings.Contains(res.Kept, "lib") {
		t.Errorf("checked out: %+v", res)
	}
	// A caller's that is dirty is refused, and so is one at another commit.
	if got := b.refusal("dirty", func() { b.write("lib/l.txt", "changed\n") }); !strings.Contains(got,
		"lib has changes") {
		t.Errorf("refused: %s", got)
	}
	b.write("lib/l.txt", "l\n")
	if got := b.refusal("ahead", func() {
		b.git(filepath.Join(b.dir, "lib"), "commit", "-q", "--allow-empty", "-m", "there")
	}); !strings.Contains(got, "another commit") {
		t.Errorf("refused: %s", got)
	}
}

// TestNestedOfTheCaller: a repository in the caller's folder is named, and not carried over.
func TestNestedOfTheCaller(t *testing.T) {
	b := newBench(t)
	b.write("vendor/x/f.txt", "f\n")
	b.git(filepath.Join(b.dir, "vendor/x"), "init", "-q")
	b.git(filepath.Join(b.dir, "vendor/x"), "add", "-A")
	b.git(filepath.Join(b.dir, "vendor/x"), "commit", "-qm", "x")
	ws := b.plan("nested")
	base := b.open(ws)
	if got := fmt.Sprint(base.Left); got != "[vendor/x: it is a repository of its own]" || base.Dirty != 0 {
		t.Errorf("left: %s, %d changed", got, base.Dirty)
	}
}

// TestUnborn: a repository without a commit has a worktree too.
func TestUnborn(t *testing.T) {
	b := newBench(t)
	b.dir = filepath.Join(b.home, "unborn")
	b.git(b.home, "init", "-q", "-b", "main", b.dir)
	b.write("first.txt", "first\n")
	ws := b.plan("unborn")
	base := b.open(ws)
	if base.Head != "" || base.Branch != "main" || base.Dirty != 1 ||
		get(filepath.Join(ws.Top, "first.txt")) != "first\n" {
		t.Errorf("base: %+v", base)
	}
	put(t, filepath.Join(ws.Top, "second.txt"), "second\n")
	if res := b.close(ws); !res.Gone || res.Commits != 1 || res.Files != 1 {
		t.Errorf("result: %+v", res)
	}
	b.fsck(filepath.Join(b.dir, ".git"))
}

// TestLinkedCaller: the caller may be in a linked worktree of git's own.
func TestLinkedCaller(t *testing.T) {
	b := newBench(t)
	linked := filepath.Join(b.home, "linked")
	b.git(b.dir, "worktree", "add", "-q", "-b", "other", linked)
	main := b.dir
	b.dir = linked
	b.write("new.txt", "new\n")
	ws := b.plan("of-linked")
	base := b.open(ws)
	if base.Branch != "other" || base.Dirty != 1 || ws.Of != linked {
		t.Errorf("%+v: %+v", ws, base)
	}
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	res := b.close(ws)
	if !res.Gone || b.git(main, "rev-parse", ws.Branch) != res.Tip {
		t.Errorf("result: %+v", res)
	}
	b.fsck(filepath.Join(main, ".git"))
}

// TestOfAWorkspace: an agent in a worktree may have agents in worktrees of it, and their work outlives its folder.
func TestOfAWorkspace(t *testing.T) {
	b := newBench(t)
	outer := b.made("outer")
	put(t, filepath.Join(outer.Top, "outer.txt"), "line of the outer\n")
	inner, err := b.k.Plan(b.t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "inner", Exact: true,
		From: filepath.Join(outer.Top, "sub")})
	if err != nil {
		t.Fatal(err)
	}
	if inner.Of != outer.Top || inner.Folder != filepath.Join(inner.Top, "sub") {
		t.Errorf("workspace: %+v", inner)
	}
	b.open(inner)
	put(t, filepath.Join(inner.Top, "inner.txt"), "line of the inner\n")
	if res := b.close(inner); !res.Gone {
		t.Errorf("inner: %+v", res)
	}
	if res := b.close(outer); !res.Gone {
		t.Errorf("outer: %+v", res)
	}
	b.has(b.dir, []string{"line of the outer", "line of the inner"})
	b.open(outer)
	b.open(inner)
	if got := get(filepath.Join(inner.Top, "inner.txt")); got != "line of the inner\n" {
		t.Errorf("made again: %q", got)
	}
}

func TestNoRoom(t *testing.T) {
	b := newBench(t)
	small := func(string) (int64, bool) { return 1 << 20, true }
	if got := b.refusal("full", func() { b.k.free = small }); !strings.Contains(got, "no room") {
		t.Errorf("refused: %s", got)
	}
	// Only where there can be no worktree at all another kind of folder is as good.
	plan := func(from string) error {
		_, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Title: "t", From: from})
		return err
	}
	if err := plan(b.dir); err == nil || errors.Is(err, ErrNoTree) {
		t.Errorf("no room: %v", err)
	}
	if err := plan(b.home); !errors.Is(err, ErrNoTree) {
		t.Errorf("no repository: %v", err)
	}
	b.k.free = free
	// The entry of the first one ends where eight bytes do.
	const first = "123456789"
	if err := os.WriteFile(filepath.Join(b.dir, first), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.git(b.dir, "add", first)
	data, err := os.ReadFile(filepath.Join(b.dir, ".git/index"))
	if got := indexBytes(data, 20); err != nil || got != 4*4096 {
		t.Errorf("four small files: %d, %v", got, err)
	}
	for _, version := range []string{"4", "3", "2"} {
		b.git(b.dir, "update-index", "--index-version", version)
		if version == "3" {
			b.git(b.dir, "update-index", "--skip-worktree", "a.txt")
		}
		data, err = os.ReadFile(filepath.Join(b.dir, ".git/index"))
		if got := indexBytes(data, 20); err != nil || got != 4*4096 {
			t.Errorf("version %s: %d, %v", version, got, err)
		}
	}
}

// TestFull: an error is said to be a full disk's only where a disk is full.
func TestFull(t *testing.T) {
	t.Parallel()
	failed := errors.New("it failed")
	for _, x := range []struct {
		has         int64
		known, full bool
	}{{1<<20 - 1, true, true}, {1 << 20, true, false}, {0, false, false}} {
		p := place{k: &Keeper{folders: "/w", free: func(string) (int64, bool) { return x.has, x.known }}}
		err := p.full(failed)
		//nolint:errorlint // it itself
		if full := err != failed && strings.Contains(err.Error(), "is full"); full != x.full ||
			!errors.Is(err, failed) {
			t.Errorf("%d bytes, known %t: %v", x.has, x.known, err)
		}
	}
}
