package follow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is a home in which trees grow, and the broker of one process in it.
type home struct {
	testing.TB
	store.Store
	*Broker
	reads atomic.Int64 // Views of followers
	fails atomic.Bool  // they fail
	mu    sync.Mutex
	here  map[troupe.SessionID]bool // trees that the process runs
}

func newHome(t testing.TB, s store.Store) *home {
	h := &home{TB: t, Store: s, here: make(map[troupe.SessionID]bool)}
	h.Broker = New(counted{s, h}, func(root troupe.SessionID) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.here[root]
	})
	t.Cleanup(h.Broker.Close)
	return h
}

// counted counts the Views of followers.
type counted struct {
	store.Store
	h *home
}

func (c counted) View(ctx context.Context, fn func(store.Reader) error) error {
	c.h.reads.Add(1)
	if c.h.fails.Load() {
		return errors.New("the disk is gone")
	}
	return c.Store.View(ctx, fn)
}

// watched is counted for a store that can tell of commits.
type watched struct {
	counted
	store.Watcher
}

func (h *home) runs(root troupe.SessionID, here bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.here[root] = here
}

func id(n int) troupe.SessionID { return troupe.ChildID("follow", troupe.Coord{Reply: n}) }

// plant makes a tree of a root and some children.
func (h *home) plant(n, children int) []troupe.SessionID {
	h.Helper()
	root := troupe.Session{ID: id(n), Root: id(n), Status: troupe.Spawning}
	ids := []troupe.SessionID{root.ID}
	err := h.Update(h.Context(), root.ID, func(tx store.Tx) error {
		err := tx.Insert(root, troupe.Lease{}, nil)
		for i := range children {
			c := troupe.Coord{Reply: 1, Call: i}
			ids = append(ids, troupe.ChildID(root.ID, c))
			err = errors.Join(err, tx.Insert(troupe.Session{
				ID: ids[i+1], Root: root.ID, Parent: root.ID, Depth: 1, Name: fmt.Sprint(i), Coord: c,
				Status: troupe.Spawning,
			}, troupe.Lease{}, nil))
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	h.runs(root.ID, true)
	return ids
}

// log appends an event to a session; what this process runs it announces.
func (h *home) log(root, id troupe.SessionID, body troupe.Body) int64 {
	h.Helper()
	var s troupe.Session
	err := h.Update(h.Context(), root, func(tx store.Tx) (err error) {
		if s, err = tx.Session(id); err != nil {
			return err
		}
		s.Seq++
		return tx.Append(troupe.Lease{}, s, []troupe.Event{{Root: root, Session: id, Seq: s.Seq, Body: body}})
	})
	if err != nil {
		h.Fatal(err)
	}
	h.mu.Lock()
	here := h.here[root]
	h.mu.Unlock()
	if here {
		h.Commit(root, id, s.Seq, nil)
	}
	return s.Seq
}

func (h *home) note(root, id troupe.SessionID) int64 {
	h.Helper()
	return h.log(root, id, troupe.ModelChanged{Model: "m"})
}

// says announces a piece of a reply.
func (h *home) says(root, id troupe.SessionID, after, no int64) {
	h.Delta(root, id, session.Delta{Delta: model.Delta{Text: fmt.Sprint(no)}, After: after, No: no})
}

func (h *home) follow(o wire.Follow) *Follower {
	f := h.Follow(o)
	h.Cleanup(f.Close)
	return f
}

// now is what a follower has without waiting.
func now(t testing.TB, f *Follower) wire.Batch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b, err := f.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// next waits for the number of events that are to come.
func next(t testing.TB, f *Follower, n int) (out []troupe.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(out) < n {
		b, err := f.Next(ctx)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("%d of %d events came: %v", len(out), n, err)
		}
		out = append(out, b.Events...)
	}
	if len(out) > n {
		t.Fatalf("%d events came instead of %d", len(out), n)
	}
	return out
}

func mem() store.Store { return memstore.New(memstore.Options{}).Open() }

// TestOnlyItsOwnTree: what is committed in one tree wakes its followers and no others.
func TestOnlyItsOwnTree(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	const others = 50
	root := h.plant(0, 1)
	f, part := h.follow(wire.Follow{Root: root[0]}), h.follow(wire.Follow{Root: root[0], Only: root[1]})
	var all []*Follower
	for n := range others {
		x := h.follow(wire.Follow{Root: h.plant(n+1, 0)[0], Deltas: true})
		now(t, x)
		all = append(all, x)
	}
	now(t, f)
	now(t, part)
	before := h.reads.Load()
	for i := range 10 {
		seq := h.note(root[0], root[0])
		h.says(root[0], root[0], seq, int64(i+1))
		if b := now(t, f); len(b.Events) != 1 || len(b.Deltas) > 0 {
			t.Fatalf("its own follower has %v", b)
		}
		if b := now(t, part); len(b.Events) > 0 {
			t.Fatalf("the follower of another session has %v", b)
		}
	}
	for _, x := range all {
		if len(x.wake) > 0 {
			t.Fatal("a follower of another tree was woken")
		}
		if b := now(t, x); len(b.Events)+len(b.Deltas) > 0 {
			t.Fatalf("a follower of another tree has %v", b)
		}
	}
	if n := h.reads.Load() - before; n != 10 {
		t.Errorf("ten commits were read in %d Views", n)
	}
}

// TestFallsBehind: a follower that is not read keeps ids and a bounded number of deltas, and then
// returns every event once and in order.
func TestFallsBehind(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	ids := h.plant(1, 2)
	f := h.follow(wire.Follow{Root: ids[0], Deltas: true})
	now(t, f)
	const rounds = 500
	for i := range rounds {
		for _, s := range ids {
			seq := h.note(ids[0], s)
			h.says(ids[0], s, seq, 1)
			h.says(ids[0], s, seq, int64(2+i%2))
		}
	}
	if len(f.kept.changed) != len(ids) || len(f.deltas) != maxDeltas {
		t.Errorf("it holds %d sessions and %d deltas", len(f.kept.changed), len(f.deltas))
	}
	seen := make(map[troupe.SessionID]int64)
	for _, e := range now(t, f).Events {
		if e.Seq != seen[e.Session]+1 {
			t.Fatalf("event %d of %s comes behind event %d", e.Seq, e.Session, seen[e.Session])
		}
		seen[e.Session] = e.Seq
	}
	for _, s := range ids {
		if seen[s] != rounds {
			t.Errorf("of session %s came %d events", s, seen[s])
		}
	}
	if b := now(t, f); len(b.Events)+len(b.Deltas) > 0 {
		t.Errorf("and then %v", b)
	}
}

// TestDeltasBesideEvents: a delta comes with or behind the event that its call began with, and
// never behind the end of its reply.
func TestDeltasBesideEvents(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]troupe.Body{
		"reply": troupe.Replied{Reply: 1}, "failure": troupe.ModelFailed{}, "summary": troupe.Compacted{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, mem())
			root := h.plant(1, 0)[0]
			f := h.follow(wire.Follow{Root: root, Deltas: true})
			now(t, f)
			sealed := h.log(root, root, troupe.CallSealed{Reply: 1})
			h.says(root, root, sealed, 1)
			b := now(t, f)
			if len(b.Events) != 1 || len(b.Deltas) != 1 || b.Deltas[0].Text != "1" || b.Deltas[0].After != sealed ||
				b.Deltas[0].Session != root {
				t.Fatalf("a call and a piece of its reply came as %+v", b)
			}
			h.says(root, root, sealed, 2)
			if b := now(t, f); len(b.Events) != 0 || len(b.Deltas) != 1 {
				t.Fatalf("a piece alone came as %+v", b)
			}
			h.says(root, root, sealed, 3)
			h.note(root, root)
			h.log(root, root, end)
			if b := now(t, f); len(b.Events) != 2 || len(b.Deltas) != 1 || b.Deltas[0].No != 3 {
				t.Fatalf("the end of a reply and a piece of it came as %+v", b)
			}
			h.says(root, root, sealed, 4)
			if b := now(t, f); len(b.Deltas) > 0 {
				t.Fatalf("behind the end of its reply came %+v", b)
			}
			// Rest returns events alone; the pieces that it overtakes are not worth anything any more.
			again := h.log(root, root, troupe.CallSealed{Reply: 2})
			h.says(root, root, again, 1)
			h.log(root, root, troupe.Replied{Reply: 2})
			h.says(root, root, again+1, 1)
			if events, err := f.Rest(t.Context()); err != nil || len(events) != 2 {
				t.Fatalf("the rest is %v, %v", events, err)
			}
			if b := now(t, f); len(b.Events) > 0 || len(b.Deltas) != 1 || b.Deltas[0].After != again+1 {
				t.Fatalf("behind the rest came %+v", b)
			}
		})
	}
}

