package session

import (
	"maps"
	"slices"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/turn"
)

// tree is what the sessions of one hosted tree share. It comes when the tree is taken up and
// goes when it is left. A tree that was lost keeps nothing but the reason, until it is adopted
// again or left. Methods that say so are called with mu held.
type tree struct {
	h    *Hub
	root troupe.SessionID

	mu      sync.Mutex
	up      bool  // it was taken up, and neither lost nor left since
	held    int   // calls of the hub's that are at it: it cannot be left meanwhile
	lost    error // why it was given up
	taking  *takeover
	actors  map[troupe.SessionID]*actor
	order   int64 // of the last actor
	layers  map[troupe.SessionID]layer
	queued  []*actor                      // Spawning sessions in order of arrival
	short   []*actor                      // sessions whose next call found no room in the limits
	pending map[troupe.SessionID]*mailbag // sessions that mail has woken, or that are being born
	awaited map[troupe.SessionID]bool     // children whose ends are the results of their parents' calls
	live    int                           // sessions that have not ended
	waiters []chan struct{}
	caps    troupe.Caps
	looking bool // for mail, before long
}

// layer is one session's place in the line of authority.
type layer struct {
	parent troupe.SessionID
	gate   gate.Layer
}

func newTree(h *Hub, root troupe.SessionID) *tree {
	return &tree{
		h: h, root: root, actors: make(map[troupe.SessionID]*actor), layers: make(map[troupe.SessionID]layer),
		pending: make(map[troupe.SessionID]*mailbag), awaited: make(map[troupe.SessionID]bool),
	}
}

// hold keeps the tree from being left until the hub's unhold.
func (t *tree) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held++
}

// add gives a session an actor. It does not run until something is posted to it, nor if the
// tree was lost.
func (t *tree) add(a *actor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.install(a)
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
	t.place(&a.st)
	if a.st.Session.Status.Live() {
		t.live++
		a.counted, a.since = true, t.h.d.Now()
	}
}

// has reports whether an actor is the one of its session: the tree may have been lost, and
// adopted again, while it was at work. It is called with mu held.
func (t *tree) has(a *actor) bool { return t.actors[a.id] == a }

// place gives a session its place in the line of authority, as it is now. It is called with mu
// held.
func (t *tree) place(st *turn.State) {
	path := st.Session.Name
	if path == "" {
		path = "main"
	}
	if up, ok := t.layers[st.Session.Parent]; ok {
		path = up.gate.Agent + "/" + path
	}
	t.layers[st.Session.ID] = layer{
		parent: st.Session.Parent,
		gate:   gate.LayerOf(path, st.Profile, st.Authority, t.caps.MaxDepth > st.Session.Depth, st.Background),
	}
}

// chain is the line of authority down to a session, the root first. A session without a
// mode of its own works in its parent's, whatever that is by now. If any ancestor is not
// known the chain is empty, which the gate denies: half a line would be too much authority.
func (t *tree) chain(id troupe.SessionID) []gate.Layer {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []gate.Layer
	for {
		l, ok := t.layers[id]
		if !ok {
			return nil
		}
		out = append(out, l.gate)
		if id = l.parent; id == "" {
			break
		}
	}
	slices.Reverse(out)
	for i := 1; i < len(out); i++ {
		if out[i].Mode == "" {
			out[i].Mode = out[i-1].Mode
		}
	}
	return out
}

// path is a session's name with those of its ancestors: "main/Auth Explorer".
func (t *tree) path(id troupe.SessionID) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.layers[id].gate.Agent
}

// granted has a session's authority count for all below it, and every session of the tree look
// at its open requests again.
func (t *tree) granted(st *turn.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place(st)
	// Always in the same order, or a run of the simulation could not be played again.
	for _, id := range slices.Sorted(maps.Keys(t.actors)) {
		t.actors[id].post(inRules{})
	}
}

// enqueue remembers a session that found no active slot.
func (t *tree) enqueue(a *actor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(a) {
		return
	}
	at, found := slices.BinarySearchFunc(t.queued, a.order, func(x *actor, o int64) int { return int(x.order - o) })
	if !found {
		t.queued = slices.Insert(t.queued, at, a)
	}
}

// dequeue takes out a session that was admitted. If it is not there any more, it was told of
// a free slot while it got one by itself; that slot is for another one to try.
func (t *tree) dequeue(a *actor) {
	t.mu.Lock()
	i := slices.Index(t.queued, a)
	if i >= 0 {
		t.queued = slices.Delete(t.queued, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 && a.st.Session.Depth > 0 {
		t.release(1)
	}
}

// release lets up to n queued sessions try again for a slot.
func (t *tree) release(n int) {
	t.mu.Lock()
	n = min(n, len(t.queued))
	first := slices.Clone(t.queued[:n])
	t.queued = slices.Delete(t.queued, 0, n)
	t.mu.Unlock()
	for _, a := range first {
		a.post(inNudge{})
	}
}

// enqueueShort remembers a session whose call may not fit into the tree's limits now.
func (t *tree) enqueueShort(a *actor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has(a) && !slices.Contains(t.short, a) {
		t.short = append(t.short, a)
	}
}

func (t *tree) dequeueShort(a *actor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.short = slices.DeleteFunc(t.short, func(x *actor) bool { return x == a })
}

// retryShort lets the sessions try again whose calls found no room: a call has ended.
func (t *tree) retryShort() {
	t.mu.Lock()
	all := slices.Clone(t.short)
	t.mu.Unlock()
	for _, a := range all {
		a.post(inNudge{})
	}
}

// limits are the tree's caps as they are now.
func (t *tree) limits() troupe.Caps {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.caps
}

// await notes whether the end of a child will be the result of its parent's call.
func (t *tree) await(child troupe.SessionID, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if yes {
		t.awaited[child] = true
	} else {
		delete(t.awaited, child)
	}
}

// arrived reports whether a child was waited for when it came to its end.
func (t *tree) arrived(child troupe.SessionID) (awaited bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	awaited = t.awaited[child]
	delete(t.awaited, child)
	return awaited
}

// move has a child that its parent waits for go on in the background.
func (t *tree) move(child troupe.SessionID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.layers[child]
	a := t.actors[l.parent]
	if !ok || a == nil {
		return false
	}
	a.post(inMove{child})
	return true
}

// settled is called by an actor that has committed a change between live and ended.
func (t *tree) settled(a *actor) {
	live := a.st.Session.Status.Live()
	if !live {
		// It may have been the one that was told of a free slot, and will not use it.
		defer t.release(1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has(a) {
		return
	}
	switch {
	case live && !a.counted:
		t.live++
		a.since = a.st.Session.StartedAt
	case !live && a.counted:
		t.live--
	}
	a.counted = live
	if !live {
		t.queued = slices.DeleteFunc(t.queued, func(x *actor) bool { return x == a })
	}
	if !live && a.st.Session.Parent != "" && a.retire() {
		// What needs it again loads it from the log. Its place in the line of authority
		// stays: there may be children in the background.
		delete(t.actors, a.id)
	}
}

// retire has an actor that has nothing to do forget that it is there. It is called with the
// tree's mu held, and so is whatever posts mail, so that nothing is posted to an actor that is
// gone.
func (a *actor) retire() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.inbox) > 0 || a.due {
		return false
	}
	a.dead = true
	return true
}
