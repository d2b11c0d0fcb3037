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
// has an actor; a commit that finds the lease gone ends all that the hub does for that tree,
// with troupe.ErrFenced, until the tree is adopted again.
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
	// Window is how many tokens a call may send before the conversation is shortened; 0 if
	// that is not known.
	Window(full string) int64
}

// Tools is the set of tools of this process.
type Tools interface {
	Specs(names []string) []troupe.Tool
	Runner(name string) (tool.Runner, bool)
	Schedule(name string) turn.Schedule
	// Intent decodes a call that the driver itself carries out; ok is false for every other
	// tool.
	Intent(name, input string) (in troupe.Intent, ok bool, err error)
}

// Profiles resolves the roles of children, of every tree of this process.
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
	// Sleep lets others go on until ctx is over, but for no longer than d.
	Sleep(ctx context.Context, d time.Duration)
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

	Environ []string                                   // of commands that tools start
	Log     *slog.Logger                               // for --debug
	Home    string                                     // anchors ~/ in rules
	Mask    func(string) string                        // takes secrets out of tool output
	Masked  func(string) bool                          // whether text holds what Mask put there
	Notify  func(root, id troupe.SessionID, seq int64) // after each commit; must not block
	Deltas  func(root, id troupe.SessionID, d Delta)   // pieces of replies; must not block

	// Guard confines commands; nil: nothing can be confined.
	Guard Guard
	// Ask has a small model answer a question about a text for a session; nil: there is none.
	Ask func(ctx context.Context, s troupe.Session, question, text string) (answer string, used troupe.Usage, cost troupe.Money, err error)

	Governor Governor // nil: every call goes at once
	// AskFor is how long a request of a tree waits for an answer; 0: nobody is there to give
	// one, and it is denied at once.
	AskFor func(root troupe.SessionID) time.Duration
	// Fallback is the model a tree goes on with when a session's own is not to be had.
	Fallback func(root troupe.SessionID) string
	// Keep stores what files of a tree held before they were changed.
	Keep func(root troupe.SessionID, content []byte) (hash string, err error)
	// SaveResult keeps the final words of a child in a file that its parent may read.
	SaveResult func(file, text string) error
	// Replay, if set, has sessions do as they did when a run was recorded; failed calls are
	// then made again at once.
	Replay Replay
}

// Delta is a piece of a reply on its way: part of the reply that ends after event After of the
// session. No counts the pieces of one call from 1.
type Delta struct {
	model.Delta

	After, No int64
}

// Replay knows from a recording what depends on when things happened.
type Replay interface {
	// Order picks the mail that a session may read before it asks for a reply, and holds it
	// until all of that is there. Open: calls of the reply before have no result yet.
	Order(s troupe.Session, reply int, open bool, unread []troupe.Mail) (now []troupe.Mail, hold bool)
	// Ready reports whether what a call found when it began has come to be.
	Ready(id troupe.SessionID, at troupe.Coord) bool
	// Reads is the mail that a call took its result from at once; ok is false if nothing is
	// known of it.
	Reads(id troupe.SessionID, at troupe.Coord) (mail troupe.MailID, ok bool)
	// Cut reports whether a call that waits went on without what it waited for.
	Cut(id troupe.SessionID, at troupe.Coord) bool
	// Answer is what somebody said when they were asked about a call.
	Answer(id troupe.SessionID, at troupe.Coord) (troupe.Answer, bool)
}

// Hub holds the actors of one process.
type Hub struct {
	d Deps

	mu      sync.Mutex
	actors  map[troupe.SessionID]*actor
	layers  map[troupe.SessionID]layer
	queued  map[troupe.SessionID][]*actor // by root; Spawning sessions in order of arrival
	short   map[troupe.SessionID][]*actor // by root; sessions whose next call found no room in the limits
	loading map[troupe.SessionID]*waking  // sessions that mail has woken, or that are being born
	taking  map[troupe.SessionID]*waking  // by root; trees that are being taken over
	live    map[troupe.SessionID]int      // by root; sessions that have not ended
	waiters map[troupe.SessionID][]chan struct{}
	caps    map[troupe.SessionID]troupe.Caps // by root
	heads   map[string][]byte                // encoded heads, shared by sessions of one kind
	awaited map[troupe.SessionID]bool        // children whose ends are the results of their parents' calls
	around  surroundings
	order   int64
	lost    map[troupe.SessionID]error // by root; why the hub has given a tree up
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
		d.Notify = func(troupe.SessionID, troupe.SessionID, int64) {}
	}
	if d.Guard == nil {
		d.Guard = unguarded{}
	}
	if d.Governor == nil {
		d.Governor = free{}
	}
	if d.AskFor == nil {
		d.AskFor = func(troupe.SessionID) time.Duration { return 0 }
	}
	return &Hub{
		d:       d,
		around:  surroundings{look: d.Environment, now: d.Now},
		actors:  make(map[troupe.SessionID]*actor),
		layers:  make(map[troupe.SessionID]layer),
		queued:  make(map[troupe.SessionID][]*actor),
		short:   make(map[troupe.SessionID][]*actor),
		loading: make(map[troupe.SessionID]*waking),
		taking:  make(map[troupe.SessionID]*waking),
		live:    make(map[troupe.SessionID]int),
		waiters: make(map[troupe.SessionID][]chan struct{}),
		caps:    make(map[troupe.SessionID]troupe.Caps),
		heads:   make(map[string][]byte),
		awaited: make(map[troupe.SessionID]bool),
		lost:    make(map[troupe.SessionID]error),
	}
}

