package worktree

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPinnedUntilKept: packs of ours in the caller's repository are kept from collections until refs hold what is in
// them, also where the refs cannot be written.
func TestPinnedUntilKept(t *testing.T) {
	b := newBench(t)
	b.k.patience = 0
	pins := func() int {
		keeps, err := filepath.Glob(filepath.Join(b.dir, ".git/objects/pack/*.keep"))
		if err != nil {
			t.Fatal(err)
		}
		return len(keeps)
	}
	b.write("a.txt", "not committed\n")
	ws := b.plan("pinned")
	inTheWay := "refs/troupe/" + string(ws.Owner)
	b.git(b.dir, "update-ref", inTheWay, "HEAD")
	if _, err := b.k.Open(t.Context(), ws, Making{}); err == nil || pins() == 0 {
		t.Errorf("the base: %d pins, %v", pins(), err)
	}
	b.git(b.dir, "update-ref", "-d", inTheWay)
	b.open(ws)
	put(t, filepath.Join(ws.Top, "b.txt"), "b\n")
	b.close(ws)
	if pins() > 0 {
		t.Errorf("%d pins are left", pins())
	}
}

// TestIndexKeepsItsTime: the copy of an index is as old as the index. A younger one would hide a change of the same
// size that was made in the second in which the index was written.
func TestIndexKeepsItsTime(t *testing.T) {
	b := newBench(t)
	ws := b.plan("aged")
	c, err := b.k.callerOf(t.Context(), ws.Of)
	if err != nil {
		t.Fatal(err)
	}
	was := time.Unix(1e9, 5e8)
	if err := os.Chtimes(filepath.Join(b.dir, ".git/index"), was, was); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := copyIndex(c, place{repo: to}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(to, "index")); err != nil || !info.ModTime().Equal(was) {
		t.Errorf("the copy is of %v, the index of %v; %v", info.ModTime(), was, err)
	}
}
