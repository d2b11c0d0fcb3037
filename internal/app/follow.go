package app

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// pollEvery is how often a tree is looked at that another process advances.
const pollEvery = 200 * time.Millisecond

// changes collects which sessions have committed something since a follower last looked.
// It holds ids, never events, so it stays small however far behind a reader is.
type changes struct {
	mu    sync.Mutex
	dirty map[troupe.SessionID]bool
	wake  chan struct{} // holds one token while dirty is not empty
}

func newChanges() *changes {
	return &changes{dirty: make(map[troupe.SessionID]bool), wake: make(chan struct{}, 1)}
}

func (c *changes) add(id troupe.SessionID) {
	c.mu.Lock()
	c.dirty[id] = true
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *changes) take() []troupe.SessionID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]troupe.SessionID, 0, len(c.dirty))
	for id := range c.dirty {
		ids = append(ids, id)
	}
	clear(c.dirty)
	return ids
}

// watchers hands commits on to everybody who follows.
type watchers struct {
	mu  sync.Mutex
	all map[*changes]bool
}

func (w *watchers) notify(_, id troupe.SessionID, _ int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		c.add(id)
	}
}

func (w *watchers) join(c *changes) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[*changes]bool)
	}
	w.all[c] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, c)
	}
}

// Follower reads the events of a tree as they are committed, each session's in order and
// none twice. It reads from the store by its own cursors: a slow reader holds no agent up,
// fills no queue and loses nothing.
type Follower struct {
	app     *App
	root    troupe.SessionID
	only    troupe.SessionID // "" is all of the tree
	cursors map[troupe.SessionID]int64
	changes *changes
	leave   func()
	poll    bool // another process advances the tree
}

// Follow begins to follow a tree that another process may advance, from its first event.
// only, if not empty, restricts it to one session.
func (a *App) Follow(root, only troupe.SessionID) *Follower {
	f := a.follow(root, false, nil)
	f.only = only
	return f
}

// FollowFrom is Follow from behind the given events. It waits for commits of this process if
// the tree is run here, and looks again from time to time if it is not.
func (a *App) FollowFrom(root, only troupe.SessionID, after map[troupe.SessionID]int64) *Follower {
	a.mu.Lock()
	here := a.engine != nil && a.engine.hub.Hosts(root)
	a.mu.Unlock()
	f := a.follow(root, here, after)
	f.only = only
	return f
}

func (a *App) follow(root troupe.SessionID, here bool, cursors map[troupe.SessionID]int64) *Follower {
	f := &Follower{app: a, root: root, cursors: maps.Clone(cursors), changes: newChanges(), poll: !here}
	if f.cursors == nil {
		f.cursors = make(map[troupe.SessionID]int64)
	}
	f.leave = a.watch.join(f.changes)
	return f
}

// Close ends the following.
func (f *Follower) Close() { f.leave() }

// All returns every event of the tree that was committed since the last call.
func (f *Follower) All(ctx context.Context) ([]troupe.Event, error) {
	f.changes.take()
	return f.read(ctx, func(r store.Reader) ([]troupe.SessionID, error) {
		if f.only != "" {
			return []troupe.SessionID{f.only}, nil
		}
		sessions, err := r.Sessions(store.Filter{Root: f.root})
		var ids []troupe.SessionID
		for _, s := range sessions {
			if s.Seq > f.cursors[s.ID] {
				ids = append(ids, s.ID)
			}
		}
		return ids, err
	})
}

// Next waits until something was committed and returns it. The result may be empty when
// ctx is done.
func (f *Follower) Next(ctx context.Context) ([]troupe.Event, error) {
	if f.poll {
		t := time.NewTimer(pollEvery)
		defer t.Stop()
		select {
		case <-t.C:
			return f.All(ctx)
		case <-ctx.Done():
			return nil, nil
		}
	}
	select {
	case <-f.changes.wake:
	case <-ctx.Done():
		return nil, nil
	}
	ids := f.changes.take()
	return f.read(context.WithoutCancel(ctx), func(r store.Reader) ([]troupe.SessionID, error) { return f.ours(r, ids) })
}

// ours picks the sessions of the followed tree: the process may run others too.
func (f *Follower) ours(r store.Reader, ids []troupe.SessionID) ([]troupe.SessionID, error) {
	var out []troupe.SessionID
	for _, id := range ids {
		_, known := f.cursors[id]
		if !known && id != f.root {
			s, err := r.Session(id)
			if err != nil && !isNotFound(err) {
				return nil, err
			}
			known = s.Root == f.root
		}
		if (known || id == f.root) && (f.only == "" || f.only == id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (f *Follower) read(ctx context.Context, which func(store.Reader) ([]troupe.SessionID, error)) ([]troupe.Event, error) {
	var out []troupe.Event
	err := f.app.store.View(ctx, func(r store.Reader) error {
		out = nil
		ids, err := which(r)
		if err != nil {
			return err
		}
		for _, id := range ids {
			events, err := r.Events(id, f.cursors[id], 0)
			if err != nil {
				return err
			}
			out = append(out, events...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("follow session %s: %w", f.root, err)
	}
	for _, e := range out {
		f.cursors[e.Session] = max(f.cursors[e.Session], e.Seq)
	}
	return out, nil
}
