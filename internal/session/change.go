package session

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// inChange is what a person changes about the main agent. The caller, who waits, is told what came of it.
type inChange struct {
	body troupe.SessionChanged
	told chan error // has room for it
}

func (inChange) input() {}

// Change has the main agent of a tree that is hosted here log what a person changes about it. here is false, and
// nothing is done, if the tree is not.
func Change(ctx context.Context, h *Hub, root troupe.SessionID, b troupe.SessionChanged) (here bool, err error) {
	t := h.hold(root)
	if t == nil {
		return false, nil
	}
	defer h.unhold(t)
	in := inChange{b, make(chan error, 1)}
	t.mu.Lock()
	a := t.actors[root]
	here = a != nil && a.post(in)
	t.mu.Unlock()
	if !here {
		return false, nil
	}
	select {
	case err := <-in.told:
		return true, err
	case <-ctx.Done():
		return true, fmt.Errorf("change session %s: it does not answer: %w", root, ctx.Err())
	}
}

// changed logs it at once. What cannot be logged is told, and changes nothing.
func changed(ctx context.Context, a *actor, in inChange) {
	in.told <- a.transact(ctx, func(_ store.Tx, emit func(troupe.Body) error) error { return emit(in.body) })
}

// ChangeLeft logs a change of the main agent of a tree that no process runs. held is the lease of the one that had it
// last; if another has it by now, that is troupe.ErrFenced. check is asked in the same transaction.
func ChangeLeft(ctx context.Context, s store.Store, root troupe.SessionID, held troupe.Lease, now time.Time,
	b troupe.SessionChanged, check func(store.Reader, *turn.State) error) error {
	return s.Update(ctx, root, func(tx store.Tx) error {
		l, err := tx.Lease(root)
		if err != nil {
			return fmt.Errorf("look who owns tree %s: %w", root, err)
		}
		if l != held {
			return fmt.Errorf("change session %s: %w", root, troupe.ErrFenced)
		}
		events, err := tx.Events(root, 0, 0)
		if err != nil {
			return fmt.Errorf("read session %s: %w", root, err)
		}
		st, err := turn.Fold(events)
		if err == nil {
			err = check(tx, &st)
		}
		if err != nil {
			return fmt.Errorf("change session %s: %w", root, err)
		}
		e := troupe.Event{Root: root, Session: root, Seq: st.Session.Seq + 1, At: now, Body: b}
		if err := st.Apply(e); err != nil {
			return err
		}
		return tx.Append(l, st.Session, []troupe.Event{e})
	})
}
