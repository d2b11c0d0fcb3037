package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// mailed tells the receivers of mail that was just committed. One that has no actor any more
// is loaded from its log.
func (t *tree) mailed(mail ...troupe.Mail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deliver(mail)
}

// deliver is mailed with mu held.
func (t *tree) deliver(mail []troupe.Mail) {
	for _, m := range mail {
		if t.adoption != nil {
			t.adoption.mail = append(t.adoption.mail, m)
			continue
		}
		b := t.waking[m.To] // first: what was kept for it so far has to come before this
		if a := t.actors[m.To]; a != nil && b == nil {
			a.post(inMail{m})
			continue
		}
		if b == nil && !t.up {
			continue // the process that takes the tree up finds it
		}
		if b == nil {
			b = &heldMail{}
			t.waking[m.To] = b
			t.h.d.Sched.Go(func(ctx context.Context) { t.wake(ctx, m.To, b) })
		}
		b.mail = append(b.mail, m)
	}
}

// heldMail keeps the mail of a session until that has its actor.
type heldMail struct{ mail []troupe.Mail }

// buffer keeps the mail to sessions that are about to be born until they have their actors:
// others see them as soon as they are committed. What it returns is called in any case.
func (t *tree) buffer(ids ...troupe.SessionID) (flush func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := make(map[troupe.SessionID]*heldMail)
	for _, id := range ids {
		if t.actors[id] == nil && t.waking[id] == nil {
			mine[id] = &heldMail{}
			t.waking[id] = mine[id]
		}
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, id := range ids {
			if b := mine[id]; b != nil && t.waking[id] == b {
				delete(t.waking, id)
				t.deliver(b.mail)
			}
		}
		t.checkOver() // they may have ended before
	}
}

// wake gives a session that has ended its actor back.
func (t *tree) wake(ctx context.Context, id troupe.SessionID, b *heldMail) {
	var a *actor
	var line []*turn.State
	err := t.h.d.Store.Update(context.WithoutCancel(ctx), t.root, func(tx store.Tx) error {
		a = nil
		if !t.wakes(id, b) {
			return nil
		}
		if err := t.owned(tx); err != nil {
			return err
		}
		s, err := tx.Session(id)
		if err != nil {
			return fmt.Errorf("read session %s: %w", id, err)
		}
		if a, err = t.load(tx, id, loading{opening: func(*turn.State) []troupe.Body { return nil }}); err != nil {
			return err
		}
		line, err = lineage(tx, s, t.chain.has)
		return err
	})
	// All at once: the actor may have come to its end by the next moment, and then it is deaf
	// to what is handed to it, and the tree over but for the note that it is being loaded.
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.waking[id] != b:
	case err != nil:
		t.lose(fmt.Errorf("wake session %s: %w", id, err))
	case a == nil: // the process that takes the tree over finds the mail
		delete(t.waking, id)
	default:
		for _, st := range line {
			t.chain.set(st, t.caps)
		}
		t.install(a)
		delete(t.waking, id)
		for _, m := range b.mail {
			a.post(inMail{m}) // what it found in its mailbox it does not take twice
		}
		a.post(inNudge{})
	}
}

// wakes reports whether a session is still to be woken: its tree may have been lost since, or
// be about to be adopted, which brings all back that has mail.
func (t *tree) wakes(id troupe.SessionID, b *heldMail) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waking[id] == b && t.adoption == nil
}

// owned is troupe.ErrFenced if the tree is another process's by now: a process that takes a tree
// over claims its root, and leaves sessions that have ended as they are.
func (t *tree) owned(tx store.Reader) error {
	held, err := tx.Lease(t.root)
	if err != nil {
		return fmt.Errorf("look who owns tree %s: %w", t.root, err)
	}
	if held.Owner != t.h.d.Owner {
		return fmt.Errorf("tree %s is held by %s: %w", t.root, held.Owner, troupe.ErrFenced)
	}
	return nil
}

// adopts reports whether this hub is about to take the tree over from the process that holds it now.
func (t *tree) adopts(tx store.Reader) bool {
	held, err := tx.Lease(t.root)
	t.mu.Lock()
	defer t.mu.Unlock()
	return err == nil && t.adoption != nil && t.adoption.from == held
}

// send is Hub.Send.
func (t *tree) send(ctx context.Context, build func(tx store.Tx) ([]troupe.Mail, error)) error {
	var mail []troupe.Mail
	err := t.h.d.Store.Update(context.WithoutCancel(ctx), t.root, func(tx store.Tx) error {
		err := t.owned(tx)
		if errors.Is(err, troupe.ErrFenced) && t.adopts(tx) {
			err = nil // it is about to be ours, and what is sent until then is kept
		}
		if err == nil {
			err = t.given()
		}
		if err != nil {
			return err
		}
		if mail, err = build(tx); err != nil {
			return err
		}
		return sendAll(tx, mail)
	})
	if err != nil {
		return err
	}
	t.mailed(mail...)
	return nil
}

// look hears what another process has left in the mailboxes of the tree, once of each. It is troupe.ErrFenced if the
// tree is another process's by now.
func (t *tree) look(ctx context.Context) error {
	var mail []troupe.Mail
	err := t.h.d.Store.View(ctx, func(r store.Reader) error {
		mail = nil
		if err := t.owned(r); err != nil {
			return err
		}
		boxes, err := r.Mailboxes(t.root)
		for _, id := range boxes {
			unread, uerr := r.Unread(id)
			if uerr != nil {
				return uerr
			}
			mail = append(mail, unread...)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look into the mailboxes of tree %s: %w", t.root, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	had := t.waits
	t.waits = make(map[boxed]bool, len(mail))
	for _, m := range mail {
		t.waits[boxed{m.To, m.ID}] = true
	}
	// What is known from elsewhere is not taken twice.
	t.deliver(slices.DeleteFunc(mail, func(m troupe.Mail) bool { return had[boxed{m.To, m.ID}] }))
	return nil
}

// boxed is mail in a mailbox.
type boxed struct {
	to troupe.SessionID
	id troupe.MailID
}