// add gives a session an actor. It does not run until something is posted to it, nor if the
// hub has given its tree up.
func (h *Hub) add(a *actor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.install(a)
}

// install is add for those who hold h.mu.
func (h *Hub) install(a *actor) {
	h.order++
	a.order = h.order
	if h.lost[a.root] != nil {
		a.dead = true
		return
	}
	h.actors[a.id] = a
	h.setLayer(&a.st)
	if a.st.Session.Status.Live() {
		h.live[a.root]++
		a.counted, a.since = true, h.d.Now()
	}
}

// has reports whether an actor is the one of its session: its tree may have been given up, and
// adopted again, while it was at work. It is called with h.mu held.
func (h *Hub) has(a *actor) bool { return h.actors[a.id] == a }

// place gives a session its place in the line of authority, as it is now.
func (h *Hub) place(st *turn.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setLayer(st)
}

// setLayer is called with h.mu held.
func (h *Hub) setLayer(st *turn.State) {
	path := st.Session.Name
	if path == "" {
		path = "main"
	}
	if up, ok := h.layers[st.Session.Parent]; ok {
		path = up.gate.Agent + "/" + path
	}
	h.layers[st.Session.ID] = layer{parent: st.Session.Parent, gate: gate.LayerOf(path, st.Profile, st.Authority, h.caps[st.Session.Root].MaxDepth > st.Session.Depth, st.Background)}
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

// enqueue remembers a session that found no active slot.
func (h *Hub) enqueue(a *actor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.has(a) {
		return
	}
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

// enqueueShort remembers a session whose call may not fit into the tree's limits now.
func (h *Hub) enqueueShort(a *actor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.has(a) && !slices.Contains(h.short[a.root], a) {
		h.short[a.root] = append(h.short[a.root], a)
	}
}

func (h *Hub) dequeueShort(a *actor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.short[a.root] = slices.DeleteFunc(h.short[a.root], func(x *actor) bool { return x == a })
}

// relieve lets the sessions try again whose calls found no room: a call has ended.
func (h *Hub) relieve(root troupe.SessionID) {
	h.mu.Lock()
	all := slices.Clone(h.short[root])
	h.mu.Unlock()
	for _, a := range all {
		a.post(inNudge{})
	}
}

func (h *Hub) setCaps(root troupe.SessionID, c troupe.Caps) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.caps[root] = c
}

// askAbove is the money above which starting agents is asked about.
func (h *Hub) askAbove(root troupe.SessionID) troupe.Money {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.caps[root].AskAbove
}

// metered reports whether a tree has limits that each model call counts against.
func (h *Hub) metered(root troupe.SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.caps[root]
	return c.MaxTokens > 0 || c.MaxCost > 0 || c.MaxTurns > 0
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
	if !h.has(a) {
		return
	}
	switch {
	case live && !a.counted:
		h.live[a.root]++
		a.since = a.st.Session.StartedAt
	case !live && a.counted:
		h.live[a.root]--
	}
	a.counted = live
	if !live {
		h.queued[a.root] = slices.DeleteFunc(h.queued[a.root], func(x *actor) bool { return x == a })
	}
	if !live && a.st.Session.Parent != "" && a.retire() {
		// Whoever needs it again loads it from the log. Its place in the line of authority
		// stays: there may be children in the background.
		delete(h.actors, a.id)
	}
}

// retire has an actor that has nothing to do forget that it is there. It is called with h.mu
// held, and so is whatever posts mail, so that nothing is posted to an actor that is gone.
func (a *actor) retire() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.inbox) > 0 || a.due {
		return false
	}
	a.dead = true
	return true
}
