package app

import (
	"context"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// Whether work was merged is seen by what is in files. A line that a later merge, or an agent, has rewritten since is
// in none of them; the work was merged all the same.

// rewritten reports whether all that a merge of a worktree would write or finds in conflict was written by one before
// that is not undone, and changed since by something else that the tree's history knows.
func (l looking) rewritten(ctx context.Context, row worktree.Row, m worktree.Merged) bool {
	w := row.Workspace
	s, err := l.app.trees.session(ctx, w.Session())
	if err != nil || w.Kind != troupe.WorkspaceTree || !row.Ended || row.There || !s.Status.Ended() {
		return false
	}
	h, err := l.historyOf(ctx, s.Root)
	if err != nil {
		return false // what files show is said
	}
	i := slices.IndexFunc(h.merges, func(o *merging) bool {
		return (o.owner == w.Owner || o.owner == "" && o.name == w.Name) && !o.undone && o.at.After(s.EndedAt)
	})
	if i < 0 {
		return false
	}
	taken := func(path string) bool {
		path = ownPlace(path)
		return slices.ContainsFunc(h.merges[i].steps, func(o step) bool { return o.path == path }) &&
			slices.ContainsFunc(h.steps, func(o step) bool {
				return o.path == path && o.of != h.merges[i] && o.agent != "" && o.at.After(h.merges[i].at)
			})
	}
	for _, c := range m.Conflicts {
		if !taken(c.Path) {
			return false
		}
	}
	for _, c := range m.Changes {
		if !taken(c.Path) {
			return false
		}
	}
	return true
}

// historyOf is the history of a tree, which is read once.
func (l looking) historyOf(ctx context.Context, root troupe.SessionID) (*history, error) {
	if h := l.histories[root]; h != nil {
		return h, nil
	}
	h, err := undoing{l.bound}.history(ctx, root)
	if err == nil {
		l.histories[root] = h
	}
	return h, err
}
