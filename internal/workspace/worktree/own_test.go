package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBorrowed: what an agent has of branches that the caller then deletes and collects is kept all the same, by commit
// or by content alone, whether the branch was there when its folder was made or not.
func TestBorrowed(t *testing.T) {
	const foreign = "line of a foreign branch\n"
	for name, way := range map[string]struct {
		later bool // the branch comes when the agent is at work
		use   func(b *bench, top, tip string)
	}{
		"by reset": {use: func(b *bench, top, _ string) {
			b.git(top, "reset", "-q", "--hard", "origin/foreign")
		}},
		"by reset, later": {true, func(b *bench, top, tip string) {
			b.git(top, "reset", "-q", "--hard", tip)
		}},
		"by checkout, later": {true, func(b *bench, top, tip string) {
			b.git(top, "checkout", "-q", tip, "--", "deep")
		}},
		"by content": {use: func(b *bench, top, _ string) {
			put(b.t, filepath.Join(top, "deep/er/foreign.txt"), foreign)
		}},
		"by content, later": {true, func(b *bench, top, _ string) {
			put(b.t, filepath.Join(top, "deep/er/foreign.txt"), foreign)
		}},
		"by stash, later": {true, func(b *bench, top, tip string) {
			b.git(top, "checkout", "-q", tip, "--", "deep")
			b.git(top, "stash", "-q")
			b.git(top, "stash", "apply", "-q")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var tip string
			grow := func() {
				b.git(b.dir, "checkout", "-qb", "foreign")
				b.write("deep/er/foreign.txt", foreign)
				b.git(b.dir, "add", "-A")
				b.git(b.dir, "commit", "-qm", "foreign")
				tip = b.git(b.dir, "rev-parse", "HEAD")
				b.git(b.dir, "checkout", "-q", "main")
			}
			if !way.later {
				grow()
			}
			ws := b.made("borrows")
			if way.later {
				grow()
			}
			way.use(b, ws.Top, tip)
			if strings.Contains(name, "reset") {
				put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
				b.git(ws.Top, "add", "-A")
				b.git(ws.Top, "commit", "-qm", "mine")
			}
			file := filepath.Join(ws.Top, "deep/er/foreign.txt")
			b.save(ws, file)
			b.collected("foreign")
			keeper := filepath.Join(b.k.data, string(ws.Owner), "repo.git")
			b.fsck(keeper)
			b.save(ws)
			if err := os.Rename(ws.Top, filepath.Join(b.home, "away")); err != nil {
				t.Fatal(err)
			}
			b.open(ws)
			if got := get(file); got != foreign {
				t.Errorf("made again: %q", got)
			}
			b.fsck(filepath.Join(ws.Top, ".git"))
			res := b.close(ws)
			if got := b.show(res.Tip, "deep/er/foreign.txt"); got != foreign || !res.Gone {
				t.Errorf("%+v: %q", res, got)
			}
			b.collected()
			b.fsck(keeper, filepath.Join(b.dir, ".git"))
			if refs := b.git(b.dir, "for-each-ref", refOf(ws, "born")); refs != "" {
				t.Errorf("left: %s", refs)
			}
		})
	}
}

// TestBorrowedLost: what went before a checkpoint could copy it is taken from the folder.
func TestBorrowedLost(t *testing.T) {
	b := newBench(t)
	ws := b.made("late")
	b.write("foreign.txt", "foreign\n")
	b.git(b.dir, "add", "-A")
	b.git(b.dir, "stash", "-q")
	put(t, filepath.Join(ws.Top, "same.txt"), "foreign\n")
	b.k.step = func(name string) error {
		if name == "looked" {
			b.k.step = func(string) error { return nil }
			b.git(b.dir, "stash", "drop", "-q")
			b.collected()
		}
		return nil
	}
	b.save(ws)
	keeper := filepath.Join(b.k.data, string(ws.Owner), "repo.git")
	b.fsck(keeper)
	if err := os.Rename(ws.Top, filepath.Join(b.home, "away")); err != nil {
		t.Fatal(err)
	}
	b.open(ws)
	if got := get(filepath.Join(ws.Top, "same.txt")); got != "foreign\n" {
		t.Errorf("made again: %q", got)
	}
}
