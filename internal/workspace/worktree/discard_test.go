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

// TestDiscardKeepsTags: a tag with words of its own is not discarded with the commits.
func TestDiscardKeepsTags(t *testing.T) {
	b := newBench(t)
	ws := b.made("tagged")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	b.git(ws.Top, "add", "-A")
	b.git(ws.Top, "commit", "-qm", "one")
	b.git(ws.Top, "tag", "plain")
	b.git(ws.Top, "tag", "-am", "words of its own", "spoken")
	tag := b.git(ws.Top, "rev-parse", "spoken")
	b.close(ws)
	if removed, _, why, err := Discard(t.Context(), b.k, ws.Owner, Ending{}); !removed || err != nil {
		t.Fatalf("%v, %q, %v", removed, why, err)
	}
	want := refOf(ws, "discarded") + "\n" + refOf(ws, "tags/spoken")
	if got := b.git(b.dir, "for-each-ref", "--format=%(refname)", "refs/troupe"); got != want {
		t.Errorf("refs: %s", got)
	}
	if got := b.git(b.dir, "for-each-ref", "--format=%(objectname)", refOf(ws, "tags/spoken")); got != tag {
		t.Errorf("the tag: %s", got)
	}
}
