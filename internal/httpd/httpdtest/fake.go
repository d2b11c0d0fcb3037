// Package httpdtest has use cases in memory, for tests of the server and of its clients. A
// World answers as an open home does: the same kinds of errors, the same order. Its methods
// may be called from several goroutines; followers are woken by Commit and hold no goroutine.
package httpdtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Ids of the sessions of a new World.
const (
	Root    troupe.SessionID = "7k3f00000000"
	Child   troupe.SessionID = "9m2000000000"
	Request                  = "9m2000000000-1.0"
)

// Born is when everything of a new World happened.
func Born() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 123_000_000, time.UTC) }

// World is a home with one tree: a main agent and a child that waits for permission.
type World struct {
	mu       sync.Mutex
	changed  chan struct{} // closed by each commit
	sessions []troupe.Session
	events   map[troupe.SessionID][]troupe.Event
	requests []wire.Request
	calls    []string
}

// New makes a World.
func New() *World {
	main := troupe.Session{
		ID: Root, Root: Root, Name: "job", Title: "fix <the> test & more", Cwd: "/src", Type: "main", Model: "script/x", Status: troupe.Waiting,
		Waiting: troupe.WaitChildren, Run: 1, Seq: 2, CreatedAt: Born(), StartedAt: Born(),
		Tally: troupe.Tally{Usage: troupe.Usage{Input: 10, Output: 5}, Cost: troupe.Dollars(0.000000123), Turns: 1, ToolUses: 1},
	}
	child := troupe.Session{
		ID: Child, Root: Root, Parent: Root, Coord: troupe.Coord{Reply: 1}, Name: "Auth Explorer", Depth: 1, Cwd: "/src", Type: "Explore", Model: "script/x",
		Status: troupe.Waiting, Waiting: troupe.WaitApproval, Run: 1, Seq: 1, CreatedAt: Born(), StartedAt: Born(), Until: Born().Add(time.Hour),
	}
	w := &World{
		changed: make(chan struct{}), sessions: []troupe.Session{main, child}, events: make(map[troupe.SessionID][]troupe.Event),
		requests: []wire.Request{{
			ID: Request, Session: Child, Root: Root, Path: "main/Auth Explorer", Reason: troupe.WaitApproval, Tool: "Bash",
			Action: "rm -rf build\u202e && echo <done>", Why: "no rule allows it", Grant: "Bash(rm -rf build)", Since: Born(), Until: Born().Add(time.Hour), Running: true, Calls: 1,
		}},
	}
	w.events[Root] = []troupe.Event{
		{Root: Root, Session: Root, Seq: 1, At: Born(), Body: troupe.Created{Name: "job", Title: "fix <the> test & more", Cwd: "/src"}},
		{Root: Root, Session: Root, Seq: 2, At: Born(), Body: troupe.Started{Run: 1}},
	}
	w.events[Child] = []troupe.Event{{Root: Root, Session: Child, Seq: 1, At: Born(), Body: troupe.Started{Run: 1}}}
	return w
}

// Calls lists what was done to the World, in order.
func (w *World) Calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Commit appends an event to a session's log and wakes who follows.
func (w *World) Commit(id troupe.SessionID, b troupe.Body) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seq := int64(len(w.events[id]) + 1)
	w.events[id] = append(w.events[id], troupe.Event{Root: Root, Session: id, Seq: seq, At: Born().Add(time.Duration(seq)), Body: b})
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *World) did(format string, args ...any) {
	w.calls = append(w.calls, fmt.Sprintf(format, args...))
}

func (w *World) session(id troupe.SessionID) (troupe.Session, error) {
	for _, s := range w.sessions {
		if s.ID == id {
			return s, nil
		}
	}
	return troupe.Session{}, notFound(string(id))
}

func notFound(ref string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("there is no session %q", ref), Hint: "`troupe sessions` lists them.", Code: 2, Err: troupe.ErrNotFound}
}

