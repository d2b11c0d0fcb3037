package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// hooked is a folder under another version control than git, and a plan of a workspace beside it.
func (b *bench) hooked() (dir string, ws troupe.Workspace) {
	b.t.Helper()
	dir = filepath.Join(b.home, "other")
	put(b.t, filepath.Join(dir, ".hg/store"), "history\n")
	put(b.t, filepath.Join(dir, ".hg/dirstate"), "main\n")
	put(b.t, filepath.Join(dir, "a.txt"), "one\ntwo\nthree\n")
	put(b.t, filepath.Join(dir, ".env"), "KEY\n")
	put(b.t, filepath.Join(dir, "mine.txt"), "not committed\n")
	ws, err := b.k.Plan(b.t.Context(), Wish{Owner: newID(b.t), Kind: troupe.WorkspaceTree, Name: "hooked", Exact: true,
		From: dir, Hook: true})
	if err != nil {
		b.t.Fatal(err)
	}
	if !ws.ByHook || ws.Kind != troupe.WorkspaceCopy || ws.Branch != "" {
		b.t.Fatalf("planned: %+v", ws)
	}
	return dir, ws
}

// filling makes what a hook would.
func filling(t testing.TB, dir string, n *int) Making {
	return Making{
		Hidden: func(path string) bool { return path == filepath.Join(dir, ".env") },
		Fill: func(_ context.Context, path string) error {
			if *n++; there(path) {
				return errors.New("something is there")
			}
			put(t, filepath.Join(path, "a.txt"), get(filepath.Join(dir, "a.txt")))
			put(t, filepath.Join(path, ".env"), "KEY\n")
			put(t, filepath.Join(path, ".hg/dirstate"), "share\n")
			return os.Link(filepath.Join(dir, ".hg/store"), filepath.Join(path, ".hg/store"))
		},
	}
}

// TestByHook: what a hook put into the folder is the base, apart from what no agent may read and from files that other
// folders share; what is done there is kept and merged, and what the version control has for itself is not merged.
func TestByHook(t *testing.T) {
	b := newBench(t)
	dir, ws := b.hooked()
	n := 0
	base, err := b.k.Open(t.Context(), ws, filling(t, dir, &n))
	if err != nil {
		t.Fatal(err)
	}
	if there(filepath.Join(ws.Top, ".env")) || len(base.Left) != 1 {
		t.Errorf("what is hidden was made: %v", base.Left)
	}
	put(t, filepath.Join(ws.Top, ".hg/store"), "broken\n")
	if got := get(filepath.Join(dir, ".hg/store")); got != "history\n" {
		t.Errorf("the caller's store: %q", got)
	}
	put(t, filepath.Join(ws.Top, ".hg/dirstate"), "agent\n")
	put(t, filepath.Join(ws.Top, "a.txt"), "one\n2\nthree\n")
	b.save(ws)
	if err := os.RemoveAll(ws.Top); err != nil {
		t.Fatal(err)
	}
	again, err := b.k.Open(t.Context(), ws, Making{})
	if err != nil || again.Commit != base.Commit || n != 1 ||
		get(filepath.Join(ws.Top, "a.txt")) != "one\n2\nthree\n" ||
		get(filepath.Join(ws.Top, ".hg/dirstate")) != "agent\n" {
		t.Errorf("made again: %v, %v, %d", again, err, n)
	}
	res, err := b.k.Close(t.Context(), ws, Ending{Going: func(context.Context) {
		if err := os.RemoveAll(ws.Top); err != nil { // as hooks do that think it is theirs to remove
			t.Error(err)
		}
	}})
	if err != nil || !res.Gone || res.Files != 1 {
		t.Errorf("closed: %+v, %v", res, err)
	}
	if diff, _, err := b.k.Diff(t.Context(), ws, ToRead); err != nil || strings.Contains(diff, ".hg") ||
		!strings.Contains(diff, "+2\n") {
		t.Errorf("diff: %v\n%s", err, diff)
	}
	put(t, filepath.Join(dir, ".hg/dirstate"), "main, later\n")
	out, err := b.k.Merge(t.Context(), ws, Into{})
	if err != nil || len(out.Conflicts) > 0 || len(out.Changes) != 1 ||
		out.Changes[0].Path != filepath.Join(dir, "a.txt") {
		t.Errorf("merge: %+v, %v", out, err)
	}
}

