// Package router is the api for whoever has a home open and does not know who runs a tree. What
// only looks is answered from the home: all there is to see is in the log, and a process that hangs
// keeps no one from looking. What is said to sessions goes to the process that runs their tree,
// over its socket, or, when there is none, into the home, where it waits for the process that goes
// on with the tree. Runs begin here.
//
// An API that New returns may be used by several goroutines. It keeps no connection between calls
// other than those of streams.
package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Peer is another process.
type Peer interface {
	api.API
	// Ping reports whether the process answers at all: api.ErrSilent if it does not within two seconds.
	Ping(ctx context.Context) error
	Close()
}

type router struct {
	api.API // the open home
	dial    func(socket string) Peer
	agent   string
}

// New makes a router over an open home. agent is the session whose agent has started this process,
// "" if none has: such a command is refused by the process that runs a tree, and where there is
// none, the home must not be a way around that, as far as an honest program goes.
func New(home api.API, dial func(socket string) Peer, agent string) api.API {
	return &router{API: home, dial: dial, agent: agent}
}

// A process that ends closes its socket first, and lets go of its trees a little later: that long
// the place is looked up again.
const (
	endsWithin = 3 * time.Second
	looksAgain = 25 * time.Millisecond
)

// at calls fn with the place where the tree of a session can be acted on now. If the process that
// runs it ends before it could be called, or another takes the tree over, the place is looked up
// again; fn is never called again after anything was done.
func (r *router) at(ctx context.Context, id troupe.SessionID, fn func(api.API) error) error {
	began := time.Now()
	for try := 1; ; try++ {
		t, err := r.Tree(ctx, id)
		switch {
		case err != nil:
			return err
		case t.Here, !elsewhere(t) && r.agent == "":
			// Refused as another process's, it is that since it was looked up.
			if err := fn(r.API); try > 1 || !errors.Is(err, troupe.ErrFenced) {
				return err
			}
			continue
		case elsewhere(t):
		default:
			return r.refused("send, stop or answer")
		}
		peer := r.dial(t.Owner.Socket)
		if err = peer.Ping(ctx); !errors.Is(err, api.ErrSilent) {
			err = fn(peer) // one that is gone says so itself
		}
		peer.Close()
		if errors.Is(err, api.ErrSilent) {
			return silent(t, err)
		}
		if !errors.Is(err, api.ErrUnreachable) {
			return err
		}
		if time.Since(began) > endsWithin {
			return &troupe.UserError{
				Problem: fmt.Sprintf("process %d on %s runs session %s, but it does not answer on %s", t.Owner.PID,
					t.Owner.Host, t.Root(), t.Owner.Socket),
				Hint: "If it is just ending, try again; if it is stopped, let it go on (fg).",
				Code: troupe.ExitFailed, Err: err,
			}
		}
		select {
		case <-time.After(looksAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refused is what a command is told that an agent has started.
func (r *router) refused(what string) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("this command was started by an agent (session %.40s); agents may not %s here", r.agent,
			what),
		Hint: "Type it in a terminal of your own. An agent talks to other agents with its tools.",
		Code: troupe.ExitPermission,
	}
}

// Setup is that of the home, but that an agent merges with its tool, which the gate judges.
func (r *router) Setup() api.Setup { return setup{r.API.Setup(), r} }

type setup struct {
	api.Setup
	r *router
}

func (s setup) Workspaces() api.Workspaces { return workspaces{s.Setup.Workspaces(), s.r} }

type workspaces struct {
	api.Workspaces
	r *router
}

func (w workspaces) MergeWorktree(ctx context.Context, m wire.WorktreeMerge) (wire.MergedWorktree, error) {
	if w.r.agent != "" && !m.DryRun {
		return wire.MergedWorktree{}, w.r.refused("merge")
	}
	return w.Workspaces.MergeWorktree(ctx, m)
}

func (w workspaces) PushWorktree(ctx context.Context, p wire.WorktreePush) (wire.PushedWorktree, error) {
	if w.r.agent != "" {
		return wire.PushedWorktree{}, w.r.refused("push")
	}
	return w.Workspaces.PushWorktree(ctx, p)
}

func (w workspaces) PruneWorktrees(ctx context.Context, p wire.WorktreePrune) ([]wire.PrunedWorktree, error) {
	if w.r.agent != "" && !p.DryRun {
		return nil, w.r.refused("remove worktrees")
	}
	return w.Workspaces.PruneWorktrees(ctx, p)
}

// Server is that of the home, but that an agent changes nothing of it.
func (r *router) Server() api.Server {
	if r.agent == "" {
		return r.API.Server()
	}
	return server{r.API.Server(), r}
}

type server struct {
	api.Server
	r *router
}

func (s server) People() api.People {
	return people{s.Server.People(), s.r.refused("change who may use a server")}
}

// people are those that an agent may look at.
type people struct {
	api.People
	refused error
}

func (p people) SetUser(context.Context, wire.UserChange) (wire.UserChanged, error) {
	return wire.UserChanged{}, p.refused
}

func (p people) Revoke(context.Context, wire.Revoke) error { return p.refused }

func (s server) Hosting() api.Hosting {
	return hosting{s.Server.Hosting(), s.r.refused("change what runs sessions")}
}

// hosting is that of an agent, which may look.
type hosting struct {
	api.Hosting
	refused error
}

func (h hosting) Drain(context.Context, wire.Drain) error { return h.refused }

func (h hosting) Pause(context.Context, wire.Pause) error { return h.refused }

func (s server) Schedules() api.Schedules {
	return schedules{s.Server.Schedules(), s.r.refused("change what begins by itself")}
}

// schedules are those that an agent may look at.
type schedules struct {
	scheduling
	refused error
}

// scheduling is api.Schedules under a name that is not one of its methods: a field hides a method of its name.
type scheduling = api.Schedules

func (s schedules) SetSchedule(context.Context, wire.ScheduleTerms) (wire.Schedule, error) {
	return wire.Schedule{}, s.refused
}

func (s schedules) RemoveSchedule(context.Context, string) error { return s.refused }

func (s schedules) RunSchedule(context.Context, string) (wire.Schedule, error) {
	return wire.Schedule{}, s.refused
}

func (s schedules) PauseSchedule(context.Context, string, wire.SchedulePause) (wire.Schedule, error) {
	return wire.Schedule{}, s.refused
}

func (s server) Stored() api.Stored {
	return stored{s.Server.Stored(), s.r.refused("change stored agents")}
}

// stored are those that an agent may look at.
type stored struct {
	api.Stored
	refused error
}

func (s stored) SetStoredAgent(context.Context, wire.StoredTerms) (wire.StoredAgent, error) {
	return wire.StoredAgent{}, s.refused
}

func (s stored) RemoveStoredAgent(context.Context, wire.StoredRemoval) error { return s.refused }

func (s server) Webhooks() api.Webhooks {
	return webhooks{s.Server.Webhooks(), s.r.refused("change what begins by itself")}
}

// webhooks are those that an agent may look at.
type webhooks struct {
	hooking
	refused error
}

// hooking is api.Webhooks under a name that is not one of its methods.
type hooking = api.Webhooks

func (w webhooks) SetWebhook(context.Context, wire.WebhookTerms) (wire.WebhookChanged, error) {
	return wire.WebhookChanged{}, w.refused
}

func (w webhooks) RemoveWebhook(context.Context, string) error { return w.refused }

func (w webhooks) PauseWebhook(context.Context, string, wire.WebhookPause) (wire.Webhook, error) {
	return wire.Webhook{}, w.refused
}

func (s server) Targets() api.Targets {
	return targets{s.Server.Targets(), s.r.refused("change who is told what happens")}
}

// targets are those that an agent may look at.
type targets struct {
	noticing
	refused error
}

// noticing is api.Targets under a name that is not one of its methods.
type noticing = api.Targets

func (t targets) SetTarget(context.Context, wire.TargetTerms) (wire.TargetChanged, error) {
	return wire.TargetChanged{}, t.refused
}

func (t targets) RemoveTarget(context.Context, string) error { return t.refused }

func (t targets) TestTarget(context.Context, string) (wire.NoticeTry, error) {
	return wire.NoticeTry{}, t.refused
}

func (t targets) ReplayTarget(context.Context, string, wire.Replay) (wire.Replayed, error) {
	return wire.Replayed{}, t.refused
}

// silent is a process that runs a tree and does not answer.
func silent(t wire.Tree, err error) error {
	return &troupe.UserError{
		Problem: fmt.Sprintf("process %d on %s runs session %s, and it does not answer", t.Owner.PID, t.Owner.Host,
			t.Root()),
		Hint: fmt.Sprintf("If it was stopped, let it go on: kill -CONT %d. To go on without it: troupe stop %s "+
			"--take-over, or troupe -p --resume %s --take-over; it cannot write to the session any more then.",
			t.Owner.PID, t.Root(), t.Root()),
		Code: troupe.ExitFailed, Err: err,
	}
}

// held says of what another process has in hand whether that one answers: its advice is worth nothing else.
func held(ctx context.Context, r *router, err error) error {
	var held *api.HeldError
	if !errors.As(err, &held) {
		return err
	}
	t, lookup := r.Tree(ctx, held.Root)
	if lookup != nil || !elsewhere(t) {
		return err
	}
	peer := r.dial(t.Owner.Socket)
	defer peer.Close()
	if ping := peer.Ping(ctx); errors.Is(ping, api.ErrSilent) {
		return silent(t, ping)
	}
	return err
}

func (r *router) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	begun, err := r.API.Begin(ctx, b)
	return begun, held(ctx, r, err)
}

func (r *router) Remove(ctx context.Context, root troupe.SessionID) error {
	return held(ctx, r, r.API.Remove(ctx, root))
}

func (r *router) Change(ctx context.Context, root troupe.SessionID, c wire.SessionChange) (s wire.Session, err error) {
	err = r.at(ctx, root, func(a api.API) error {
		s, err = a.Change(ctx, root, c)
		return err
	})
	return s, err
}

// elsewhere: another process runs the tree, and can be called.
func elsewhere(t wire.Tree) bool { return t.Running && !t.Here && t.Owner.Socket != "" }

func (r *router) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (sent wire.Sent, err error) {
	err = r.at(ctx, id, func(a api.API) error {
		sent, err = a.Send(ctx, id, m)
		return err
	})
	return sent, err
}

func (r *router) Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error {
	return r.at(ctx, id, func(a api.API) error {
		if a == r.API && !s.Kept {
			// Left in the home, it would end the run of the process that goes on with the tree.
			if t, err := a.Tree(ctx, id); err != nil || !t.Running {
				return err
			}
		}
		return a.Stop(ctx, id, s)
	})
}

func (r *router) Background(ctx context.Context, id troupe.SessionID) error {
	return r.at(ctx, id, func(a api.API) error { return a.Background(ctx, id) })
}

func (r *router) Sleep(ctx context.Context, root troupe.SessionID, o wire.Sleep) (out wire.Slept, err error) {
	err = r.at(ctx, root, func(a api.API) error {
		out, err = a.Sleep(ctx, root, o)
		return err
	})
	return out, err
}

func (r *router) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	return r.at(ctx, id, func(a api.API) error { return a.Compact(ctx, id, hint) })
}

