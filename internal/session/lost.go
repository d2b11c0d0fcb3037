package session

import (
	"cmp"
	"maps"
	"slices"
)

// fail gives the tree of an actor up: its log could not be written, or is not ours any more.
func (t *tree) fail(a *actor, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has(a) {
		t.lose(err)
	} else {
		a.kill()
	}
}

// lose ends all that is done for the tree, until it is adopted again. Who waits for it, or
// sends to it, is told why: of one that is being put away once that is done, since a commit that comes behind it finds
// the tree fenced that is asleep. It is called with mu held.
func (t *tree) lose(err error) {
	t.drop()
	t.lost = err
	t.wakeWaiters()
}

// inOrder are the actors in the order in which they came. It is called with mu held.
func inOrder(t *tree) []*actor {
	return slices.SortedFunc(maps.Values(t.actors), func(a, b *actor) int { return cmp.Compare(a.order, b.order) })
}

// drop makes the actors deaf and forgets them, with all that was under way. It is called with mu held.
func (t *tree) drop() {
	for _, a := range inOrder(t) {
		a.kill()
	}
	clear(t.actors)
	clear(t.waking)
	clear(t.awaited)
	t.chain.clear()
	t.slots.clear()
	t.up, t.live = false, 0
	atWork(t)
	t.roles.close(t.h)
}

// given is the error for which the tree was lost, unless it is just being adopted again.
func (t *tree) given() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.adoption != nil {
		return nil
	}
	return t.lost
}

// gone reports whether the actor is not its session's any more.
func (a *actor) gone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dead
}

// kill makes the actor deaf, and has it let go of what it has under way.
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
		switch in := in.(type) {
		case inGranted:
			a.h.d.Governor.Leave(in.provider, nil) // it will not be used
		case inJudged:
			in.judged.leaveTurn()
		}
	}
}

// letGo ends what the actor has under way. Its tree is not its hub's any more, and what comes of it
// is nobody's.
func (a *actor) letGo() {
	if a.exchange.callCancel != nil {
		a.exchange.callCancel()
	}
	for _, j := range a.calls.working {
		j.cancel()
	}
	for _, j := range a.calls.ready {
		j.leaveTurn()
	}
	for _, cancel := range a.tasks.own {
		cancel()
	}
	if a.place.cancel != nil {
		a.place.cancel()
	}
	a.place.back.leave()
	if a.handing.cancel != nil {
		a.handing.cancel()
	}
	a.hooks.last = false
	a.hooks.end()
	if a.timer != nil {
		a.timer()
	}
	// Each field and not the parts whole: what is under way still reads who they belong to.
	a.exchange.callCancel, a.exchange.start, a.exchange.enter = nil, nil, nil
	a.calls.working, a.calls.ready, a.calls.now = nil, nil, nil
	a.tasks.own, a.tasks.told, a.hearing.monitors, a.hearing.ends = nil, nil, nil, nil
	a.timer, a.begun, a.hooks.cancel, a.hooks.over = nil, false, nil, nil
}
