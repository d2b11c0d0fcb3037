package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSave(t *testing.T) {
	b := newBench(t)
	ws := b.made("saved")
	none := b.save(ws)
	if none.Files != 0 || none.Tree == "" {
		t.Errorf("nothing changed: %+v", none)
	}
	a, n := filepath.Join(ws.Top, "a.txt"), filepath.Join(ws.Top, "deep/new.txt")
	put(t, a, "changed\n")
	put(t, n, "new\n")
	put(t, filepath.Join(ws.Top, "x.log"), "ignored\n")
	known := b.save(ws, a, n, filepath.Join(ws.Top, "x.log"), filepath.Join(ws.Top, "sub/b.txt"),
		filepath.Join(ws.Top, "never/was"), "/etc/passwd")
	unknown := b.save(ws)
	if known.Tree == none.Tree || unknown.Tree != known.Tree || known.Files != 2 {
		t.Errorf("known %+v, then unknown %+v", known, unknown)
	}
	if err := os.Remove(n); err != nil {
		t.Fatal(err)
	}
	put(t, a, "one\ntwo\nthree\n")
	if back := b.save(ws, a, n); back.Tree != none.Tree {
		t.Errorf("undone: %+v, want the tree %s", back, none.Tree)
	}
	// A folder where a file was, and a file where a folder was.
	if err := os.RemoveAll(filepath.Join(ws.Top, "sub")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(ws.Top, "sub"), "a file\n")
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(a, "in.txt"), "in\n")
	known = b.save(ws, filepath.Join(ws.Top, "sub"), filepath.Join(a, "in.txt"), a)
	if again := b.save(ws); again.Tree != known.Tree || known.Tree == none.Tree {
		t.Errorf("swapped: %+v, %+v", known, again)
	}
}

// TestBrokenHeadReplacesNothing: where the agent's HEAD refers to what is not there, what it was before stays the HEAD.
func TestBrokenHeadReplacesNothing(t *testing.T) {
	b := newBench(t)
	ws := b.made("broken")
	put(t, filepath.Join(ws.Top, "mine.txt"), "mine\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "mine")
	good := b.git(ws.Top, "rev-parse", "HEAD")
	b.save(ws)
	put(t, filepath.Join(ws.Top, ".git", "refs", "heads", ws.Branch), strings.Repeat("ab", 20)+"\n")
	res := b.close(ws)
	if res.Gone || res.Tip != good || !strings.Contains(res.Kept, "its commits could not all be kept") {
		t.Errorf("%+v, its commit is %s", res, good)
	}
}