func (r *router) SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error {
	return r.at(ctx, root, func(a api.API) error { return a.SetMode(ctx, root, mode) })
}

func (r *router) SetModel(ctx context.Context, id troupe.SessionID, name string) (full string, err error) {
	err = r.at(ctx, id, func(a api.API) error {
		full, err = a.SetModel(ctx, id, name)
		return err
	})
	return full, err
}

func (r *router) Answer(ctx context.Context, id string, ans wire.Answer) error {
	q, err := r.Request(ctx, id)
	if errors.Is(err, troupe.ErrNotFound) { // it may have been answered so before, which the log knows
		return r.API.Answer(ctx, id, ans)
	}
	if err != nil {
		return err
	}
	return r.at(ctx, q.Root, func(a api.API) error { return a.Answer(ctx, q.ID, ans) })
}

func (r *router) Wait(ctx context.Context, root troupe.SessionID) error {
	return r.hereOrAt(ctx, root, func(a api.API) error { return a.Wait(ctx, root) })
}

func (r *router) Leave(ctx context.Context, root troupe.SessionID) (left bool, err error) {
	err = r.hereOrAt(ctx, root, func(a api.API) error {
		left, err = a.Leave(ctx, root)
		return err
	})
	return left, err
}

// hereOrAt is at for what changes nothing where the tree is not run: this process is asked first,
// which knows without a look into the home whether it runs it.
func (r *router) hereOrAt(ctx context.Context, root troupe.SessionID, fn func(api.API) error) error {
	here := fn(r.API)
	if !errors.Is(here, troupe.ErrFenced) {
		return here
	}
	err := r.at(ctx, root, fn)
	if said, ok := errors.AsType[*troupe.UserError](err); ok && (errors.Is(err, api.ErrSilent) ||
		errors.Is(err, api.ErrUnreachable)) {
		// What matters to whoever waits is that this process has it no more; that comes first in every surface.
		return &troupe.UserError{Problem: fmt.Sprintf("another process has session %s now: %s", root, said.Problem),
			Hint: said.Hint, Code: said.Code, Err: errors.Join(here, err)}
	}
	return err
}

