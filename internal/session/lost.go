package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/troupe-dev/troupe"
)

// fail gives up the tree of an actor: its log could not be written, or is not ours any more.
func (h *Hub) fail(a *actor, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.has(a) {
		h.giveUp(a.root, err)
	} else {
		a.kill()
	}
}

// giveUp ends all that is done for a tree, until it is adopted again. It is called with h.mu held.
func (h *Hub) giveUp(root troupe.SessionID, err error) {
	h.lost[root] = err
	h.drop(root)
	h.wakeWaiters(root)
}

// drop makes the actors of a tree deaf and forgets them. It is called with h.mu held.
func (h *Hub) drop(root troupe.SessionID) {
	var all []*actor
	for id, a := range h.actors {
		if a.root == root {
			delete(h.actors, id)
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *actor) int { return cmp.Compare(a.order, b.order) })
	for _, a := range all {
		a.kill()
	}
	maps.DeleteFunc(h.loading, func(_ troupe.SessionID, w *waking) bool { return w.root == root })
	delete(h.queued, root)
	delete(h.short, root)
	delete(h.live, root)
}

// given is the error for which a tree was given up, unless it is just being adopted again.
func (h *Hub) given(root troupe.SessionID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taking[root] != nil {
		return nil
	}
	return h.lost[root]
}

// kill makes the actor deaf, and has it let go of what it has in hand.
func (a *actor) kill() {
	a.mu.Lock()
	unheard, again := a.inbox, !a.dead && !a.scheduled
	a.dead, a.inbox = true, nil
	if a.ring != nil {
		a.ring()
	}
	if again {
		a.scheduled = true
		a.h.d.Sched.Go(a.run)
	}
	a.mu.Unlock()
	for _, in := range unheard {
		if leave, ok := in.(inGranted); ok {
			a.h.d.Governor.Leave(leave.provider, nil) // it will not be used
		}
	}
}

// letGo ends what the actor has in hand. Its tree is not its hub's any more, and what comes of it
// is nobody's.
func (a *actor) letGo() {
	if a.callCancel != nil {
		a.callCancel()
	}
	for _, j := range a.working {
		j.cancel()
	}
	for _, cancel := range a.shells {
		cancel()
	}
	if a.timer != nil {
		a.timer()
	}
	a.hands = hands{}
}
