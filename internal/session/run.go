package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// admit begins a run if the tree has a slot free, else it queues.
func (a *actor) admit(ctx context.Context, act turn.Admit) (bool, error) {
	admitted := false
	behind, why := a.tree.chain.claim(a)
	if behind != "" {
		return false, a.queued(ctx, behind, why)
	}
	defer func() {
		if !admitted {
			a.tree.chain.unclaim(&a.st.Session)
		}
	}()
	if a.st.Session.Depth > 0 {
		// In the queue before asking: a slot that is given up between the answer and the
		// queueing would be nobody's.
		a.tree.slots.enqueue(a)
	}
	err := a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		admitted = false
		// Whoever takes a tree over leaves sessions alone that have ended: this one may be in
		// our memory still, and its tree is run by another.
		if err := a.tree.owned(tx); err != nil {
			return err
		}
		if a.st.Session.Depth > 0 {
			tree, err := tx.Tree(a.root)
			if err != nil {
				return fmt.Errorf("read tree %s: %w", a.root, err)
			}
			if !fleet.HasSlot(tree) {
				if a.st.Queued != "" {
					return emit(troupe.Queued{})
				}
				return nil
			}
		}
		admitted = true
		return emit(troupe.Started{Run: act.Run, Caller: waker(a.unread), Again: act.Again,
			Keep: act.Keep})
	})
	if err != nil {
		admitted = false
		return false, err
	}
	if !admitted {
		return false, nil
	}
	a.tree.slots.dequeue(a)
	a.flags, a.tasks.told = flags{late: act.Late}, nil
	a.setDue(false)
	a.tree.settled(a)
	return true, nil
}

// queued notes which session this one has to wait for before it begins, as far as that is new.
func (a *actor) queued(ctx context.Context, behind troupe.SessionID, why string) error {
	a.tree.slots.remove(a) // it would be told of slots that others can use
	if a.st.Queued == behind {
		return nil
	}
	if err := a.stage(troupe.Queued{Behind: behind, Why: why}); err != nil {
		return err
	}
	return a.flush(ctx, nil)
}

// waker is who has a session run that had ended; nil if no caller did.
func waker(unread []troupe.Mail) *troupe.Caller {
	for _, m := range unread {
		if m.Wakes() && m.Caller != nil {
			return m.Caller
		}
	}
	return nil
}

// interrupt ends what is under way; what it reports then completes the log.
func (a *actor) interrupt() {
	if a.flags.interrupted {
		return
	}
	a.flags.interrupted = true
	if a.exchange.callCancel != nil {
		a.exchange.callCancel()
	}
	for _, j := range a.calls.working {
		j.cancel()
	}
	a.hooks.end()
	if a.place.doing == placeOpens {
		a.place.cancel()
	}
}

// plain makes text storable as text everywhere: valid UTF-8 without NUL.
func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// end logs the end of the run and, in the same transaction, the mail that tells the parent.
func (a *actor) end(ctx context.Context, act turn.End) error {
	s := &a.st.Session
	var err error
	o := troupe.Outcome{
		Session: a.id, Run: s.Run, Coord: s.Coord, Name: s.Name, Type: s.Type, AsTold: troupe.AsTold{
			Team: s.Team, Left: s.Team != "" && !turn.LeavesBy(&a.st, nil).IsZero()},
		Status: act.Status, Cause: act.Cause, Limit: act.Limit, Result: plain(act.Result), Error: plain(act.Error),
		Evidence: turn.Measured(&a.st, a.place.closed), Tally: a.st.RunTally(), SilentMS: a.st.Silent().Milliseconds(),
	}
	o.Workspace = a.place.closed
	if a.st.Profile.Workflow {
		if o.Kind = troupe.TaskWorkflow; o.Status != troupe.Completed {
			o.Result = "" // its last words only say for which steps it waited
		}
	}
	if act.Status == troupe.Completed {
		o.Structured = turn.Structured(&a.st)
	}
	if s.Depth > 0 {
		if o.Flags, err = checkHandoff(ctx, a, o); err != nil {
			return err
		}
		a.handing.said(&o)
		if o.Status == troupe.Completed {
			o.Verified = turn.Verified(&a.st)
		}
		o.Stopped = a.tasks.endOwn()
		if !turn.Keeps(&a.st) {
			o.Evidence.Unseen += len(o.Stopped) // nobody waits for what was seen of them
		}
		o.Output = a.births.keepResult(o.Result)
	}
	now, quiet, run := a.h.d.Now(), a.st.Quiet() || turn.Keeping(&a.st), s.Run
	if s.Status == troupe.Spawning {
		run++ // the one that was stopped before it began
	}
	if !s.StartedAt.IsZero() {
		o.DurationMS = max(0, now.Sub(s.StartedAt).Milliseconds()) // the clock may have been set back
	}
	if err := a.stage(troupe.Ended{Outcome: o}); err != nil {
		return err
	}
	// A fork that a person has made of its parent wakes nobody: the parent has not asked for it, and reads of it with
	// what comes next.
	mail := troupe.Mail{
		ID: troupe.ChildEndedMailID(a.id, s.Run), Root: a.root, To: s.Parent, From: a.id,
		Kind: troupe.MailTaskEnded, SentAt: now, Ended: &o, Quiet: quiet,
	}
	err = a.flush(ctx, func(tx store.Tx) error {
		if s.Parent == "" {
			return nil
		}
		stopped, err := treeStopped(tx, a.id, run, true)
		if err != nil {
			return err
		}
		mail.Quiet = quiet || stopped || !s.Coord.OfCall() && s.Team == ""
		if _, err := tx.Send(mail); err != nil {
			return fmt.Errorf("tell %s of its child's end: %w", s.Parent, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.flags, a.over, a.hooks.over = flags{}, turn.Bound{}, nil
	a.place.over()
	if s.Parent != "" {
		a.tree.mailed(mail)
	}
	return nil // Park follows, unless there is more to do
}