// TestBeginsBehind: a follower returns what is behind the events it was given, at once.
func TestBeginsBehind(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	ids := h.plant(1, 2)
	for range 3 {
		h.note(ids[0], ids[0])
		h.note(ids[0], ids[1])
	}
	from := map[troupe.SessionID]int64{ids[0]: 3, ids[1]: 1}
	f := h.follow(wire.Follow{Root: ids[0], From: from})
	if got := next(t, f, 2); got[0].Session != ids[1] || got[0].Seq != 2 || from[ids[1]] != 1 {
		t.Errorf("behind %v came %v", from, got)
	}
}

// TestFailureLosesNothing: what could not be read is read the next time.
func TestFailureLosesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	root := h.plant(1, 0)[0]
	f := h.follow(wire.Follow{Root: root})
	now(t, f)
	h.note(root, root)
	h.fails.Store(true)
	if _, err := f.Next(t.Context()); err == nil {
		t.Fatal("a View failed, and nothing was said")
	}
	h.fails.Store(false)
	next(t, f, 1)
}

// TestNothingIsKept: a broker keeps nothing of trees that are not followed any more.
func TestNothingIsKept(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	for n := range 20 {
		root := h.plant(n, 1)[0]
		a, b := h.Follow(wire.Follow{Root: root, Deltas: true}), h.Follow(wire.Follow{Root: root})
		h.says(root, root, h.note(root, root), 1)
		a.Close()
		h.says(root, root, h.note(root, root), 1)
		if b := now(t, b); len(b.Events) != 2 {
			t.Errorf("when one of two has left, the other has %v", b)
		}
		a.Close()
		b.Close()
		h.says(root, root, h.note(root, root), 1)
	}
	if len(h.trees) > 0 || h.foreign != 0 {
		t.Errorf("it keeps %d trees and %d followers", len(h.trees), h.foreign)
	}
}

