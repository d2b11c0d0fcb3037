package worktree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

var errKilled = errors.New("killed")

// killed is a keeper whose process ends at a step. What it does behind that is undone by nobody.
func (b *bench) killed(at int) (k *Keeper, steps *int) {
	k, n := b.keeper(), 0
	k.step = func(string) error {
		n++
		if n == at {
			panic(errKilled)
		}
		return nil
	}
	return k, &n
}

// until calls a function and reports whether the process ended in it.
func until(try func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if err, ok := r.(error); !ok || !errors.Is(err, errKilled) {
				panic(r)
			}
			err = errKilled
		}
	}()
	return try()
}

// work is what an agent does in its worktree: each line has to be found later.
func (b *bench) work(ws troupe.Workspace) []string {
	b.t.Helper()
	put(b.t, filepath.Join(ws.Top, "committed.txt"), "line committed\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "one")
	put(b.t, filepath.Join(ws.Top, "stash1.txt"), "line stashed first\n")
	b.git(ws.Top, "stash", "-qu")
	put(b.t, filepath.Join(ws.Top, "stash2.txt"), "line stashed second\n")
	b.git(ws.Top, "stash", "-qu")
	b.git(ws.Top, "checkout", "-qb", "side")
	put(b.t, filepath.Join(ws.Top, "side.txt"), "line on a side branch\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "side")
	b.git(ws.Top, "checkout", "-q", "--detach")
	put(b.t, filepath.Join(ws.Top, "detached.txt"), "line on a detached HEAD\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "detached")
	b.git(ws.Top, "checkout", "-q", ws.Branch)
	put(b.t, filepath.Join(ws.Top, "staged.txt"), "line staged\n")
	b.git(ws.Top, "add", "staged.txt")
	put(b.t, filepath.Join(ws.Top, "untracked/deep.txt"), "line untracked\n")
	put(b.t, filepath.Join(ws.Top, "a.txt"), "one\nline unstaged\nthree\n")
	return []string{"line committed", "line stashed first", "line stashed second", "line on a side branch",
		"line on a detached HEAD", "line staged", "line untracked", "line unstaged"}
}

// has looks for lines in all that the refs of a repository reach.
func (b *bench) has(dir string, lines []string) {
	b.t.Helper()
	ids := b.git(dir, "rev-list", "--all", "--objects", "--no-object-names")
	cmd := exec.Command("git", "cat-file", "--batch")
	cmd.Dir, cmd.Env, cmd.Stdin = dir, b.environ(), strings.NewReader(ids+"\n")
	all, err := cmd.Output()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(string(all), line+"\n") {
			b.t.Errorf("no ref of %s reaches %q", dir, line)
		}
	}
}

// TestKilled ends the process at every step of making, saving and ending a worktree, and does it again.
func TestKilled(t *testing.T) {
	whole(t)
	last := 0
	for at := 1; ; at++ {
		done := false
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			b := newBench(t)
			b.write("a.txt", "one\nline of the caller\nthree\n")
			b.write("caller.txt", "line of the caller, untracked\n")
			ws := b.plan("killed")
			again := func(what string, try func(k *Keeper) error) {
				t.Helper()
				if at == 0 {
					if err := try(b.k); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					return
				}
				k, n := b.killed(at)
				err := until(func() error { return try(k) })
				if err == nil {
					at -= *n // the kill comes later
					if at == 0 {
						at = -1
					}
					return
				}
				if !errors.Is(err, errKilled) {
					t.Fatalf("%s: %v", what, err)
				}
				at, done = 0, true
				if err := try(b.k); err != nil {
					t.Fatalf("%s again: %v", what, err)
				}
			}
			was := at
			var base troupe.WorkspaceBase
			again("open", func(k *Keeper) (err error) {
				base, err = k.Open(t.Context(), ws, Making{})
				return err
			})
			lines := append(b.work(ws), "line of the caller", "line of the caller, untracked")
			again("save", func(k *Keeper) error {
				_, err := k.Save(t.Context(), ws, nil, "")
				return err
			})
			b.git(ws.Top, "branch", "-qD", "side")
			b.git(ws.Top, "reflog", "expire", "--expire=now", "--all")
			b.git(ws.Top, "gc", "-q", "--prune=now")
			var res troupe.WorkspaceResult
			again("close", func(k *Keeper) (err error) {
				res, err = k.Close(t.Context(), ws, Ending{Message: "the end"})
				return err
			})
			if !res.Gone || there(ws.Top) {
				t.Errorf("result: %+v", res)
			}
			b.git(b.dir, "gc", "-q", "--prune=now")
			b.has(b.dir, lines)
			b.fsck(filepath.Join(b.dir, ".git"), filepath.Join(b.k.data, string(ws.Owner), "repo.git"))
			if got := b.git(b.dir, "rev-parse", refOf(ws, "base")); got != base.Commit {
				t.Errorf("the base moved: %s, was %s", got, base.Commit)
			}
			if got := b.git(b.dir, "rev-parse", ws.Branch); got != res.Tip {
				t.Errorf("the branch: %s, tip %s", got, res.Tip)
			}
			project := filepath.Join(b.k.folders, b.k.project(ws.Of))
			if left, err := os.ReadDir(project); err == nil && len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			at = was
		})
		if !done {
			break
		}
		last = at
	}
	if last < 12 {
		t.Errorf("only %d steps", last)
	}
}

// TestTidy: what a killed merge has left is removed by whoever looks next, and not what one that is at work needs.
func TestTidy(t *testing.T) {
	b := newBench(t)
	left, busy := b.made("left"), b.made("busy")
	for _, ws := range []troupe.Workspace{left, busy} {
		put(t, filepath.Join(scratchOf(filepath.Join(b.k.data, string(ws.Owner))), "config"), "half\n")
	}
	_, release, err := b.k.hold(t.Context(), string(busy.Owner))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := Tidy(t.Context(), b.k); err != nil {
		t.Fatal(err)
	}
	for ws, want := range map[troupe.Workspace]bool{left: false, busy: true} {
		if there(scratchOf(filepath.Join(b.k.data, string(ws.Owner)))) != want {
			t.Errorf("%s: it is to be there: %v", ws.Name, want)
		}
	}
}
