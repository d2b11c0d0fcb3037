// Package session drives sessions: it carries out what package turn decides and logs what happened.
//
// Each live session has an actor. An actor's state is touched by one goroutine at a time;
// everybody else only posts inputs to it. It takes a goroutine while it has inputs and gives
// it back when it has none, so a waiting session costs its memory and nothing else.
//
// Ordering: events of a session are logged in the order its actor makes them. They are
// staged in memory and committed together before anything that others can see depends on
// them: before a model call, before a call with effects, before an end is told, and always
// before the actor parks. Ownership: the hub's owner holds the lease of every session that
// has an actor; a commit, or a look once a second, that finds the lease gone ends all that the hub
// does for that tree, with troupe.ErrFenced, until the tree is adopted again.
// Backpressure: actors wait for their commits, so a slow disk slows the agents. Shutdown:
// cancel the scheduler's context; what was not committed had not happened.
package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/handoff"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
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
	// Effort is the level that the model is asked for where this one is wished; "": none is named.
	Effort(full string, wished troupe.Effort) troupe.Effort
}

// Profiles reads what a tree keeps of the types of agents that hold in it.
type Profiles interface {
	// Open reads definitions as they were given to Begin or Adopt; nil if none were kept.
	Open(definitions []byte) (Roles, error)
}

// Roles knows the roles of children of one tree.
type Roles interface {
	// Resolve makes the profile that a child of parent is born with. A profile without a
	// mode works in its parent's, whatever that is at the time.
	Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error)
	// Describe lists the types of agents that may be started, for a session's brief, in at most room bytes.
	Describe(v troupe.Vocabulary, allowed func(kind string) bool, room int) string
	// Workers lists the tools of those types, for the brief of a coordinator.
	Workers(allowed func(kind string) bool) string
	// Fork is the profile of a fork of a session with the profile of.
	Fork(of troupe.Profile, sp troupe.Spawn) troupe.Profile
}

// Scheduler runs what actors ask for: on goroutines in a live process, one thing at a time
// in an order drawn from a seed in the simulation.
type Scheduler interface {
	Go(fn func(ctx context.Context))
	After(d time.Duration, fn func()) (cancel func())
	// Sleep lets others go on until ctx is over, but for no longer than d.
	Sleep(ctx context.Context, d time.Duration)
}

// Notify announces that the log of a session goes up to event seq, and what the commit brought to it; nil if
// that has to be read. The events are shared from then on, and do not change.
type Notify func(root, id troupe.SessionID, seq int64, events []troupe.Event)

// Deps is what a hub needs. A field that may be nil says what that means.
type Deps struct {
	Store    store.Store
	Owner    troupe.OwnerID
	Models   Models
	Tools    tool.Set
	Profiles Profiles
	// Workspaces makes the folders of those that do not work where their parent does; nil: all do.
	Workspaces Workspaces

	Sched Scheduler
	Now   func() time.Time
	// Environment describes a folder to a session that begins there.
	Environment func(cwd string) Surroundings
	// About finds the instructions for a file that a session in the folder cwd has read or written; nil: there are
	// none.
	About func(cwd, file string) []Instruction
	// OutputDir is where a session's tools may put output too large to return.
	OutputDir func(troupe.SessionID) string

	// Scratchpads are the folders that the agents of a tree share; nil: they share none.
	Scratchpads Scratchpads
	// Readable are folders besides that every session may read.
	Readable []string

	Environ []string                                 // of commands that tools start
	Log     *slog.Logger                             // for --debug
	Home    string                                   // anchors ~/ in rules
	Mask    func(string) string                      // takes secrets out of tool output
	Masked  func(string) bool                        // whether text holds what Mask put there
	Notify  Notify                                   // after each commit; must not block
	Deltas  func(root, id troupe.SessionID, d Delta) // pieces of replies; must not block

	// Guard confines commands; nil: nothing can be confined.
	Guard Guard
	// Judge is set by tests alone; nil: rules and hooks judge.
	Judge Judge
	// Auto is the model of mode auto; nil: there is none, and people are asked.
	Auto Auto
	// Handoff asks the model that checks results; nil: there is none.
	Handoff HandoffModel
	// Ask has a small model answer a question about a text for a session; nil: there is none.
	Ask func(ctx context.Context, s troupe.Session, question, text string) (answer string, used troupe.Usage,
		cost troupe.Money, err error)

	Governor Governor // nil: every call goes at once
	// PulseEvery is how often a tree looks whether another process has taken it over, or left mail for it; 0: only the
	// first, and at its next commit.
	PulseEvery time.Duration
	// Keep stores what files of a tree held before they were changed.
	Keep func(root troupe.SessionID, content []byte) (hash string, err error)
	// Kept is what Keep stored under a hash; nil: nothing can be looked up.
	Kept func(root troupe.SessionID, hash string) (content []byte, err error)
	// SaveResult keeps what an agent came to in a file: the final words of a child, which its parent may read, or a
	// plan that was sent and not written.
	SaveResult func(file, text string) error
	// Plans are where sessions write their plans; nil: nobody plans.
	Plans Plans
	// Memories are what agents keep for others of their type; nil: none keeps anything.
	Memories Memories
	// Replay, if set, has sessions do as they did when a run was recorded; failed calls are
	// then made again at once.
	Replay Replay
}

