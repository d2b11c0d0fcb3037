package worktree

import (
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestHostileOuter: where an agent's own folder is what another's is made from, git is asked in a repository whose
// settings that agent writes; none of them runs anything.
func TestHostileOuter(t *testing.T) {
	b := newBench(t)
	outer := b.made("outer")
	put(t, filepath.Join(outer.Top, "outer.txt"), "outer\n")
	command, ran := b.evil()
	b.arm(filepath.Join(outer.Top, ".git"), command)
	inner, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: troupe.WorkspaceTree, Name: "inner", Exact: true,
		From: outer.Top})
	if err != nil {
		t.Fatal(err)
	}
	b.open(inner)
	put(t, filepath.Join(inner.Top, "inner.txt"), "inner\n")
	b.save(inner)
	if res := b.close(inner); !res.Gone || res.Branch == "" {
		t.Errorf("inner: %+v", res)
	}
	if m := b.merge(inner, Into{}); len(m.Changes) != 1 {
		t.Errorf("merge: %+v", m)
	}
	if _, err := b.k.List(t.Context(), "", Listing{}); err != nil {
		t.Error(err)
	}
	if _, _, _, err := Discard(t.Context(), b.k, inner.Owner, Ending{}); err != nil {
		t.Error(err)
	}
	if b.close(outer); ran() {
		t.Error("the agent's command was run")
	}
}
