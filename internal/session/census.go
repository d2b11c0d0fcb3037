package session

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Phase is what a session is at.
type Phase struct {
	Status  troupe.Status
	Waiting troupe.WaitReason
}

// Census is what a hub has in hand: how many sessions are at what, and how many requests of theirs are open.
type Census struct {
	Sessions map[Phase]int
	Requests int
}

// Count takes a census. It looks at what the sessions have last committed, and waits for none.
func Count(h *Hub) Census {
	c := Census{Sessions: make(map[Phase]int)}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.trees {
		t.mu.Lock()
		for _, a := range t.actors {
			if s := a.seen.Load(); s != nil {
				c.Sessions[s.Phase]++
				c.Requests += s.requests
			}
		}
		t.mu.Unlock()
	}
	return c
}

// seen is what others see of an actor.
type seen struct {
	Phase

	requests int // that are open
}

// show has others see what the actor is at, after a commit of these events; nil: whatever they are.
func show(a *actor, events []troupe.Event) {
	st := &a.st
	now := seen{Phase: Phase{st.Session.Status, st.Session.Waiting}}
	was := a.seen.Load()
	if was != nil && !slices.ContainsFunc(events, func(e troupe.Event) bool {
		k := e.Body.Kind()
		return k == troupe.KindRequestOpened || k == troupe.KindRequestAnswered || k == troupe.KindEnded
	}) {
		now.requests = was.requests
	} else {
		now.requests = len(turn.Open(st))
	}
	if was == nil || *was != now {
		a.seen.Store(&now)
	}
}
