// Package session drives sessions: it carries out what package turn decides and logs what
// happened.
//
// Each live session has an actor. An actor's state is touched by one goroutine at a time;
// everybody else only posts inputs to it. It takes a goroutine while it has inputs and gives
// it back when it has none, so a waiting session costs its memory and nothing else.
//
// Ordering: events of a session are logged in the order its actor makes them. They are
// staged in memory and committed together before anything that others can see depends on
// them: before a model call, before a call with effects, before an end is told, and always
// before the actor parks. Ownership: the hub's owner holds the lease of every session that
// has an actor; a commit that finds the lease gone ends the hub with troupe.ErrFenced.
// Backpressure: actors wait for their commits, so a slow disk slows the agents. Shutdown:
// cancel the scheduler's context; what was not committed had not happened.
package session

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Models finds what a full model name ("provider/id") stands for.
type Models interface {
	// Provider returns the provider and its own id of the model. An error is for people.
	Provider(full string) (p model.Provider, id string, err error)
	// Cost prices one request; priced is false if the model's price is not known.
	Cost(full string, u troupe.Usage) (cost troupe.Money, priced bool)
	MaxOutput(full string) int
}

// Tools is the set of tools of this process.
type Tools interface {
	Specs(names []string) []troupe.Tool
	Runner(name string) (tool.Runner, bool)
	Schedule(name string) turn.Schedule
	// Spawn decodes a call that asks for a birth.
	Spawn(input string) (troupe.Spawn, error)
}

// Profiles resolves the role of a child.
type Profiles interface {
	// Resolve makes the profile that a child of parent is born with. A profile without a
	// mode works in its parent's, whatever that is at the time.
	Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error)
}

// Scheduler runs what actors ask for: on goroutines in a live process, one thing at a time
// in an order drawn from a seed in the simulation.
type Scheduler interface {
	Go(fn func(ctx context.Context))
	After(d time.Duration, fn func()) (cancel func())
}

// Deps is what a hub needs. All fields are required except the last group.
type Deps struct {
	Store    store.Store
	Owner    troupe.OwnerID
	Models   Models
	Tools    Tools
	Profiles Profiles
	Sched    Scheduler
	Now      func() time.Time
	Policy   turn.Policy
	// Environment describes a folder to a session that begins there, as one block of text.
	Environment func(cwd string) string
	// OutputDir is where a session's tools may put output too large to return.
	OutputDir func(troupe.SessionID) string

	Environ []string                                 // of commands that tools start
	Log     *slog.Logger                             // for --debug
	Home    string                                   // anchors ~/ in rules
	Mask    func(string) string                      // takes secrets out of tool output
	Masked  func(string) bool                        // whether text holds what Mask put there
	Notify  func(id troupe.SessionID, seq int64)     // after each commit; must not block
	Deltas  func(id troupe.SessionID, d model.Delta) // pieces of replies; must not block
}

// Hub holds the actors of one process.
type Hub struct {
	d Deps

	mu      sync.Mutex
	actors  map[troupe.SessionID]*actor
	layers  map[troupe.SessionID]layer
	queued  map[troupe.SessionID][]*actor // by root; Spawning sessions in order of arrival
	live    map[troupe.SessionID]int      // by root; sessions that have not ended
	waiters map[troupe.SessionID][]chan struct{}
	caps    map[troupe.SessionID]troupe.Caps // by root
	heads   map[string][]byte                // encoded heads, shared by sessions of one kind
	order   int64
	failure error
}

// layer is one session's place in the line of authority.
type layer struct {
	parent troupe.SessionID
	gate   gate.Layer
}

// New makes an empty hub.
func New(d Deps) *Hub {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Mask == nil {
		d.Mask = func(s string) string { return s }
	}
	if d.Masked == nil {
		d.Masked = func(string) bool { return false }
	}
	if d.Notify == nil {
		d.Notify = func(troupe.SessionID, int64) {}
	}
	return &Hub{
		d:       d,
		actors:  make(map[troupe.SessionID]*actor),
		layers:  make(map[troupe.SessionID]layer),
		queued:  make(map[troupe.SessionID][]*actor),
		live:    make(map[troupe.SessionID]int),
		waiters: make(map[troupe.SessionID][]chan struct{}),
		caps:    make(map[troupe.SessionID]troupe.Caps),
		heads:   make(map[string][]byte),
	}
}

// add gives a session an actor. It does not run until something is posted to it, nor if the
// hub has failed.
func (h *Hub) add(a *actor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order++
	a.order = h.order
	h.actors[a.id] = a
	h.setLayer(a)
	if a.st.Session.Status.Live() {
		h.live[a.root]++
		a.counted = true
	}
	a.dead = h.failure != nil
}

