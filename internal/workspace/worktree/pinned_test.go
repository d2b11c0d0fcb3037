package worktree

import (
	"path/filepath"
	"testing"
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
