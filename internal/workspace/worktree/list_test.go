package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestListOfUnreadable: a workspace of which the kept refs cannot be read is told as one that may hold anything, and
// hides none of the others.
func TestListOfUnreadable(t *testing.T) {
	b := newBench(t)
	broken, whole := b.made("broken"), b.made("whole")
	put(t, filepath.Join(broken.Top, "one.txt"), "one\n")
	put(t, filepath.Join(whole.Top, "two.txt"), "two\n")
	b.close(broken)
	b.close(whole)
	refs := filepath.Join(b.k.data, string(broken.Owner), "repo.git", "packed-refs")
	if err := errors.Join(os.Remove(refs), os.Mkdir(refs, 0o700)); err != nil {
		t.Fatal(err)
	}
	rows, err := b.k.List(t.Context(), "", Listing{})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, row := range rows {
		if (row.Problem != "") != (row.Workspace.Owner == broken.Owner) || !row.Unmerged {
			t.Errorf("%s: %q, unmerged %v", row.Workspace.Name, row.Problem, row.Unmerged)
		}
	}
}

// TestNamesAskNothing: which worktrees there are is said without git, whatever they hold; one look is at one of them.
func TestNamesAskNothing(t *testing.T) {
	b := newBench(t)
	var first troupe.Workspace
	for _, name := range []string{"one", "two", "three"} {
		ws := b.made(name)
		put(t, filepath.Join(ws.Top, name+".txt"), name+"\n")
		b.close(ws)
		if name == "one" {
			first = ws
		}
	}
	calls := b.counting()
	rows, err := b.k.Names(b.dir)
	if err != nil || len(rows) != 3 || rows[0].Workspace != first || rows[0].There || !rows[0].Ended || calls() > 0 {
		t.Errorf("git was asked %d times: %+v, %v", calls(), rows, err)
	}
	if row, err := b.k.Look(t.Context(), first, Listing{}); err != nil || !row.Unmerged || row.Bytes == 0 {
		t.Errorf("%+v, %v", row, err)
	}
	one := calls()
	if _, err := b.k.List(t.Context(), b.dir, Listing{}); err != nil || calls()-one < 2*one {
		t.Errorf("a look at one took %d calls, and at three %d: %v", one, calls()-one, err)
	}
}

// TestListOfChangedSince: a folder that stayed after its agent's end and was changed since is listed by what it holds
// now.
func TestListOfChangedSince(t *testing.T) {
	b := newBench(t)
	ws := b.made("stays")
	put(t, filepath.Join(ws.Top, "x.log"), "ignored\n")
	if res := b.close(ws); res.Gone {
		t.Fatalf("%+v", res)
	}
	look := func() Row {
		t.Helper()
		row, err := b.k.Look(t.Context(), ws, Listing{})
		if err != nil || !row.Ended || !row.There {
			t.Fatalf("%+v, %v", row, err)
		}
		return row
	}
	if row := look(); row.Unmerged || row.Since || row.Worked {
		t.Errorf("as it ended: %+v", row)
	}
	put(t, filepath.Join(ws.Top, "a.txt"), "later\n")
	if row := look(); !row.Unmerged || !row.Since || !row.Worked {
		t.Errorf("changed since: %+v", row)
	}
	b.brought(ws)
	if row := look(); row.Unmerged || !row.Since {
		t.Errorf("merged: %+v", row)
	}
}

// TestPruneKeeps: what an end would keep stays whole, and a file of which the caller has kept its own is no merged
// work.
func TestPruneKeeps(t *testing.T) {
	b := newBench(t)
	ws := b.made("ignored")
	put(t, filepath.Join(ws.Top, "x.log"), "ignored\n")
	if res := b.close(ws); res.Gone {
		t.Fatalf("%+v", res)
	}
	removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{})
	if removed || !strings.Contains(why, "x.log") || err != nil || !there(filepath.Join(ws.Top, "x.log")) ||
		!there(filepath.Join(b.k.data, string(ws.Owner), "repo.git")) {
		t.Errorf("%t, %q, %v", removed, why, err)
	}
	ws = b.made("declined")
	put(t, filepath.Join(ws.Top, "a.txt"), "the agent's\n")
	own := b.merge(ws, Into{Ours: []string{filepath.Join(b.dir, "a.txt")}}).Own
	if err := b.k.Decline(t.Context(), ws, own); err != nil {
		t.Fatal(err)
	}
	b.close(ws)
	removed, why, err = b.k.Prune(t.Context(), ws.Owner, Ending{})
	if removed || why != "it has its own version of a.txt, of which you kept yours" || err != nil {
		t.Errorf("%t, %q, %v", removed, why, err)
	}
}

// TestPruneBesideRemotes: commits that only a ref of another repository's reaches keep their own, for the next fetch
// may take such a ref away.
func TestPruneBesideRemotes(t *testing.T) {
	b := newBench(t)
	ws := b.made("fetched")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	res := b.close(ws)
	b.write("one.txt", "one\n")
	b.git(b.dir, "update-ref", "refs/remotes/origin/fetched", res.Tip)
	removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{})
	if !removed || !strings.Contains(why, refOf(ws, "tip")) || err != nil {
		t.Errorf("%t, %q, %v", removed, why, err)
	}
	if got := b.git(b.dir, "for-each-ref", "--format=%(objectname)", refOf(ws, "tip")); got != res.Tip {
		t.Errorf("the ref: %q", got)
	}
}
