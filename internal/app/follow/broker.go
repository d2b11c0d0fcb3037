package follow

import (
	"context"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// pollEvery is how often trees of other processes are looked at in a store that cannot tell.
const pollEvery = 200 * time.Millisecond

// Broker hands commits and deltas to the followers of their tree.
type Broker struct {
	store store.Store
	runs  func(root troupe.SessionID) bool

	mu      sync.Mutex
	trees   map[troupe.SessionID]*tree // those that are followed
	foreign int                        // followers of trees that other processes run
	unwatch context.CancelFunc         // nil: no commits of others are waited for
	watches sync.WaitGroup
	closed  bool
}

// tree is what the followers of one tree share.
type tree struct {
	mu        sync.Mutex
	followers map[*Follower]struct{}
	foreign   int // of them, those who wait for another process
}

// New makes a Broker over a home. runs tells whether a tree is run by this process, which then
// announces what it commits by Commit; other trees are watched in the store.
func New(s store.Store, runs func(root troupe.SessionID) bool) *Broker {
	return &Broker{store: s, runs: runs, trees: make(map[troupe.SessionID]*tree)}
}

// Close ends what waits for other processes. Followers may still be read.
func (b *Broker) Close() {
	b.mu.Lock()
	b.closed = true
	if b.unwatch != nil {
		b.unwatch()
		b.unwatch = nil
	}
	b.mu.Unlock()
	b.watches.Wait()
}

// Commit announces that the log of a session goes up to event seq, and what the commit brought to it, in
// order; nil if that is not known. The events are shared from here on: their bodies do not change.
func (b *Broker) Commit(root, id troupe.SessionID, seq int64, events []troupe.Event) {
	if t := b.tree(root); t != nil {
		weight := 0
		for _, e := range events {
			weight += bytesOf(e.Body)
		}
		t.each(func(f *Follower) { f.commit(id, seq, events, weight) })
	}
}

// Moved announces that a tree may have changed hands: what was committed meanwhile was announced
// to no follower, or by another process.
func (b *Broker) Moved(root troupe.SessionID) {
	if t := b.tree(root); t != nil {
		t.each((*Follower).again)
	}
}

// Delta announces a piece of a reply.
func (b *Broker) Delta(root, id troupe.SessionID, d session.Delta) {
	if t := b.tree(root); t != nil {
		piece := wire.Delta{Session: id, Text: d.Text, Thinking: d.Thinking, Tool: d.Tool, Output: d.Output,
			Stage: d.Stage, Call: d.Call, Done: d.Done, All: d.All, After: d.After, No: d.No}
		t.each(func(f *Follower) { f.delta(piece) })
	}
}

// tree is nil if it has no followers.
func (b *Broker) tree(root troupe.SessionID) *tree {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trees[root]
}

func (t *tree) each(fn func(*Follower)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for f := range t.followers {
		fn(f)
	}
}

// Follow begins to follow a tree. Close ends it.
func (b *Broker) Follow(o wire.Follow) *Follower {
	f := newFollower(b, o)
	b.mu.Lock()
	f.tree = b.trees[o.Root]
	if f.tree == nil {
		f.tree = &tree{followers: make(map[*Follower]struct{})}
		b.trees[o.Root] = f.tree
	}
	f.tree.mu.Lock()
	f.tree.followers[f] = struct{}{}
	f.tree.mu.Unlock()
	b.mu.Unlock()
	return f
}

// place finds out from which process a follower that waits has to hear. A tree can change hands while
// it is followed.
func (b *Broker) place(ctx context.Context, f *Follower) {
	foreign := !b.runs(f.o.Root)
	b.mu.Lock()
	defer b.mu.Unlock()
	if foreign == f.foreign || f.left {
		return
	}
	b.setForeign(f, foreign)
	if foreign && b.unwatch == nil && !b.closed {
		ctx, b.unwatch = context.WithCancel(context.WithoutCancel(ctx))
		b.watches.Go(func() { b.watch(ctx) })
	}
	f.again() // whatever was committed in between was announced to none of them
}

// setForeign is called with b.mu held.
func (b *Broker) setForeign(f *Follower, foreign bool) {
	n := 1
	if !foreign {
		n = -1
	}
	f.foreign = foreign
	b.foreign += n
	f.tree.mu.Lock()
	f.tree.foreign += n
	f.tree.mu.Unlock()
	if b.foreign == 0 && b.unwatch != nil {
		b.unwatch()
		b.unwatch = nil
	}
}

// leave forgets a follower, and its tree with the last one.
func (b *Broker) leave(f *Follower) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.left {
		return
	}
	f.left = true
	if f.foreign {
		b.setForeign(f, false)
	}
	f.tree.mu.Lock()
	defer f.tree.mu.Unlock()
	delete(f.tree.followers, f)
	if len(f.tree.followers) == 0 {
		delete(b.trees, f.o.Root)
	}
}

// watch announces the commits of other processes until ctx is over.
func (b *Broker) watch(ctx context.Context) {
	if w, ok := b.store.(store.Watcher); ok {
		_ = w.Watch(ctx, func(commits []store.Commit) {
			if commits == nil {
				b.look(ctx)
			}
			for _, c := range commits {
				b.Commit(c.Root, c.Session, c.Seq, nil)
			}
		})
		// It ends before ctx when it fails; then the trees are looked at.
	}
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for ctx.Err() == nil {
		b.look(ctx)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// look finds what was committed in the trees of other processes, with one query a tree however
// many follow it.
func (b *Broker) look(ctx context.Context) {
	b.mu.Lock()
	trees := make(map[troupe.SessionID]*tree, len(b.trees))
	for root, t := range b.trees {
		t.mu.Lock()
		if t.foreign > 0 {
			trees[root] = t
		}
		t.mu.Unlock()
	}
	b.mu.Unlock()
	for root, t := range trees {
		var sessions []troupe.Session
		err := b.store.View(ctx, func(r store.Reader) (err error) {
			sessions, err = r.Sessions(store.Filter{Root: root})
			return err
		})
		if err != nil && ctx.Err() == nil {
			t.each((*Follower).again) // each reads for itself, and is told what is wrong
		}
		for _, s := range sessions {
			t.each(func(f *Follower) { f.commit(s.ID, s.Seq, nil, 0) })
		}
	}
}