// Scratchpads are folders that belong to trees: all agents of one write and read there without asking.
type Scratchpads interface {
	// Folder is where that of a tree lies, without a link in it, whether it is there yet or not.
	Folder(root troupe.SessionID) string
	// Make makes it, for this user alone, unless it is there.
	Make(root troupe.SessionID) error
}

// scratchpadOf is the folder that the agents of a tree share; "" if they share none.
func scratchpadOf(h *Hub, root troupe.SessionID) string {
	if h.d.Scratchpads == nil {
		return ""
	}
	return h.d.Scratchpads.Folder(root)
}

// Delta is a piece of a reply on its way: part of the reply that ends after event After of the
// session. No counts the pieces of one call from 1. Or it is what a command of the session's prints:
// Output is the end of that so far, and Call the call that runs it.
type Delta struct {
	model.Delta
	Output string
	Stage  troupe.Stage
	Call   troupe.Coord
	// Done of All files of the session's folder are there. Such a piece is of no call.
	Done, All int

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
	// Judged is what the model of mode auto said about a call; ok is false if it was not asked.
	Judged(id troupe.SessionID, at troupe.Coord) (said troupe.Verdict, ok bool)
}

// Hub is what one process runs: the trees that it hosts, by their roots. A tree is hosted here
// while it is in that map, and nothing else decides it.
//
// Locks are taken in this order: Hub.mu, a tree's mu, those of its chain and its slots, an actor's.
// The caches and what is known of folders have locks of their own, under which no other is taken.
// No lock is held during a transaction, a look at a folder or a model call.
type Hub struct {
	d       Deps
	gate    *gate.Tools
	folders folderCache
	heads   cache[[]byte]
	offers  cache[fleet.Document]
	cold    coldPrefixes
	merges  mergeQueue
	handoff *handoff.Checker

	mu    sync.Mutex
	trees map[troupe.SessionID]*tree
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
		d.Notify = func(troupe.SessionID, troupe.SessionID, int64, []troupe.Event) {}
	}
	if d.Workspaces == nil {
		d.Workspaces = noWorkspaces{}
	}
	if d.Guard == nil {
		d.Guard = unguarded{}
	}
	if d.Governor == nil {
		d.Governor = free{}
	}
	return &Hub{
		d: d, gate: gate.NewTools(d.Tools.Facts()), folders: folderCache{look: d.Environment, now: d.Now},
		trees: make(map[troupe.SessionID]*tree), handoff: handoff.New(),
	}
}

// Knows reports whether a tree is hosted here, or about to be.
func (h *Hub) Knows(root troupe.SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.trees[root] != nil
}

// Runs reports whether the sessions of a tree are advanced here, as far as this process knows:
// the tree was taken up, and neither lost nor left since.
func (h *Hub) Runs(root troupe.SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.trees[root]
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.up
}

