package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// sleepWithin is how long what is under way is waited for where nothing else is said, and sleepMost the longest:
// whoever
// asked waits as long.
const (
	sleepWithin = 10 * time.Second
	sleepMost   = 3 * time.Minute
)

// patience is how long what is under way is waited for.
func patience(o wire.Sleep) (time.Duration, error) {
	switch {
	case o.Now && o.WithinMS != 0:
		return 0, &troupe.UserError{Problem: "what is under way is cut off at once, or has a time to come to its end",
			Hint: "Give one of the two.", Code: troupe.ExitUsage}
	case o.WithinMS < 0 || o.WithinMS > sleepMost.Milliseconds():
		return 0, &troupe.UserError{Problem: "what is under way is waited for from nothing to three minutes",
			Hint: "Leave the time out for ten seconds.", Code: troupe.ExitUsage}
	case o.Now || o.WithinMS > 0:
		return time.Duration(o.WithinMS) * time.Millisecond, nil
	}
	return sleepWithin, nil
}

// Sleep puts a tree away that this process runs, or that none runs.
func (a steering) Sleep(ctx context.Context, root troupe.SessionID, o wire.Sleep) (out wire.Slept, err error) {
	s, err := a.app.trees.session(ctx, root)
	switch {
	case err != nil:
		return out, err
	case s.Parent != "":
		return out, &troupe.UserError{Problem: fmt.Sprintf("session %s is a sub-agent of %s", s.ID, s.Root),
			Hint: "Put the whole tree away: troupe sleep " + string(s.Root), Code: troupe.ExitUsage}
	case s.Archived:
		return out, archived(s)
	case !s.AsleepAt.IsZero():
		return out, asleepSince(s, a.app.env.Now())
	}
	within, err := patience(o)
	if err != nil {
		return out, err
	}
	t, err := a.app.tree(ctx, root)
	if err != nil {
		return out, err
	}
	here := a.app.hosting(root) != nil
	if t.Running && !here {
		return out, busy(s, t.Owner)
	}
	e, err := a.app.start(ctx)
	if err != nil {
		return out, err
	}
	nobody, err := troupe.NewRootID(rand.Reader)
	if err != nil {
		return out, err
	}
	if here {
		e.hub.Farewell(ctx, root)
	}
	defer a.app.followers.Moved(root)
	var rows map[troupe.SessionID]worktree.Row
	var unlisted error
	cut, err := e.hub.Sleep(ctx, session.Bedtime{Root: root, Expect: t.Lease, Caller: &a.caller,
		Within: within, Nobody: troupe.OwnerID(nobody),
		Before: func(ctx context.Context) { rows, unlisted = a.folders(ctx, t) },
		Then:   func(ctx context.Context) { out.Folders = a.putAway(ctx, root, rows) }})
	switch {
	case errors.Is(err, troupe.ErrAsleep):
		return out, asleepSince(s, a.app.env.Now())
	case errors.Is(err, troupe.ErrFenced):
		return out, takenOver(root, err)
	case err != nil:
		return out, err
	}
	if unlisted != nil {
		out.Problem = unlisted.Error()
	}
	out.Session, out.Models, out.Calls, out.Commands = root, cut.Models, cut.Calls, cut.Commands
	return out, nil
}

// folders are those of a tree's sessions, as they are before it is put away.
func (a steering) folders(ctx context.Context, t Tree) (map[troupe.SessionID]worktree.Row, error) {
	out := make(map[troupe.SessionID]worktree.Row)
	rows, err := a.app.keeper.Names("")
	if err != nil {
		return nil, err
	}
	roots := make(map[troupe.SessionID]troupe.SessionID, len(rows))
	for _, row := range rows {
		if s, err := a.app.trees.session(ctx, row.Workspace.Session()); err == nil && !left(s, row.Workspace) {
			roots[row.Workspace.Owner] = s.Root
		}
		if roots[row.Workspace.Owner] == t.Sessions[0].ID && !row.Ended {
			out[row.Workspace.Owner] = row
		}
	}
	return out, nil
}

// putAway removes the folders that can be made again. What is made from another's folder goes first.
func (a steering) putAway(ctx context.Context, root troupe.SessionID,
	rows map[troupe.SessionID]worktree.Row) (out []wire.SleptFolder) {
	var all []worktree.Row
	for _, row := range rows {
		all = append(all, row)
	}
	slices.SortFunc(all, func(x, y worktree.Row) int {
		return cmp.Or(y.Made.Compare(x.Made), cmp.Compare(x.Workspace.Owner, y.Workspace.Owner))
	})
	for _, row := range all {
		f := wire.SleptFolder{Name: row.Workspace.Name, Folder: row.Workspace.Folder}
		var err error
		f.Gone, f.Why, err = worktree.PutAway(ctx, a.app.keeper, row.Workspace, row.Opened)
		if err != nil {
			f.Why = err.Error()
			a.app.env.Log.Warn("put a folder away", "session", root, "folder", f.Folder, "err", err)
		}
		if f.Gone || f.Why != "" {
			out = append(out, f)
		}
	}
	return out
}

// asleep reports whether a tree was put away.
func asleep(t Tree) bool { return len(t.Sessions) > 0 && !t.Sessions[0].AsleepAt.IsZero() }

// asleepSince is the refusal of what a tree that sleeps cannot do.
func asleepSince(s troupe.Session, now time.Time) error {
	since := ""
	if !s.AsleepAt.IsZero() {
		since = fmt.Sprintf(", for %s now", max(0, now.Sub(s.AsleepAt)).Round(time.Second))
	}
	return &troupe.UserError{Problem: fmt.Sprintf("session %s is asleep%s", cmp.Or(s.Name, string(s.ID)), since),
		Hint: "Wake it with: troupe wake " + cmp.Or(s.Name, string(s.ID)), Code: troupe.ExitUsage,
		Err: troupe.ErrAsleep}
}

// checkAwake refuses to go on with a tree that sleeps, unless it is to be woken, and to wake one that does not.
func (a runs) checkAwake(s troupe.Session, wake bool) error {
	switch sleeps := !s.AsleepAt.IsZero(); {
	case sleeps && !wake:
		return asleepSince(s, a.app.env.Now())
	case !sleeps && wake:
		return &troupe.UserError{Problem: fmt.Sprintf("session %s is not asleep", cmp.Or(s.Name, string(s.ID))),
			Hint: "Go on with it: troupe --resume " + cmp.Or(s.Name, string(s.ID)) +
				". If it is just being put away, wake it when that is done.", Code: troupe.ExitUsage}
	}
	return nil
}
