package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// PruneWorktrees implements api.Workspaces.
func (a worktrees) PruneWorktrees(ctx context.Context, p wire.WorktreePrune) ([]wire.PrunedWorktree, error) {
	ctx = worktree.Looking(ctx, 0, api.Waits(ctx))
	look := lookingBy(a)
	if p.Discard && len(p.Names) == 0 {
		return nil, &troupe.UserError{Problem: "work is discarded of worktrees that are named, and none is",
			Hint: "`troupe worktrees` lists them.", Code: troupe.ExitUsage}
	}
	var rows []worktree.Row
	if len(p.Names) == 0 {
		var err error
		if rows, err = look.rows(ctx, wire.WorktreeQuery{Cwd: p.Cwd, All: p.All}); err != nil {
			return nil, err
		}
	}
	for _, name := range p.Names { // all of them are found before the first is removed
		row, err := look.one(ctx, wire.WorktreeQuery{Cwd: p.Cwd, All: p.All, Name: name})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	out := []wire.PrunedWorktree{}
	defer func() { slices.Reverse(out) }()
	for _, row := range slices.Backward(rows) { // what was made from the folder of another is younger, and goes first
		done, err := look.prune(ctx, row, p)
		if err != nil {
			if ctx.Err() != nil {
				return out, err
			}
			done.Why = err.Error() // it keeps none of the others
		}
		out = append(out, done)
		api.Progress(ctx)(len(rows)+len(out), 2*len(rows))
	}
	if len(p.Names) == 0 && !p.DryRun {
		return out, look.sweep(ctx, p.Cwd, p.All)
	}
	return out, nil
}

// sweep removes what agents that changed nothing have left. One that is at work may yet go back to its folder.
func (l looking) sweep(ctx context.Context, folder string, all bool) error {
	cwd, err := folderOf(l.app, folder)
	if err != nil {
		return err
	}
	here := resolved(cwd)
	top := config.Folders(here)[0]
	return l.keeper.Sweep(ctx, func(w troupe.Workspace) bool {
		if !all && w.Of != top && w.Of != here {
			return false
		}
		s, err := l.app.trees.session(ctx, w.Session())
		return isNotFound(err) || err == nil && (!s.Status.Live() || left(s, w))
	})
}

func fileCount(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// prune removes one worktree, unless something of it would be lost or its session may still need it.
func (l looking) prune(ctx context.Context, row worktree.Row, p wire.WorktreePrune) (wire.PrunedWorktree, error) {
	out := wire.PrunedWorktree{Worktree: l.shown(ctx, row)}
	w := out.Worktree
	switch {
	case w.State == wire.WorktreeWorking:
		out.Why = "its agent is at work"
	case w.Asleep:
		out.Why = "its session is asleep, and can be woken with: troupe wake " + string(l.rootOf(ctx, row))
	case w.Status.Live() && !w.Left:
		out.Why = "its session was left behind and can be gone on with: troupe --resume " + string(l.rootOf(ctx, row))
	case w.State == wire.WorktreeUnknown:
		out.Why = w.Problem
	case p.Discard: // whatever it holds
	case w.State == wire.WorktreeUnmerged && !w.Pushed:
		out.Why = fmt.Sprintf("it has work that is nowhere else: troupe merge %s, or throw it away: "+
			"troupe worktrees prune --discard %s", w.Name, w.Name)
	case len(w.Declined) > 0:
		out.Why = fmt.Sprintf("you kept yours in %s; its version is on %s", fileCount(len(w.Declined)),
			cmp.Or(w.Branch, w.Folder))
	case w.Kept != "" && row.There && p.DryRun:
		out.Why = w.Kept // as of its end; what keeps it may be gone by now
	}
	if out.Why != "" || p.DryRun {
		out.Removed = out.Why == ""
		return out, nil
	}
	end := worktree.Ending{Going: l.told(row.Workspace, &out),
		Had: (w.State == wire.WorktreeMerged || w.Pushed) && row.Unmerged}
	if p.Discard {
		end.Losing = func(what string) { out.Lost = what }
	}
	if !row.Ended {
		// The folder of a main agent stays from run to run.
		opening := end
		opening.If = &row
		res, err := l.keeper.Close(ctx, row.Workspace, opening)
		if err != nil || !res.Gone {
			out.Why = res.Kept
			return out, err
		}
	}
	var err error
	if p.Discard {
		out.Removed, out.Discarded, out.Why, err = worktree.Discard(ctx, l.keeper, row.Workspace.Owner, end)
	} else {
		out.Removed, out.Why, err = l.keeper.Prune(ctx, row.Workspace.Owner, end)
	}
	if isNotFound(err) { // it held nothing, and has gone with its end
		out.Removed, err = true, nil
	}
	return out, err
}