// Undo is carried out by the process that has the tree in hand, which tells the agents of it. One
// that is at work is refused by the home.
func (r *router) Undo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (u wire.Undo, err error) {
	t, err := r.Tree(ctx, root)
	if err != nil || !elsewhere(t) || slices.ContainsFunc(t.Sessions, func(s wire.Session) bool { return s.Running }) {
		return r.API.Undo(ctx, root, o)
	}
	err = r.at(ctx, root, func(a api.API) error {
		u, err = a.Undo(ctx, root, o)
		return err
	})
	return u, err
}

// Follow follows in the home, which has every event. Pieces of replies only the process has that
// runs the tree; once it cannot be read any more, the home has the rest.
func (r *router) Follow(ctx context.Context, f wire.Follow) (api.Stream, error) {
	if !f.Deltas {
		return r.API.Follow(ctx, f)
	}
	t, err := r.Tree(ctx, f.Root)
	if err != nil || t.Here {
		return r.API.Follow(ctx, f)
	}
	s := &stream{home: r.API, follow: f}
	if s.follow.From = maps.Clone(f.From); s.follow.From == nil {
		s.follow.From = make(map[troupe.SessionID]int64)
	}
	if !elsewhere(t) {
		// It may have ended since the caller saw it run: that is said as the loss of a process is.
		s.untold = true
		s.Stream, err = r.API.Follow(ctx, f)
		return s, err
	}
	s.peer = r.dial(t.Owner.Socket)
	s.Stream, err = s.peer.Follow(ctx, f)
	return s, err
}

// stream is one of another process, for as long as there is one.
type stream struct {
	api.Stream
	home   api.API
	follow wire.Follow // From is what was seen
	peer   Peer        // nil: the stream is the home's
	untold bool        // that it is the home's from the beginning
}

func (s *stream) Close() {
	s.Stream.Close()
	if s.peer != nil {
		s.peer.Close()
	}
}

func (s *stream) seen(events []troupe.Event) {
	for _, e := range events {
		s.follow.From[e.Session] = e.Seq
	}
}

// Next brings an empty batch when the stream has become the home's, or is that from the beginning.
func (s *stream) Next(ctx context.Context) (wire.Batch, error) {
	if s.untold {
		s.untold = false
		return wire.Batch{}, nil
	}
	b, err := s.Stream.Next(ctx)
	s.seen(b.Events)
	if err == nil || s.peer == nil {
		return b, err
	}
	s.Close()
	s.peer = nil
	s.Stream, err = s.home.Follow(ctx, s.follow)
	return b, err
}

func (s *stream) Rest(ctx context.Context) ([]troupe.Event, error) {
	events, err := s.Stream.Rest(ctx)
	s.seen(events)
	return events, err
}