// setLayer is called with h.mu held.
func (h *Hub) setLayer(a *actor) {
	path := a.st.Session.Name
	if path == "" {
		path = "main"
	}
	if up, ok := h.layers[a.st.Session.Parent]; ok {
		path = up.gate.Agent + "/" + path
	}
	l := gate.Layer{Agent: path, Mode: a.st.Authority.Mode, Offered: a.st.Profile.Tools}
	for _, r := range a.st.Authority.Rules {
		// What is wrong with a rule was said when it was given; what remains of it is safe.
		rule, _ := gate.ParseRule(r) // a malformed rule comes back as its safe reading
		l.Rules = append(l.Rules, rule)
	}
	h.layers[a.id] = layer{parent: a.st.Session.Parent, gate: l}
}

// chain is the line of authority down to a session, the root first. A session without a
// mode of its own works in its parent's, whatever that is by now. If any ancestor is not
// known the chain is empty, which the gate denies: half a line would be too much authority.
func (h *Hub) chain(id troupe.SessionID) []gate.Layer {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []gate.Layer
	for {
		l, ok := h.layers[id]
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

// Path is a session's name with those of its ancestors: "main/Auth Explorer".
func (h *Hub) Path(id troupe.SessionID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.layers[id].gate.Agent
}

func (h *Hub) post(id troupe.SessionID, in input) {
	h.mu.Lock()
	a := h.actors[id]
	h.mu.Unlock()
	if a != nil {
		a.post(in)
	}
}

// Stop ends the run of a session and of its children. What they had is kept, and each of
// them can be resumed.
func (h *Hub) Stop(id troupe.SessionID) { h.post(id, inStop{}) }

// enqueue remembers a session that found no active slot.
func (h *Hub) enqueue(a *actor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queued[a.root]
	at, found := slices.BinarySearchFunc(q, a.order, func(x *actor, o int64) int { return int(x.order - o) })
	if !found {
		h.queued[a.root] = slices.Insert(q, at, a)
	}
}

// dequeue takes out a session that was admitted. If it is not there any more, it was told of
// a free slot while it got one by itself; that slot is somebody else's to try.
func (h *Hub) dequeue(a *actor) {
	h.mu.Lock()
	q := h.queued[a.root]
	i := slices.Index(q, a)
	if i >= 0 {
		h.queued[a.root] = slices.Delete(q, i, i+1)
	}
	h.mu.Unlock()
	if i < 0 && a.st.Session.Depth > 0 {
		h.release(a.root, 1)
	}
}

// release lets up to n queued sessions of a tree try again for a slot.
func (h *Hub) release(root troupe.SessionID, n int) {
	h.mu.Lock()
	q := h.queued[root]
	n = min(n, len(q))
	first := slices.Clone(q[:n])
	h.queued[root] = slices.Delete(q, 0, n)
	h.mu.Unlock()
	for _, a := range first {
		a.post(inNudge{})
	}
}

func (h *Hub) setCaps(root troupe.SessionID, c troupe.Caps) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.caps[root] = c
}

// metered reports whether a tree has limits that each model call counts against.
func (h *Hub) metered(root troupe.SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.caps[root]
	return c.MaxTokens > 0 || c.MaxCost > 0
}

// settled is called by an actor that has committed a change between live and ended.
func (h *Hub) settled(a *actor) {
	live := a.st.Session.Status.Live()
	if !live {
		// It may have been the one that was told of a free slot, and will not use it.
		defer h.release(a.root, 1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case live && !a.counted:
		h.live[a.root]++
	case !live && a.counted:
		h.live[a.root]--
	}
	a.counted = live
	if !live {
		h.queued[a.root] = slices.DeleteFunc(h.queued[a.root], func(x *actor) bool { return x == a })
	}
	if !live && a.st.Session.Parent != "" {
		// Whoever needs it again loads it from the log.
		delete(h.actors, a.id)
		delete(h.layers, a.id)
	}
	if h.live[a.root] == 0 {
		h.wakeWaiters(a.root)
	}
}

// wakeWaiters is called with h.mu held.
func (h *Hub) wakeWaiters(root troupe.SessionID) {
	for _, c := range h.waiters[root] {
		close(c)
	}
	delete(h.waiters, root)
}

// Wait returns when every session of the tree has ended, or with the error that stopped
// the hub.
func (h *Hub) Wait(ctx context.Context, root troupe.SessionID) error {
	for {
		h.mu.Lock()
		if h.failure != nil || h.live[root] == 0 {
			defer h.mu.Unlock()
			return h.failure
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

// fail stops the hub for good: a log could not be written, or is not ours any more.
func (h *Hub) fail(err error) {
	h.mu.Lock()
	if h.failure == nil {
		h.failure = err
	}
	actors := make([]*actor, 0, len(h.actors))
	for _, a := range h.actors {
		actors = append(actors, a)
	}
	for root := range h.waiters {
		h.wakeWaiters(root)
	}
	h.mu.Unlock()
	for _, a := range actors {
		a.kill()
	}
}