// hold finds a tree and keeps it from being left until unhold. It is nil if the tree is not
// hosted here.
func (h *Hub) hold(root troupe.SessionID) *tree {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.trees[root]
	if t != nil {
		t.hold()
	}
	return t
}

// open is hold for a tree that is about to be taken up.
func (h *Hub) open(root troupe.SessionID) *tree {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.trees[root]
	if t == nil {
		t = newTree(h, root)
		h.trees[root] = t
	}
	t.hold()
	return t
}

// unhold ends hold and open. A tree whose taking up came to nothing is forgotten.
func (h *Hub) unhold(t *tree) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held--
	if t.held == 0 && !t.up && t.lost == nil {
		delete(h.trees, t.root)
	}
	t.checkOver()
}

// Wait returns when every session of the tree has ended and no command is at work for it, or
// with the error for which it was lost.
func (h *Hub) Wait(ctx context.Context, root troupe.SessionID) error { return h.wait(ctx, root, false) }

// Folders are those that the roots of the trees which a hub hosts were begun in. All agents of a tree have the Cwd of
// its root.
func Folders(h *Hub) map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]bool, len(h.trees))
	for _, t := range h.trees {
		t.mu.Lock()
		out[t.top.Cwd] = true
		t.mu.Unlock()
	}
	return out
}

// AtWork reports whether something is to do in a tree whose sessions are advanced here.
func AtWork(h *Hub, root troupe.SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.trees[root]
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.up && !t.over()
}

// Leave waits like Wait, and lets go of the tree in the moment in which it is over, or lost.
// Nothing that has just begun is cut off: mail that is sent before is acted on first, and what
// is sent after waits in the home for the process that takes the tree up next.
func (h *Hub) Leave(ctx context.Context, root troupe.SessionID) error { return h.wait(ctx, root, true) }

func (h *Hub) wait(ctx context.Context, root troupe.SessionID, leave bool) error {
	for {
		again, err := h.over(root, leave)
		if again == nil {
			return err
		}
		select {
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// over looks whether a tree is over, and lets go of it then if that is wanted. If it is not,
// the channel is closed when it is time to look again.
func (h *Hub) over(root troupe.SessionID, leave bool) (again <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.trees[root]
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lost := t.lost != nil && t.adoption == nil && !(leave && t.held > 0) && !t.sleep.under.Load()
	if !lost && !t.over() {
		c := make(chan struct{})
		t.waiters = append(t.waiters, c)
		return c, nil
	}
	if leave {
		t.drop()
		delete(h.trees, root)
	}
	return nil, t.lost
}

// Send commits mail that build makes and tells the receivers. All of it is for one tree. If
// another process owns that tree by now it is troupe.ErrFenced, and if the tree was lost, the
// error for which it was: it would not be read here. here is false, and nothing is done, if the
// tree is not hosted here.
func (h *Hub) Send(ctx context.Context, root troupe.SessionID,
	build func(tx store.Tx) ([]troupe.Mail, error)) (here bool, err error) {
	t := h.hold(root)
	if t == nil {
		return false, nil
	}
	defer h.unhold(t)
	if errors.Is(t.given(), troupe.ErrAsleep) {
		return false, nil // it waits in the home for whoever wakes the tree
	}
	err = t.send(ctx, build)
	if errors.Is(err, troupe.ErrFenced) && (t.sleep.under.Load() || errors.Is(t.given(), troupe.ErrAsleep)) {
		return false, nil // it was put away in this moment
	}
	return true, err
}

// Move has a sub-agent that its parent waits for go on in the background; of the main agent, every agent and
// command that it waits for. It returns false if nothing can be waiting for it. Otherwise told, which may be nil and
// must not block, hears once what came of it, unless the tree is lost before that.
func (h *Hub) Move(root, child troupe.SessionID, by *troupe.Caller, told func(error)) bool {
	t := h.hold(root)
	if t == nil {
		return false
	}
	defer h.unhold(t)
	return t.move(inMove{child, by, told})
}

// Seen tells the hub how a folder looked at a time, for agents that begin there soon.
func (h *Hub) Seen(folder string, s Surroundings, at time.Time) {
	h.folders.seen(folder, s, at)
}
