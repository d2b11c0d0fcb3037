package worktree

import (
	"path/filepath"
	"testing"
)

// TestDiscardOfCheckedOut: a branch that is checked out stays when its work is discarded, and that is said.
func TestDiscardOfCheckedOut(t *testing.T) {
	b := newBench(t)
	ws := b.made("unwanted")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	res := b.close(ws)
	b.git(b.dir, "worktree", "add", "-q", filepath.Join(b.home, "out"), res.Branch)
	removed, ref, why, err := Discard(t.Context(), b.k, ws.Owner, Ending{})
	if !removed || ref != refOf(ws, "discarded") || why != "the branch "+res.Branch+" stays, for it is checked out" ||
		err != nil {
		t.Errorf("%v, %s, %q, %v", removed, ref, why, err)
	}
	if got := b.git(b.dir, "rev-parse", res.Branch); got != res.Tip {
		t.Errorf("the branch: %s", got)
	}
}
