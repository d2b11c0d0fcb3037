package session

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// tree is what the sessions of one hosted tree share. It comes when the tree is taken up and
// goes when it is left. A tree that was lost keeps nothing but the reason, until it is adopted
// again or left. Methods that say so are called with mu held.
type tree struct {
	h    *Hub
	root troupe.SessionID

	mu       sync.Mutex
	up       bool  // it was taken up, and neither lost nor left since
	held     int   // calls of the hub's that are at it: it cannot be left meanwhile
	lost     error // why it was given up
	adoption *adoption
	actors   map[troupe.SessionID]*actor
	order    int64 // of the last actor
	chain    chain
	slots    slots
	waking   map[troupe.SessionID]*heldMail // sessions that mail has woken, or that are being born
	awaited  map[troupe.SessionID]bool      // children whose ends are the results of their parents' calls
	live     int                            // sessions that have not ended
	waiters  []chan struct{}
	caps     troupe.Caps
	run      troupe.Settings
	roles    treeRoles
	origins  origins
	marks
}

// marks are what is under way for a tree, or was done.
type marks struct {
	waits   map[boxed]bool // mail that was unread at the last pulse
	pulsing bool           // a pulse is on its way
	parted  bool           // hooks were told that the tree is left
	since   time.Time      // it was taken up
	top     troupe.Session // the root as it last came, began or ended: others than its actor may look at it
	fresh   freshTypes
	beside  map[*beside]bool // hooks that run and nothing waits for
	// longWait keeps hooks from being told that a person is waited for; nil: none is.
	longWait func()
	sleep    sleeping
}

func newTree(h *Hub, root troupe.SessionID) *tree {
	return &tree{
		h: h, root: root, chain: chain{gate: h.gate, home: h.d.Home}, actors: make(map[troupe.SessionID]*actor),
		waking: make(map[troupe.SessionID]*heldMail), awaited: make(map[troupe.SessionID]bool),
	}
}

// hold keeps the tree from being left until the hub's unhold.
func (t *tree) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held++
}

// add gives a newborn session its actor. It does not run until something is posted to it, nor if the tree was lost. It
// is false if the session has one: the tree was lost and adopted again since it was born.
func (t *tree) add(a *actor) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.actors[a.id] != nil {
		return false
	}
	t.install(a)
	t.fresh.born(a.id)
	return true
}

// install is add with mu held.
func (t *tree) install(a *actor) {
	t.order++
	a.order = t.order
	if t.lost != nil {
		a.dead = true
		return
	}
	t.actors[a.id] = a
	if a.id == t.root {
		t.top = a.st.Session
	}
	t.chain.set(&a.st, t.caps)
	t.chain.installed(&a.st.Session)
	if a.st.Session.Status.Live() {
		t.live++
		a.counted, a.since = true, t.h.d.Now()
	}
}

// has reports whether an actor is the one of its session: the tree may have been lost, and
// adopted again, while it was at work. It is called with mu held.
func (t *tree) has(a *actor) bool { return t.actors[a.id] == a }

// granted has a session's authority count for all below it, and every session of the tree look
// at its open requests again.
func (t *tree) granted(st *turn.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.chain.set(st, t.caps)
	// Always in the same order, or a run of the simulation could not be played again.
	for _, id := range slices.Sorted(maps.Keys(t.actors)) {
		t.actors[id].post(inAuthorityChanged{})
	}
}

// upSince is when this process took the tree up.
func upSince(t *tree) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since
}

// limits are the tree's caps as they are now.
func (t *tree) limits() troupe.Caps {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.caps
}

// settings are what the run was started with.
func (t *tree) settings() troupe.Settings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.run
}

// kinds are the types of agents that may be born.
func (t *tree) kinds() Roles {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.roles.Roles
}

// setAwaited notes whether the end of a child will be the result of its parent's call.
func (t *tree) setAwaited(child troupe.SessionID, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if yes {
		t.awaited[child] = true
	} else {
		delete(t.awaited, child)
	}
}

// takeAwaited reports whether a child was waited for when it came to its end.
func (t *tree) takeAwaited(child troupe.SessionID) (awaited bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	awaited = t.awaited[child]
	delete(t.awaited, child)
	return awaited
}

// move has a child that its parent waits for go on in the background; of the main agent, all that it waits for.
func (t *tree) move(in inMove) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.chain.parent(in.child)
	if in.child == t.root {
		at = t.root
	}
	a := t.actors[at]
	if a == nil {
		return false
	}
	return a.post(in)
}

// settled is called by an actor that has committed a change between live and ended.
func (t *tree) settled(a *actor) {
	live := a.st.Session.Status.Live()
	if !live {
		// It may have been the one that was told of a free slot, and will not use it.
		defer t.slots.release(1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(a) {
		return
	}
	if a.id == t.root {
		t.top = a.st.Session
	}
	if !live && t.roles.own != nil {
		t.roles.own.Ended(a.id)
	}
	switch {
	case live && !a.counted:
		t.live, t.parted = t.live+1, false
		atWork(t)
		a.since = a.st.Session.StartedAt
	case !live && a.counted:
		if t.live--; t.live == 0 {
			awaitPerson(t)
		}
	}
	a.counted = live
	if !live {
		t.slots.remove(a)
		t.slots.leaveBudgetQueue(a)
		t.chain.released(a)
	}
	if !live && a.st.Session.Parent != "" && a.retire() {
		// What needs it again loads it from the log. Its place in the line of authority
		// stays: there may be children in the background.
		delete(t.actors, a.id)
	}
}

// retire has an actor that has nothing to do forget that it is there. It is called with the tree's mu held, and so is
// whatever posts mail, so that nothing is posted to an actor that is gone.
func (a *actor) retire() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.inbox) > 0 || a.due {
		return false
	}
	a.dead = true
	return true
}