// stores are a home that can tell of commits and one that cannot.
func stores(t *testing.T, run func(t *testing.T, h, other *home)) {
	t.Run("looked at", func(t *testing.T) {
		t.Parallel()
		db := memstore.New(memstore.Options{})
		run(t, newHome(t, db.Open()), newHome(t, db.Open()))
	})
	t.Run("watched", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "troupe.db")
		open := func() *home {
			s, err := sqlite.Open(t.Context(), file, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			h := newHome(t, s)
			h.store = watched{counted{s, h}, s}
			return h
		}
		run(t, open(), open())
	})
}

// TestOtherProcess: trees that another process runs are followed through the store, with one look
// for all who follow, and none of it is left when they have gone.
func TestOtherProcess(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, h, other *home) {
		one, two := other.plant(1, 1), other.plant(2, 0)
		other.note(one[0], one[0])
		var all []*Follower
		for range 20 {
			f := h.follow(wire.Follow{Root: one[0]})
			next(t, f, 1)
			all = append(all, f)
		}
		idle := h.follow(wire.Follow{Root: two[0]})
		now(t, idle)
		other.note(one[0], one[1])
		other.note(one[0], one[0])
		for _, f := range all {
			next(t, f, 2)
		}
		if b := now(t, idle); len(b.Events) > 0 {
			t.Errorf("the follower of another tree has %v", b)
		}
		for _, f := range all {
			now(t, f)
			if f.commit(one[0], 2, nil, 0); len(f.wake) > 0 {
				t.Error("a follower was woken for what it has")
			}
		}
		for _, f := range append(all, idle) {
			f.Close()
		}
		h.watches.Wait()
	})
}

// TestOneLook: a look at a tree of another process is one for all who follow it.
func TestOneLook(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	h.Broker.Close() // no looks but ours
	roots := []troupe.SessionID{h.plant(1, 0)[0], h.plant(2, 0)[0], h.plant(3, 0)[0]}
	h.runs(roots[0], false)
	h.runs(roots[1], false)
	var all []*Follower
	for i := range 60 {
		f := h.follow(wire.Follow{Root: roots[i%3]})
		now(t, f)
		all = append(all, f)
	}
	for _, root := range roots[:2] {
		h.note(root, root)
	}
	for _, woken := range []int{40, 0} {
		before := h.reads.Load()
		h.look(t.Context())
		if n := h.reads.Load() - before; n != 2 {
			t.Errorf("a look at two trees took %d Views", n)
		}
		for _, f := range all {
			woken -= len(now(t, f).Events)
		}
		if woken != 0 {
			t.Errorf("%d followers more should have been woken", woken)
		}
	}
}