// Find implements httpd.Reader.
func (w *World) Find(_ context.Context, ref, cwd string) (troupe.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []troupe.Session
	for _, s := range w.sessions {
		path := s.Name
		if s.Parent != "" {
			path = "main/" + s.Name
		}
		switch {
		case ref == path, ref == "main" && s.Parent == "" && (cwd == "" || cwd == s.Cwd):
			return s, nil
		case troupe.IsIDPrefix(ref) && strings.HasPrefix(string(s.ID), ref):
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return troupe.Session{}, notFound(ref)
	case 1:
		return found[0], nil
	}
	return troupe.Session{}, &troupe.UserError{Problem: "several begin so", Hint: "Type more.", Code: 2, Err: troupe.ErrAmbiguous}
}

// List implements httpd.Reader.
func (w *World) List(_ context.Context, cwd string, limit int) ([]wire.Session, error) {
	if cwd != "" && cwd != "/src" {
		return []wire.Session{}, nil
	}
	return []wire.Session{{ID: Root, Name: "job", Title: fmt.Sprintf("limit %d", limit), Status: troupe.Waiting, Cwd: "/src", CreatedAt: Born(), Running: true}}, nil
}

// Report implements httpd.Reader.
func (w *World) Report(_ context.Context, root troupe.SessionID) (wire.Run, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(root); err != nil {
		return wire.Run{}, err
	}
	out := wire.Run{Type: "result", SessionID: root, Status: troupe.Waiting, Result: "a\nb <c>", CostUSD: 0.1}
	for _, s := range w.sessions {
		out.Agents = append(out.Agents, wire.NewSession(s, s.Name, Born().Add(time.Second)))
	}
	return out, nil
}

// Events implements httpd.Reader.
func (w *World) Events(_ context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return nil, err
	}
	all := w.events[id]
	all = all[min(int(after), len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return slices.Clone(all), nil
}

// Tasks implements httpd.Reader.
func (w *World) Tasks(_ context.Context, id troupe.SessionID) ([]wire.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != "" {
		if _, err := w.session(id); err != nil {
			return nil, err
		}
	}
	return []wire.Task{{
		Session: Root, Root: Root, Path: "main", ID: troupe.TaskID(Child), Kind: troupe.TaskAgent, Name: "Auth Explorer", Title: "trace <auth>",
		Status: troupe.TaskRunning, Background: id == "", DurationMS: 1500, Doing: "waits for approval",
	}}, nil
}

// AtWork is app.App's: here the same as Tasks.
func (w *World) AtWork(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	return w.Tasks(ctx, id)
}

// Requests implements httpd.Reader.
func (w *World) Requests(_ context.Context, root troupe.SessionID) ([]wire.Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []wire.Request{}
	for _, r := range w.requests {
		if root == "" || r.Root == root {
			out = append(out, r)
		}
	}
	return out, nil
}

// Cost implements httpd.Reader.
func (w *World) Cost(_ context.Context, id troupe.SessionID) (wire.Cost, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.session(id)
	if err != nil {
		return wire.Cost{}, err
	}
	return wire.Cost{
		SessionID: id, Usage: s.Tally.Usage, CostUSD: 0.0123, Unpriced: []string{"script/x"},
		Limits: []wire.Limit{{Name: "tokens", Used: 15, Limit: 1000}, {Name: "cost_usd", Used: 0.0123, Limit: 5}},
		Agents: []wire.Session{wire.NewSession(s, "main", Born().Add(time.Second))},
	}, nil
}

// Send implements httpd.Controller.
func (w *World) Send(_ context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return wire.Sent{}, err
	}
	w.did("send %s %q %d images cancel=%t", id, m.Text, len(m.Images), m.Cancel)
	return wire.Sent{Session: id, Mail: "prompt:1", Effect: "steers"}, nil
}

// Stop implements httpd.Controller.
func (w *World) Stop(_ context.Context, id troupe.SessionID, s wire.Stop) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return err
	}
	w.did("stop %s %+v", id, s)
	return nil
}

// Background implements httpd.Controller.
func (w *World) Background(_ context.Context, id troupe.SessionID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == Root {
		return &troupe.UserError{Problem: "the main agent has no background", Hint: "Name a sub-agent.", Code: 2}
	}
	w.did("background %s", id)
	return nil
}

// Compact implements httpd.Controller.
func (w *World) Compact(_ context.Context, id troupe.SessionID, hint string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == Child {
		return fmt.Errorf("compact session %s: %w", id, troupe.ErrFenced)
	}
	w.did("compact %s %q", id, hint)
	return nil
}

// Answer implements httpd.Controller.
func (w *World) Answer(_ context.Context, request string, a wire.Answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.requests {
		if strings.HasPrefix(r.ID, request) {
			w.did("answer %s allow=%t session=%t %q", r.ID, a.Allow, a.Session, a.Note)
			w.requests = slices.Delete(w.requests, i, i+1)
			return nil
		}
	}
	return &troupe.UserError{Problem: "there is no open request " + request, Hint: "`troupe requests` lists them.", Code: 2, Err: troupe.ErrNotFound}
}

// Follower follows a World.
type Follower struct {
	world *World
	only  troupe.SessionID
	seen  map[troupe.SessionID]int64
}

// Follow begins to follow the tree, or one session of it.
func (w *World) Follow(_, only troupe.SessionID, after map[troupe.SessionID]int64) *Follower {
	f := &Follower{world: w, only: only, seen: maps.Clone(after)}
	if f.seen == nil {
		f.seen = make(map[troupe.SessionID]int64)
	}
	return f
}

// Next implements httpd.Follower.
func (f *Follower) Next(ctx context.Context) ([]troupe.Event, error) {
	for {
		events, changed := f.take()
		if len(events) > 0 {
			return events, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// All implements httpd.Follower.
func (f *Follower) All(context.Context) ([]troupe.Event, error) {
	events, _ := f.take()
	return events, nil
}

// Close implements httpd.Follower.
func (f *Follower) Close() {}

func (f *Follower) take() ([]troupe.Event, <-chan struct{}) {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	var out []troupe.Event
	for _, id := range []troupe.SessionID{Root, Child} {
		if f.only != "" && f.only != id {
			continue
		}
		for _, e := range f.world.events[id] {
			if e.Seq > f.seen[id] {
				f.seen[id] = e.Seq
				out = append(out, e)
			}
		}
	}
	return out, f.world.changed
}
