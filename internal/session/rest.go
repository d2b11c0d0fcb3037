package session

import "time"

// rested is called when an actor has nothing more to do for now. The tree may be over.
func (t *tree) rested() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checkOver()
	if t.sleep.rests.Load() {
		t.wakeWaiters()
	}
}

// checkOver has Wait return if the tree is over or lost. Whatever changes what over looks at
// calls it, with mu held.
func (t *tree) checkOver() {
	if t.lost != nil || t.over() {
		t.wakeWaiters()
	}
}

// over reports whether nothing of the tree is at work or about to be. It is called with mu held.
func (t *tree) over() bool {
	if t.live > 0 || t.held > 0 || len(t.waking) > 0 {
		return false
	}
	for _, a := range t.actors {
		if a.hasWork() {
			return false
		}
	}
	return true
}

// others reports whether other sessions than one are at work since before a time, or about to be.
func (t *tree) others(a *actor, before time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waking) > 0 {
		return true
	}
	for _, x := range t.actors {
		if x != a && (x.counted && x.since.Before(before) || !x.counted && x.hasWork()) {
			return true
		}
	}
	return false
}

// hasWork reports whether the actor of a session that has ended still has something before it.
func (a *actor) hasWork() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.dead && (a.scheduled || len(a.inbox) > 0 || a.due)
}

// wakeWaiters is called with mu held.
func (t *tree) wakeWaiters() {
	for _, c := range t.waiters {
		close(c)
	}
	t.waiters = nil
}
