package session

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// claims are the runs of a tree's sessions, as far as agents wait for each other that were started to change certain
// files alone (Beginning.Writes): of two in one folder that may change the same file the later one begins when the
// earlier one has ended, with all below it. They are what the logs say, so after a restart they are as they were.
//
// Nobody waits in a circle. An agent is held to the files of those above it, so it waits only for others whose nearest
// bound ancestor is its own too: for one that has begun, or that was born before and has not. Who has begun waits for
// nobody but its own children, and these for others of its subtree.
type claims struct {
	live    map[troupe.SessionID]bool // those whose run has not ended; true: it has begun
	waiting []*actor
}

// claim begins a session's run, or returns the one that it has to wait for; then it is set to work again when that may
// have changed.
func (l *chain) claim(a *actor) (behind troupe.SessionID, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims.forget(a)
	if behind = l.behind(a.id); behind != "" {
		l.claims.waiting = append(l.claims.waiting, a)
		at := l.layers[behind].gate
		return behind, "waits for " + at.Agent + ", which may change the same files (" + gate.Patterns(at.Writes) + ")"
	}
	l.claims.note(a.id, true)
	return "", ""
}

// unclaim takes it back: there was no slot for the run.
func (l *chain) unclaim(s *troupe.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.claims.live, s.ID); s.Status.Live() {
		l.claims.note(s.ID, false)
	}
	l.claims.retry()
}

// released notes that the run of a session has ended.
func (l *chain) released(a *actor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.claims.live, a.id)
	l.claims.forget(a)
	l.claims.retry()
}

// installed notes a session that was just born, or taken up with its tree.
func (l *chain) installed(s *troupe.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Status.Live() {
		l.claims.note(s.ID, s.Status != troupe.Spawning)
	}
}

func (c *claims) note(id troupe.SessionID, begun bool) {
	if c.live == nil {
		c.live = make(map[troupe.SessionID]bool)
	}
	c.live[id] = begun
}

func (c *claims) forget(a *actor) {
	c.waiting = slices.DeleteFunc(c.waiting, func(x *actor) bool { return x == a })
}

// retry has all who wait look again, in the order in which they came.
func (c *claims) retry() {
	for _, a := range c.waiting {
		a.post(inNudge{})
	}
}

// behind is the session that another one has to wait for before its run begins; "" if it may. It is called with mu
// held.
func (l *chain) behind(id troupe.SessionID) (first troupe.SessionID) {
	for at := id; at != ""; at = l.layers[at].parent {
		own := l.layers[at]
		if own.gate.Writes == nil {
			continue
		}
		for other, o := range l.layers {
			if other == at || o.gate.Writes == nil || o.place != own.place || l.scope(other) != l.scope(at) ||
				first != "" && l.layers[first].order < o.order || !l.before(other, id, at) ||
				!gate.MayMeet(own.gate.Writes, o.gate.Writes) {
				continue
			}
			first = other
		}
	}
	return first
}

// before reports whether another session goes before one that is about to begin: it or one below it is at work, or it
// waits as well and was born before. at is the bound session, it or one above it, that the other one may meet.
func (l *chain) before(other, id, at troupe.SessionID) bool {
	for live, begun := range l.claims.live {
		if begun && l.under(live, other) {
			return true
		}
	}
	_, waits := l.claims.live[other]
	_, spawning := l.claims.live[id]
	return waits && spawning && at == id && l.layers[other].order < l.layers[id].order
}

// under reports whether a session is another one, or below it.
func (l *chain) under(id, top troupe.SessionID) bool {
	for ; id != ""; id = l.layers[id].parent {
		if id == top {
			return true
		}
	}
	return false
}

// scope is the nearest session above one that is bound to certain files; "" if none is.
func (l *chain) scope(id troupe.SessionID) troupe.SessionID {
	for id = l.layers[id].parent; id != "" && l.layers[id].gate.Writes == nil; {
		id = l.layers[id].parent
	}
	return id
}
