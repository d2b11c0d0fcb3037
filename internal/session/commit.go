package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// staging is what an actor has decided and not yet committed.
type staging struct {
	base   troupe.Session // the projection as it is in the store
	events []troupe.Event
	asks   []troupe.Request // that the events open or settle
	reads  []delivery
	mail   []troupe.Mail // that is sent with them
}

// delivery is mail that a staged event puts into the conversation.
type delivery struct {
	seq int64
	ids []troupe.MailID
}

func (s *staging) add(e troupe.Event, r *troupe.Request) {
	s.events = append(s.events, e)
	if r != nil {
		s.asks = append(s.asks, *r)
	}
}

func (s *staging) read(seq int64, id troupe.MailID) {
	if n := len(s.reads); n > 0 && s.reads[n-1].seq == seq {
		s.reads[n-1].ids = append(s.reads[n-1].ids, id)
		return
	}
	s.reads = append(s.reads, delivery{seq, []troupe.MailID{id}})
}

// stage applies an event to the actor's state and keeps it for the next commit.
func (a *actor) stage(b troupe.Body) error {
	e := a.event(&a.st, withContext(&a.st, b))
	if err := a.st.Apply(e); err != nil {
		return err
	}
	a.staged.add(e, a.st.Changed())
	a.follow()
	return a.convo.add(e)
}

func (a *actor) event(st *turn.State, b troupe.Body) troupe.Event {
	return troupe.Event{Root: a.root, Session: a.id, Seq: st.Session.Seq + 1, At: a.h.d.Now(), Body: b}
}

// flush commits what is staged, together with what extra writes. With nothing staged and
// no extra it does nothing.
func (a *actor) flush(ctx context.Context, extra func(store.Tx) error) error {
	if len(a.staged.events) == 0 && extra == nil {
		return nil
	}
	return a.transact(ctx, func(tx store.Tx, _ func(troupe.Body) error) error {
		if extra != nil {
			return extra(tx)
		}
		return nil
	})
}

// transact commits what is staged and, in the same transaction, what fn emits after it has
// looked around. Nothing it emits counts unless the transaction commits.
func (a *actor) transact(ctx context.Context, fn func(tx store.Tx, emit func(troupe.Body) error) error) error {
	var next turn.State
	var more staging // what fn emits
	emitted := false
	// A commit is not given up half way because somebody pressed Ctrl-C.
	err := a.h.d.Store.Update(context.WithoutCancel(ctx), a.root, func(tx store.Tx) error {
		more, emitted = staging{base: a.st.Session}, false
		// What is staged comes first: what fn looks at has to count it.
		if err := a.write(tx, a.st.Session, a.staged); err != nil {
			return err
		}
		for _, d := range a.staged.reads {
			if err := tx.MarkDelivered(a.id, d.seq, d.ids); err != nil {
				return fmt.Errorf("mark mail delivered: %w", err)
			}
		}
		if err := sendAll(tx, a.staged.mail); err != nil {
			return err
		}
		err := fn(tx, func(b troupe.Body) error {
			if !emitted {
				emitted, next = true, a.st.Clone()
			}
			e := a.event(&next, withContext(&next, b))
			if err := next.Apply(e); err != nil {
				return err
			}
			more.add(e, next.Changed())
			return nil
		})
		switch {
		case err != nil:
			return err
		case emitted:
			return a.write(tx, next.Session, more)
		case len(a.staged.events) == 0:
			return a.holds(tx)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	a.h.debug(ctx, a.staged.events)
	a.h.debug(ctx, more.events)
	if emitted {
		a.st = next
		for _, e := range more.events {
			if err := a.convo.add(e); err != nil {
				return err
			}
		}
	}
	a.committed(a.st.Session, append(a.staged.events, more.events...))
	return nil
}

// holds is troupe.ErrFenced if the session is another's by now. A transaction that appends
// nothing would not notice.
func (a *actor) holds(tx store.Tx) error {
	held, err := tx.Lease(a.id)
	if err == nil && held != a.lease {
		err = fmt.Errorf("session %s is held by %s in epoch %d: %w", a.id, held.Owner, held.Epoch, troupe.ErrFenced)
	}
	return err
}

// write appends events to the actor's log.
func (a *actor) write(tx store.Tx, s troupe.Session, what staging) error {
	return what.write(tx, a.lease, s)
}

// write appends events, keeps the rows of the requests that they open or settle, and carries the
// change of the projection into the tree's sums.
func (s *staging) write(tx store.Tx, l troupe.Lease, now troupe.Session) error {
	if len(s.events) == 0 {
		return nil
	}
	if err := tx.Append(l, now, s.events); err != nil {
		return err
	}
	for _, r := range s.asks {
		if err := tx.PutRequest(r); err != nil {
			return fmt.Errorf("keep request %s: %w", r.ID, err)
		}
	}
	d := treeDelta(s.base, now)
	d.Prompted = prompted(s.events)
	if !d.IsZero() {
		return tx.AddTree(now.Root, d)
	}
	return nil
}

// prompted reports whether the events bring words of a person into the conversation, or into that of a fork.
func prompted(events []troupe.Event) bool {
	return slices.ContainsFunc(events, func(e troupe.Event) bool {
		b, ok := e.Body.(troupe.MailDelivered)
		return ok && slices.ContainsFunc(b.Mail, func(m troupe.Mail) bool {
			return m.PersonsPrompt() || m.Forked != nil && m.Forked.Task != nil
		})
	})
}

func (a *actor) committed(s troupe.Session, events []troupe.Event) {
	d, mail := treeDelta(a.staged.base, s), a.staged.mail
	a.staged = staging{base: s}
	a.begun = false
	show(a, events)
	a.h.d.Notify(a.root, a.id, s.Seq, events)
	if d.Active < 0 {
		a.tree.slots.release(-d.Active)
	}
	if d.Reserved.Tokens < 0 || d.Reserved.Cost < 0 || d.Reserved.Turns < 0 {
		a.tree.slots.retryBudget()
	}
	if len(mail) > 0 {
		a.tree.mailed(mail...)
	}
}

func treeDelta(from, to troupe.Session) troupe.TreeDelta {
	d := troupe.TreeDelta{Tally: to.Tally.Minus(from.Tally), Reserved: to.Reserved.Minus(from.Reserved)}
	switch {
	case to.Active() && !from.Active():
		d.Active = 1
	case !to.Active() && from.Active():
		d.Active = -1
	}
	return d
}
