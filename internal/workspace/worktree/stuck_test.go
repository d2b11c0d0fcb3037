package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestPruneOfTheUnmade: whatever a making that came to no end has left, in whatever state a frozen git left the keeper,
// can be removed, and made anew.
func TestPruneOfTheUnmade(t *testing.T) {
	whole(t)
	for at := 1; ; at++ {
		done := false
		for what, harm := range map[string]func(repo string) error{
			"as it was":     func(string) error { return nil },
			"half a keeper": func(repo string) error { return os.RemoveAll(filepath.Join(repo, "objects")) },
		} {
			t.Run(fmt.Sprint(at, " ", what), func(t *testing.T) {
				b := newBench(t)
				b.write("a.txt", "one\nchanged\nthree\n")
				ws := b.plan("stuck")
				k, _ := b.killed(at)
				err := until(func() error { _, err := k.Open(t.Context(), ws, Making{}); return err })
				if !errors.Is(err, errKilled) {
					done = true
					return
				}
				if err := harm(filepath.Join(b.home, "data", string(ws.Owner), "repo.git")); err != nil &&
					!os.IsNotExist(err) {
					t.Fatal(err)
				}
				if there(ws.Top) {
					return // an agent may have been there
				}
				if at%2 == 0 { // a resume goes on
					b.open(ws)
					return
				}
				if removed, why, err := b.k.Prune(t.Context(), ws.Owner, Ending{}); err != nil || !removed {
					t.Errorf("removed %v: %s, %v", removed, why, err)
				}
				if rows, err := b.k.List(t.Context(), "", Listing{}); err != nil || len(rows) > 0 {
					t.Errorf("%+v, %v", rows, err)
				}
				if refs := b.git(b.dir, "for-each-ref", "refs/troupe"); refs != "" {
					t.Errorf("left: %s", refs)
				}
			})
		}
		if done {
			if at < 9 {
				t.Errorf("only %d steps", at)
			}
			return
		}
	}
}
