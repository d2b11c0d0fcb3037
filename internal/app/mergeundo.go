package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// writeMerge makes the changes of a person's merge. What the files hold is kept first, and which they are is written
// down, with the tree of the session whose worktree it is: so that undo finds it, whenever the process dies. undo is
// the command; "" where there is no such session any more, or nothing was written.
func (l looking) writeMerge(ctx context.Context, w troupe.Workspace, changes []worktree.Change, declined []string) (
	written []string, undo string, err error,
) {
	s, err := l.app.trees.session(ctx, w.Session())
	if isNotFound(err) || err == nil && len(changes) == 0 {
		written, err = writeAll(w.Of, changes)
		return written, "", err
	}
	if err != nil {
		return nil, "", err
	}
	journal := mergeJournal(l.app, s.Root)
	e, err := l.beginMerge(ctx, s.Root, w, changes, declined)
	if errors.Is(err, worktree.ErrMoved) {
		return nil, "", err
	}
	if err != nil {
		return nil, "", fmt.Errorf("undo could not be prepared: %w; a merge into a branch needs none: troupe merge %s "+
			"--into BRANCH", err, w.Name)
	}
	written, err = writeAll(w.Of, changes)
	e.Files = e.Files[:len(written)]
	if err := journal.finish(e); err != nil { // the files speak for themselves
		l.app.env.Log.Warn("note the end of a merge", "session", s.Root, "err", err)
	}
	if len(written) > 0 {
		undo = fmt.Sprintf("troupe undo %s --merge %d", s.Root, e.Number)
	}
	return written, undo, err
}

// beginMerge keeps what a merge is about to replace.
func (l looking) beginMerge(ctx context.Context, root troupe.SessionID, w troupe.Workspace, changes []worktree.Change,
	declined []string) (e undoEntry, err error) {
	h, err := undoing{l.bound}.history(ctx, root)
	if err != nil {
		return e, err
	}
	e = undoEntry{At: l.app.env.Now(), Last: len(h.turns), Merge: w.Name, Owner: w.Owner, Declined: declined}
	if n := len(h.steps); n > 0 && !e.At.After(h.steps[n-1].at) { // a clock that was set back
		e.At = h.steps[n-1].at.Add(1)
	}
	store := l.app.contents(root)
	for _, c := range changes {
		t, err := touchOf(c, store.Put)
		if err == nil && t.Before != c.Was {
			err = fmt.Errorf("%s: %w", c.Path, worktree.ErrMoved)
		}
		if err != nil {
			return e, err
		}
		e.Files = append(e.Files, undoneFile{Path: t.Path, From: identity(t.Before, t.WasLink),
			To: identity(t.Hash, t.Link), Mode: t.Mode, Added: t.Added, Removed: t.Removed})
	}
	journal := mergeJournal(l.app, root)
	for e.Number = len(h.people) + 1; ; e.Number++ {
		if err := journal.begin(e); !errors.Is(err, fs.ErrExist) {
			return e, err
		}
	}
}

// mergeTries is how often a side is taken of what conflicts: what is decided of one file may have another conflict. So
// often, too, a merge is worked out anew of which nothing could be written.
const mergeTries = 3

// taking is a merge in which one side may be taken of files that both have changed.
type taking struct {
	worktree.Merged

	// own are the files of which the folder's side is taken, over those of which the agent's is, with the names of
	// the worktrees whose work goes by it.
	own  []string
	over map[string]string
}

// mergeTaking works out a merge in which one side is taken of files that both have changed; take is "" for neither.
func mergeTaking(ctx context.Context, k *worktree.Keeper, w troupe.Workspace, into worktree.Into, take string) (
	out taking, err error) {
	into.Anew = take != "" // whoever takes a side may take another one than before
	for range mergeTries {
		if out.Merged, err = k.Merge(ctx, w, into); err != nil || take == "" || len(out.Conflicts) == 0 {
			break
		}
		for _, c := range out.Conflicts {
			if take != wire.TakeTheirs {
				into.Ours = append(into.Ours, c.Path)
				continue
			}
			into.Theirs = append(into.Theirs, c.Path)
			if out.over == nil {
				out.over = map[string]string{}
			}
			out.over[c.Path] = c.Over
		}
	}
	out.own = into.Ours
	return out, err
}
