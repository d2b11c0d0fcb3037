package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// names is all worktrees beside a folder, without a look at what they hold; "": beside all.
func (l looking) names(_ context.Context, of string) ([]worktree.Row, error) {
	return l.keeper.Names(of)
}

// list is names with that look. Those whose agents' ends could not be kept are closed first,
// if what stood against it is gone by now.
func (l looking) list(ctx context.Context, of string) ([]worktree.Row, error) {
	tell := api.Progress(ctx)
	rows, err := l.keeper.List(ctx, of, worktree.Listing{Hidden: l.hiddenOf,
		Told: func(done, all int) { tell(done, 2*all) }}) // each is judged afterwards
	if err != nil {
		return nil, err
	}
	kept := false
	for _, row := range rows {
		kept = l.keepAgain(ctx, row) || kept
	}
	if !kept {
		return rows, ctx.Err()
	}
	clear(l.trees) // whether something runs is asked behind the look at what was opened
	return l.keeper.List(ctx, of, worktree.Listing{Hidden: l.hiddenOf})
}

// keepAgain closes the folder of an agent whose work could not be kept at its end, or not be brought to the caller's
// repository, and reports whether something has become of it. Where a process has the tree, others may work in the
// folder; then that process does it, or the next.
func (l looking) keepAgain(ctx context.Context, row worktree.Row) bool {
	unbrought := row.Ended && row.Result != nil && row.Result.Unkept != ""
	settled := row.Ended && (row.There || row.Result == nil || row.Result.Tip != row.Base.Commit)
	if row.Base.Commit == "" || settled && !unbrought {
		return false
	}
	id := row.Workspace.Session()
	s, err := l.app.trees.session(ctx, id)
	removed := isNotFound(err)
	if err != nil && !(removed && unbrought) {
		return false
	}
	if !removed && !l.mayClose(ctx, s, unbrought) {
		return false
	}
	res, err := l.keeper.Close(ctx, row.Workspace, worktree.Ending{Message: cmp.Or(s.Title, s.Name), If: &row})
	if err != nil {
		l.unkept[id] = err.Error()
		return false
	}
	delete(l.unkept, id)
	return res.Unkept == "" || row.Result == nil || res.Unkept != row.Result.Unkept
}

// mayClose reports whether the work of a session could not be kept at its last end, and no process has its tree.
func (l looking) mayClose(ctx context.Context, s troupe.Session, unbrought bool) bool {
	if !unbrought {
		why := ""
		if err := l.app.trees.store.View(ctx, func(r store.Reader) (err error) {
			why, err = session.Unkept(r, s)
			return err
		}); err != nil || why == "" {
			return false
		}
		l.unkept[s.ID] = why
	}
	t, err := l.treeOf(ctx, s.Root)
	return err == nil && !t.Running
}

// treeOf is a tree of sessions, which is looked at once.
func (l looking) treeOf(ctx context.Context, root troupe.SessionID) (Tree, error) {
	t, ok := l.trees[root]
	if ok {
		return t, nil
	}
	t, err := l.app.tree(ctx, root)
	if err == nil {
		l.trees[root] = t
	}
	return t, err
}

// prunedAs is the ref that has what was done in a worktree which was pruned since; "" if it was not, or none has it.
func prunedAs(ctx context.Context, a *App, w troupe.Workspace) string {
	if w.Kind != troupe.WorkspaceTree || !worktree.Pruned(a.keeper, w.Owner) {
		return ""
	}
	refs, _ := worktree.Left(ctx, a.keeper, w.Of) // none where the repository is gone
	return refs[w.Owner]
}

// notePruned has a row of a report say of a worktree that was pruned since which ref has what was done there, in the
// place of its branch; "": a branch of the person's has it. left are those refs, by the trees that were looked at.
func notePruned(ctx context.Context, a *App, t Tree, row *wire.Session,
	left map[string]map[troupe.SessionID]string) {
	kept := row.Kept
	i := slices.IndexFunc(t.Sessions, func(s troupe.Session) bool { return s.ID == row.ID })
	if i < 0 || kept.Kind != troupe.WorkspaceTree || kept.Branch == "" || !worktree.Pruned(a.keeper, row.ID) {
		return
	}
	of := t.Sessions[i].Workspace.Of
	refs, looked := left[of]
	if !looked {
		var err error
		if refs, err = worktree.Left(ctx, a.keeper, of); err != nil {
			refs = nil // the repository is gone: nothing is known of it
		}
		left[of] = refs
	}
	if refs != nil {
		kept.Gone, kept.Kept, kept.Branch, kept.Conflicts = true, "", refs[row.ID], nil
	}
}
