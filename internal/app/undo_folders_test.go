package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/content"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// fakePasts has one change of one file in each checkpoint, which is named by what the file holds then; "-" has none.
type fakePasts struct {
	there bool
	path  string
}

func (f fakePasts) Past(_ context.Context, _ troupe.Workspace, trees []string) (worktree.Past, error) {
	out := worktree.Past{There: f.there}
	for _, tree := range trees {
		steps := []worktree.Step{{Path: f.path, To: worktree.Version{Hash: tree}}}
		if tree == "-" {
			steps = nil
		}
		out.Steps = append(out.Steps, steps)
	}
	return out, nil
}

func (fakePasts) Content(context.Context, troupe.Workspace, string) ([]byte, error) { return nil, nil }

// TestMergeIntoAgentsFolder: what was merged into the folder of another agent is a change of that folder, and goes with
// it; it counts once, whether a checkpoint has it by then or not, and whatever time that bears: one that is made beside
// a merge may have its files or not. A person's merge is no work of the turn.
func TestMergeIntoAgentsFolder(t *testing.T) {
	at := time.Unix(1000, 0)
	const owner, path = troupe.SessionID("parent"), "/trees/parent/a.txt"
	for _, c := range []struct {
		name   string
		there  bool
		saved  []checkpoint
		writes int
	}{
		{"not saved, and gone", false, nil, 1},
		{"not saved, and there", true, nil, 1},
		{"saved before", true, []checkpoint{{at: at.Add(-1), turn: 1, tree: "t"}}, 2},
		{"saved by one that began before", true, []checkpoint{{at: at.Add(-1), turn: 1, tree: "h"}}, 1},
		{"not saved by one that began later", true, []checkpoint{{at: at.Add(1), turn: 1, tree: "-"}}, 1},
		{"saved later", true, []checkpoint{{at: at.Add(1), turn: 1, tree: "t"}}, 1},
		{"saved later, and gone", false, []checkpoint{{at: at.Add(1), turn: 1, tree: "t"}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws := troupe.Workspace{Kind: troupe.WorkspaceTree, Owner: owner, Top: "/trees/parent"}
			h := &history{turns: []Turn{{Number: 1}}, folders: map[troupe.SessionID]*ownFolder{owner: {ws: ws,
				saved: c.saved}}}
			h.people = []undoEntry{{At: at, Last: 1, Merge: "other", Done: true, Number: 1,
				Files: []undoneFile{{Path: path, To: "h"}}}}
			l := logReader{h: h, at: at, first: 1}
			l.merge(troupe.WorkspaceMerged{Files: []troupe.FileTouch{{Path: path, Wrote: true, New: true, Hash: "h"}}})
			if err := h.readFolders(t.Context(), fakePasts{c.there, path}); err != nil {
				t.Fatal(err)
			}
			h.finish()
			for _, s := range h.steps {
				if s.folder != owner {
					t.Errorf("in the folder %q: %+v", s.folder, s)
				}
			}
			if files := h.turns[0].Files; len(files) != 1 || files[0].Writes != c.writes {
				t.Errorf("files: %+v", files)
			}
			if n := len(h.turns[0].Merges); n != 2 {
				t.Errorf("%d merges", n)
			}
			if gone := h.goneSince(1); (len(gone) > 0) == c.there {
				t.Errorf("gone: %v", gone)
			}
		})
	}
}

// damaged is a keeper whose contents are not what they were.
type damaged struct{ pasts }

func (damaged) Content(context.Context, troupe.Workspace, string) ([]byte, error) {
	return []byte("another"), nil
}

// TestDamagedPast: what a checkpoint holds is given out only if it is what its name says.
func TestDamagedPast(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"another": nil, "the one that was": content.ErrDamaged} {
		hash := troupe.ContentHash([]byte(text))
		from := past{store: content.In(t.TempDir()), keeper: damaged{}, blobs: map[string]blob{hash: {}}}
		if _, err := from.get(t.Context(), hash); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
