package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestMergeWhileChanged: a file that is changed while a merge is worked out is no conflict of which somebody should
// take a side. What git does not see as it is, however often it looks, stays one.
func TestMergeWhileChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n")
	b.git(b.dir, "commit", "-qam", "lines")
	ws := b.made("moved")
	put(t, filepath.Join(ws.Top, "a.txt"), "1\n2\n3\n4\n5\n6\nthe agent's\n")
	seen := 0
	changed := func(most int) Into {
		seen = 0
		return Into{Hidden: func(string) bool {
			if seen++; seen <= most {
				b.write("a.txt", fmt.Sprintf("mine %d\n2\n3\n4\n5\n6\n7\n", seen))
			}
			return false
		}}
	}
	m := b.merge(ws, changed(1))
	if len(m.Conflicts) > 0 || len(m.Changes) != 1 ||
		string(m.Changes[0].Content) != "mine 1\n2\n3\n4\n5\n6\nthe agent's\n" {
		t.Errorf("%+v", m)
	}
	_, err := b.k.Merge(t.Context(), ws, changed(99))
	if told, ok := errors.AsType[*troupe.UserError](err); !ok || !strings.Contains(told.Problem, "a.txt is changed") ||
		told.Hint != "run it again" {
		t.Errorf("%v", err)
	}
	b.git(b.dir, "checkout", "-q", "a.txt")
	b.git(b.dir, "update-index", "--skip-worktree", "a.txt")
	if err := os.Remove(filepath.Join(b.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if m := b.merge(ws, Into{}); len(m.Conflicts) != 1 {
		t.Errorf("%+v", m)
	}
}