// TestChangesHands: a tree is followed through, whichever process runs it.
func TestChangesHands(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, h, other *home) {
		root := other.plant(1, 0)[0]
		f := h.follow(wire.Follow{Root: root})
		other.note(root, root)
		next(t, f, 1)
		other.runs(root, false)
		h.runs(root, true)
		now(t, f)
		if f.foreign || h.foreign != 0 {
			t.Error("it still waits for another process")
		}
		h.note(root, root)
		next(t, f, 1)
		h.runs(root, false)
		other.runs(root, true)
		other.note(root, root)
		next(t, f, 1)
	})
}

// TestNoGap: what is committed while a tree changes hands was announced to no process.
func TestNoGap(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	h.Broker.Close() // nothing is looked at
	root := h.plant(1, 0)[0]
	f := h.follow(wire.Follow{Root: root})
	now(t, f)
	h.runs(root, false)
	h.note(root, root)
	next(t, f, 1)
	h.runs(root, true)
	now(t, f)
	got := make(chan int)
	go func() { // it waits when the tree goes, and is told
		b, err := f.Next(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- len(b.Events)
	}()
	h.runs(root, false)
	h.note(root, root)
	h.Moved(root)
	if n := <-got; n != 1 {
		t.Errorf("%d events came when the tree had gone", n)
	}
}

// TestManyAtOnce has writers and readers run at the same time; the race detector looks on.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	const trees, followers, events = 4, 5, 50
	var wg sync.WaitGroup
	for n := range trees {
		ids := h.plant(n, 1)
		for range followers {
			wg.Go(func() {
				f := h.Follow(wire.Follow{Root: ids[0], Deltas: true})
				defer f.Close()
				got := next(t, f, 2*events)
				if slices.ContainsFunc(got, func(e troupe.Event) bool { return e.Root != ids[0] }) {
					t.Error("an event of another tree")
				}
			})
		}
		for _, s := range ids {
			wg.Go(func() {
				for range events {
					h.says(ids[0], s, h.note(ids[0], s), 1)
				}
			})
		}
	}
	wg.Wait()
}

// TestPages: a paged follower reads few events of the log at once, each once and in order, however many there are and
// however large; a piece of a reply waits for the events before it.
func TestPages(t *testing.T) {
	t.Parallel()
	for what, x := range map[string]struct{ events, bytes, most int }{
		"many": {1000, 1, pageEvents}, "large": {40, 200 << 10, partEvents},
	} {
		h := newHome(t, mem())
		ids := h.plant(1, 2)
		f := h.follow(wire.Follow{Root: ids[0], Deltas: true, Paged: true})
		seq := int64(0)
		for range x.events {
			for _, id := range ids {
				seq = h.log(ids[0], id, troupe.ModelChanged{Model: strings.Repeat("m", x.bytes)})
			}
		}
		h.says(ids[0], ids[2], seq, 1)
		seen := make(map[troupe.SessionID]int64)
		n, said, first := 0, 0, true
		for n < len(ids)*x.events || said == 0 {
			var b wire.Batch
			if first {
				events, err := f.Rest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				b.Events = events
			} else {
				b = now(t, f)
			}
			first = false
			if len(b.Events)+len(b.Deltas) == 0 || len(b.Events) > x.most {
				t.Fatalf("%s: a page of %d events behind %d", what, len(b.Events), n)
			}
			for _, e := range b.Events {
				if seen[e.Session]++; seen[e.Session] != e.Seq {
					t.Fatalf("%s: event %d of %s comes as number %d", what, e.Seq, e.Session, seen[e.Session])
				}
			}
			n, said = n+len(b.Events), said+len(b.Deltas)
			if len(b.Deltas) > 0 && seen[ids[2]] < seq {
				t.Fatalf("%s: a piece comes before the events that it follows", what)
			}
		}
		if n != len(ids)*x.events || said != 1 {
			t.Errorf("%s: %d events and %d pieces came", what, n, said)
		}
		h.note(ids[0], ids[0])
		next(t, f, 1)
	}
}
