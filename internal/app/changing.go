package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// mostTitled is how long a title may be that a person gives.
const mostTitled = 200

// changeWithin is far more than a session takes to log a change. One that was lost meanwhile never answers. Where it
// changes hands, it is looked at again after changeAgain.
const (
	changeWithin = 10 * time.Second
	changeAgain  = 10 * time.Millisecond
)

// Change names a main agent, or archives its tree.
func (a runs) Change(ctx context.Context, root troupe.SessionID, c wire.SessionChange) (out wire.Session, err error) {
	s, err := a.app.trees.session(ctx, root)
	if err == nil {
		err = checkChange(s, c)
	}
	if err != nil {
		return out, err
	}
	b := troupe.SessionChanged{Title: a.app.Mask(c.Title), Archived: c.Archive && !s.Archived,
		Unarchived: c.Unarchive && s.Archived, Caller: &a.caller}
	if c.Rename != s.Name {
		b.Name = c.Rename
	}
	if b != (troupe.SessionChanged{Caller: &a.caller}) {
		if err := a.change(ctx, s, b); err != nil {
			return out, changeRefused(s, b, err)
		}
	}
	if err := a.movePlan(ctx, s, b); err != nil {
		return out, err
	}
	return sessions(a).Find(ctx, string(root), s.Cwd)
}

// checkChange refuses what cannot be, of any session.
func checkChange(s troupe.Session, c wire.SessionChange) error {
	problem, hint := "", "Leave out one of the two."
	switch {
	case s.Parent != "":
		problem = fmt.Sprintf("session %s is a sub-agent of %s", s.ID, s.Root)
		hint = "Agents call each other by their names. The main agent can have another one, and its whole tree be " +
			"archived: " + string(s.Root)
	case c == wire.SessionChange{}:
		problem, hint = "there is nothing to change", "Give a name, a title, or say whether it is archived."
	case c.Archive && c.Unarchive:
		problem = "a session is either archived or taken out of the archive"
	case len(c.Title) > mostTitled:
		problem, hint = fmt.Sprintf("the title has %d bytes, and may have %d", len(c.Title), mostTitled), "Shorten it."
	default:
		return checkName(c.Rename)
	}
	return &troupe.UserError{Problem: problem, Hint: hint, Code: troupe.ExitUsage}
}

// change logs the change where the tree is run, or in the home where none runs it.
func (a runs) change(ctx context.Context, s troupe.Session, b troupe.SessionChanged) error {
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	for {
		t, err := a.app.tree(ctx, s.ID)
		switch {
		case err != nil:
			return err
		case t.Running && b.Archived:
			return a.inHand(ctx, t, "it was not archived", "archive it")
		case t.Running && a.app.isOwner(t.Lease.Owner):
			var here bool
			if here, err = session.Change(ctx, a.app.engine.Load().hub, s.ID, b); here {
				return err
			}
			err = troupe.ErrFenced // it is just being taken up, or left
		case t.Running:
			return busy(s, t.Owner)
		default:
			err = session.ChangeLeft(ctx, a.app.trees.store, s.ID, t.Lease, a.app.env.Now(), b, atRest(b))
		}
		if !errors.Is(err, troupe.ErrFenced) {
			return err
		}
		select {
		case <-time.After(changeAgain):
		case <-ctx.Done():
			return fmt.Errorf("change session %s: %w", s.ID, err)
		}
	}
}

// errAtWork: something is left to do in a tree.
var errAtWork = errors.New("something is left to do in it")

// atRest refuses to archive a tree in which something is left to do. One that sleeps does nothing.
func atRest(b troupe.SessionChanged) func(store.Reader, *turn.State) error {
	return func(r store.Reader, st *turn.State) error {
		if !b.Archived || !st.Session.AsleepAt.IsZero() {
			return nil
		}
		more := st.Session.Status.Live()
		var err error
		if !more {
			more, err = unfinished(r, st)
		}
		if err == nil && more {
			err = errAtWork
		}
		return err
	}
}

// changeRefused says why a change was not made, and what to do.
func changeRefused(s troupe.Session, b troupe.SessionChanged, err error) error {
	name := cmp.Or(s.Name, string(s.ID))
	refused, _ := errors.AsType[*turn.RefusedError](err)
	switch {
	case errors.Is(err, troupe.ErrExists):
		return &troupe.UserError{Problem: fmt.Sprintf("there is a session named %q already", b.Name),
			Hint: "Choose another name.", Code: troupe.ExitUsage, Err: err}
	case errors.Is(err, errAtWork), refused != nil && b.Archived:
		return &troupe.UserError{Problem: fmt.Sprintf("session %s is not over: something was left to do in it", name),
			Hint: fmt.Sprintf("Go on with it, and archive it when it is over: troupe -p --resume %s; or put it away "+
				"first: troupe sleep %s", name, name), Code: troupe.ExitUsage, Err: errors.Join(troupe.ErrBlocked, err)}
	}
	return err
}

// archived is the refusal of what a tree that is archived cannot do.
func archived(s troupe.Session) error {
	name := cmp.Or(s.Name, string(s.ID))
	return &troupe.UserError{Problem: fmt.Sprintf("session %s is archived", name),
		Hint: "Take it out of the archive first: troupe archive --undo " + name, Code: troupe.ExitUsage,
		Err: troupe.ErrArchived}
}

// notArchived refuses what a tree that is archived cannot do.
func notArchived(r store.Reader, root troupe.SessionID) error {
	s, err := r.Session(root)
	if err == nil && s.Archived {
		err = archived(s)
	}
	return err
}

// movePlan has the plan of a session that has another name lie where it is looked for. One that is being written stays
// where its agent writes it.
func (a runs) movePlan(ctx context.Context, s troupe.Session, b troupe.SessionChanged) error {
	now, p := s, plansOf(a.app)
	now.Name, now.Title = cmp.Or(b.Name, s.Name), cmp.Or(b.Title, s.Title)
	from, to := p.File(s), p.File(now)
	if from == to {
		return nil
	}
	events, err := a.app.trees.events(ctx, s.ID, 0, 0)
	if err != nil {
		return err
	}
	if st, err := turn.Fold(events); err != nil || st.Authority.Planning != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return nil // one of that name is there
	}
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("move the plan of session %s: %w", now.ID, err)
	}
	return nil
}
