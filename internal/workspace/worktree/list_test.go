package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
	rows, err := b.k.List(t.Context(), "")
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, row := range rows {
		if (row.Problem != "") != (row.Workspace.Owner == broken.Owner) || !row.Unmerged {
			t.Errorf("%s: %q, unmerged %v", row.Workspace.Name, row.Problem, row.Unmerged)
		}
	}
}