// TestByHookRefused: what a hook says it made is taken over only if it is a folder of its own at the place; and nothing
// of what it left stays.
func TestByHookRefused(t *testing.T) {
	for name, fill := range map[string]func(path, other string) error{
		"fails": func(path, _ string) error {
			return errors.Join(os.Mkdir(path, 0o755), errors.New("no such revision"))
		},
		"nothing": func(string, string) error { return nil },
		"a link":  func(path, other string) error { return os.Symlink(other, path) },
		"a file":  func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
		"a way through a link": func(path, other string) error {
			project := filepath.Dir(path)
			return errors.Join(os.Mkdir(filepath.Join(other, "hooked"), 0o755), os.Remove(project),
				os.Symlink(other, project))
		},
		"a file of another's that stays shared": func(path, other string) error {
			put(t, filepath.Join(path, "v.txt.troupe-tmp"), "in the way of the copy\n")
			return os.Link(filepath.Join(other, "v.txt"), filepath.Join(path, "v.txt"))
		},
		"a repository of git": func(path, _ string) error { return os.MkdirAll(filepath.Join(path, ".git"), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			dir, ws := b.hooked()
			other := filepath.Join(b.home, "victim")
			put(t, filepath.Join(other, "v.txt"), "v\n")
			_, err := b.k.Open(t.Context(), ws, Making{Fill: func(_ context.Context, path string) error {
				return fill(path, other)
			}})
			if err == nil || there(filepath.Join(b.k.data, string(ws.Owner))) ||
				get(filepath.Join(other, "v.txt")) != "v\n" {
				t.Fatalf("taken over: %v", err)
			}
			if name == "a way through a link" {
				if !there(filepath.Join(other, "hooked")) {
					t.Error("what is behind the link was removed")
				}
				return
			}
			if there(ws.Top) {
				t.Error("what it left is there still")
			}
			n := 0
			if _, err := b.k.Open(t.Context(), ws, filling(t, dir, &n)); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
	b := newBench(t)
	dir, ws := b.hooked()
	if _, err := b.k.Open(t.Context(), ws, Making{}); err == nil || !strings.Contains(err.Error(), "no hook") {
		t.Errorf("without a hook: %v", err)
	}
	t.Run("a link since it was killed", func(t *testing.T) {
		err := until(func() error {
			_, err := b.k.Open(t.Context(), ws, Making{Fill: func(context.Context, string) error { panic(errKilled) }})
			return err
		})
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		other, project := filepath.Join(b.home, "victim"), filepath.Dir(ws.Top)
		put(t, filepath.Join(other, "hooked/v.txt"), "v\n")
		if err := errors.Join(os.RemoveAll(project), os.Symlink(other, project)); err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = b.k.Open(t.Context(), ws, filling(t, dir, &n))
		if err == nil || n != 0 || get(filepath.Join(other, "hooked/v.txt")) != "v\n" {
			t.Errorf("what is behind the link was removed: %v, %d", err, n)
		}
	})
}

// TestByHookKilled ends the process at every step of the making, and does it again.
func TestByHookKilled(t *testing.T) {
	whole(t)
	for at := 1; ; at++ {
		done := false
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			b := newBench(t)
			dir, ws := b.hooked()
			k, _ := b.killed(at)
			n := 0
			err := until(func() error {
				_, err := k.Open(t.Context(), ws, filling(t, dir, &n))
				return err
			})
			if done = err == nil; done {
				return
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			base, err := b.k.Open(t.Context(), ws, filling(t, dir, &n))
			if err != nil {
				t.Fatal(err)
			}
			tree := b.save(ws).Tree
			if res := b.close(ws); res.Base != base.Commit || res.Tip != base.Commit || !res.Gone || tree == "" {
				t.Errorf("it differs from its base: %+v", res)
			}
		})
		if done {
			if at < 4 {
				t.Errorf("only %d steps", at)
			}
			return
		}
	}
}

// TestByHookLeft: what a hook that was killed has left goes with the end, and with a beginning that fails; the name is
// free then.
func TestByHookLeft(t *testing.T) {
	for name, next := range map[string]func(b *bench, ws troupe.Workspace){
		"ended": func(b *bench, ws troupe.Workspace) {
			if res := b.close(ws); !res.Gone {
				t.Errorf("%+v", res)
			}
		},
		"without a hook": func(b *bench, ws troupe.Workspace) {
			if _, err := b.k.Open(t.Context(), ws, Making{}); err == nil {
				t.Error("it was made")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			dir, ws := b.hooked()
			n := 0
			err := until(func() error {
				_, err := b.k.Open(t.Context(), ws, Making{Fill: func(_ context.Context, path string) error {
					put(t, filepath.Join(path, "half.txt"), "half\n")
					panic(errKilled)
				}})
				return err
			})
			if !errors.Is(err, errKilled) || !there(ws.Top) {
				t.Fatal(err)
			}
			next(b, ws)
			if there(ws.Top) {
				t.Error("what it left is there still")
			}
			if _, err := b.k.Open(t.Context(), ws, filling(t, dir, &n)); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}
