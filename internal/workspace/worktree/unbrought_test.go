package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnbrought: work of which the caller's repository cannot be read at the end stays, is said to be in no branch, and
// is brought by the next end. What nothing was changed in asks for no other end.
func TestUnbrought(t *testing.T) {
	for _, works := range []bool{true, false} {
		b := newBench(t)
		ws := b.made("one")
		if works {
			put(t, filepath.Join(ws.Top, "a.txt"), "changed\n")
		}
		head := filepath.Join(b.dir, ".git", "HEAD")
		if err := os.Rename(head, head+".away"); err != nil {
			t.Fatal(err)
		}
		res := b.close(ws)
		if (res.Unkept != "") != works || res.Gone || res.Branch != "" ||
			!strings.Contains(res.Kept, "not be brought") ||
			strings.Contains(res.Unkept, "there can be no worktree") {
			t.Errorf("works %v: %+v", works, res)
		}
		if err := os.Rename(head+".away", head); err != nil {
			t.Fatal(err)
		}
		if res := b.close(ws); res.Unkept != "" || !res.Gone || works && res.Branch == "" {
			t.Errorf("works %v, once more: %+v", works, res)
		}
	}
}

// TestNoCaller: where the caller's repository is gone altogether, that is what is said of a save that fails.
func TestNoCaller(t *testing.T) {
	b := newBench(t)
	ws := b.made("one")
	put(t, filepath.Join(ws.Top, "a.txt"), "changed\n")
	if err := os.Rename(filepath.Join(b.dir, ".git"), filepath.Join(b.home, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.k.Save(t.Context(), ws, nil, ""); err == nil || !strings.Contains(err.Error(), "has no .git") {
		t.Error(err)
	}
}
