package session

import (
	"context"
	"time"

	"github.com/troupe-dev/troupe"
)

// rested is called when an actor has nothing more to do for now. The tree may be over.
func (h *Hub) rested(root troupe.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.atRest(root)
}

// atRest has Wait return if the tree is over. Whoever changes what over looks at calls it, holding
// h.mu.
func (h *Hub) atRest(root troupe.SessionID) {
	if h.over(root) {
		h.wakeWaiters(root)
	}
}

// over reports whether nothing of a tree is at work or about to be. It is called with h.mu
// held.
func (h *Hub) over(root troupe.SessionID) bool {
	if h.live[root] > 0 {
		return false
	}
	for _, w := range h.loading {
		if w.root == root {
			return false
		}
	}
	for _, a := range h.actors {
		if a.root == root && a.stirs() {
			return false
		}
	}
	return true
}

// others reports whether anybody else of a tree is at work since before a time, or about to be.
func (h *Hub) others(a *actor, before time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.loading {
		if w.root == a.root {
			return true
		}
	}
	for _, x := range h.actors {
		if x.root == a.root && x != a && (x.counted && x.since.Before(before) || !x.counted && x.stirs()) {
			return true
		}
	}
	return false
}

// stirs reports whether the actor of a session that has ended still has something before it.
func (a *actor) stirs() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.dead && (a.scheduled || len(a.inbox) > 0 || a.due)
}

// wakeWaiters is called with h.mu held.
func (h *Hub) wakeWaiters(root troupe.SessionID) {
	for _, c := range h.waiters[root] {
		close(c)
	}
	delete(h.waiters, root)
}

// Wait returns when every session of the tree has ended and no command is at work for it, or
// with the error for which the hub has given it up.
func (h *Hub) Wait(ctx context.Context, root troupe.SessionID) error {
	for {
		h.mu.Lock()
		if err := h.lost[root]; err != nil || h.over(root) {
			h.mu.Unlock()
			return err
		}
		c := make(chan struct{})
		h.waiters[root] = append(h.waiters[root], c)
		h.mu.Unlock()
		select {
		case <-c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
