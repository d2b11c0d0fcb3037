package follow

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// maxDeltas is how many deltas are kept for a reader that is behind.
const maxDeltas = 512

// A page of the log has at most so many events, and is full at so many bytes. It is read in parts, of which the last
// may go beyond the bytes.
const (
	pageEvents, pageBytes = 200, 1 << 20
	// A page is read in parts: ten first, for they may be large, and twice as many each time.
	partEvents, largestPart = 10, 40
)

// Follower reads what happens in a tree, from behind the events it was given.
type Follower struct {
	broker *Broker
	o      wire.Follow
	tree   *tree
	wake   chan struct{} // holds a token while there is something to read

	// guarded by the broker's mutex
	foreign bool // another process runs the tree
	left    bool

	mu      sync.Mutex
	cursors map[troupe.SessionID]int64 // the last event of each session that was returned
	all     bool                       // any session may have changed
	kept    kept
	deltas  []wire.Delta
	more    bool                       // the log holds more than the last page
	ended   map[troupe.SessionID]int64 // the last event returned that ended a reply; with deltas only
}

func newFollower(b *Broker, o wire.Follow) *Follower {
	f := &Follower{broker: b, o: o, wake: make(chan struct{}, 1), cursors: maps.Clone(o.From)}
	if f.cursors == nil {
		f.cursors = make(map[troupe.SessionID]int64)
	}
	f.again()
	return f
}

// Close ends the following.
func (f *Follower) Close() { f.broker.leave(f) }

// Next waits until there is something to tell and returns it. The batch is empty when ctx is done.
func (f *Follower) Next(ctx context.Context) (wire.Batch, error) {
	for {
		f.broker.place(ctx, f)
		select {
		case <-f.wake:
		default:
			select {
			case <-f.wake:
			case <-ctx.Done():
				return wire.Batch{}, nil
			}
		}
		deltas := f.pieces() // first: the events that their calls began with are there already
		events, err := f.read(context.WithoutCancel(ctx))
		if f.keeps(deltas) {
			deltas = nil
		}
		b := wire.Batch{Deltas: deltas, Events: events}
		if err != nil || len(b.Events)+len(b.Deltas) > 0 {
			return b, err
		}
	}
}

// Rest returns every event that was committed since the last batch, without waiting.
func (f *Follower) Rest(ctx context.Context) ([]troupe.Event, error) {
	f.mu.Lock()
	f.all = true
	f.mu.Unlock()
	return f.read(ctx)
}

// again has the next read look at every session.
func (f *Follower) again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = true
	f.signal()
}

func (f *Follower) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// commit notes that a session may have new events.
func (f *Follower) commit(id troupe.SessionID, seq int64, events []troupe.Event, weight int) {
	if f.o.Only != "" && id != f.o.Only {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all || seq <= f.cursors[id] {
		return
	}
	if f.kept.add(id, events, weight) {
		f.signal()
	}
}

func (f *Follower) delta(d wire.Delta) {
	if !f.o.Deltas || f.o.Only != "" && d.Session != f.o.Only {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.deltas) < maxDeltas {
		f.deltas = append(f.deltas, d)
		f.signal()
	}
}

// pieces takes the deltas that were kept.
func (f *Follower) pieces() []wire.Delta {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.DeleteFunc(f.deltas, func(d wire.Delta) bool { return d.After < f.ended[d.Session] })
	f.deltas = nil
	return out
}

// keeps keeps pieces for a later batch, while events that belong before them may be unread.
func (f *Follower) keeps(deltas []wire.Delta) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.more {
		f.deltas = append(deltas, f.deltas...)
	}
	return f.more
}

// read returns the new events of the sessions that have changed: those that were announced with their
// commits, and from the log what was not.
func (f *Follower) read(ctx context.Context) (out []troupe.Event, err error) {
	f.mu.Lock()
	all, have := f.all, f.kept
	f.all, f.kept = false, kept{}
	f.mu.Unlock()
	if !all && len(have.changed) == 0 {
		return nil, nil
	}
	var unknown, later []troupe.SessionID
	for _, id := range have.changed {
		events, ok := have.behind(id, f.cursors[id])
		if !ok {
			unknown = append(unknown, id)
		}
		if ok && !all {
			out = append(out, events...)
		}
	}
	if all || len(unknown) > 0 {
		var read []troupe.Event
		err = f.broker.store.View(ctx, func(r store.Reader) error {
			events, unread, err := f.events(r, all, unknown)
			read, later = events, unread
			return err
		})
		out = append(out, read...)
	}
	if err != nil {
		f.again()
		return nil, fmt.Errorf("follow session %s: %w", f.o.Root, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range out {
		f.cursors[e.Session] = e.Seq
		if f.o.Deltas && endsReply(e.Body) {
			f.end(e)
		}
	}
	if f.more = len(later) > 0; f.more {
		for _, id := range later {
			f.kept.add(id, nil, 0)
		}
		f.signal()
	}
	return out, nil
}

// end notes that deltas of a session up to here come too late. The mutex is held.
func (f *Follower) end(e troupe.Event) {
	if f.ended == nil {
		f.ended = make(map[troupe.SessionID]int64)
	}
	f.ended[e.Session] = e.Seq
}

// endsReply reports whether a piece of a reply that began before belongs before this event.
func endsReply(b troupe.Body) bool {
	switch b.(type) {
	case troupe.Replied, troupe.ModelFailed, troupe.Compacted, troupe.Ended:
		return true
	}
	return false
}

// events reads what is behind the cursors, of all sessions or of those that have changed. What is left for other pages
// is behind the cursors of later.
func (f *Follower) events(r store.Reader, all bool, changed []troupe.SessionID) (out []troupe.Event,
	later []troupe.SessionID, err error) {
	switch {
	case all && f.o.Only != "":
		changed = []troupe.SessionID{f.o.Only}
	case all:
		changed = nil
		sessions, err := r.Sessions(store.Filter{Root: f.o.Root})
		if err != nil {
			return nil, nil, err
		}
		for _, s := range sessions {
			if s.Seq > f.cursors[s.ID] {
				changed = append(changed, s.ID)
			}
		}
	}
	weight := 0
	for i, id := range changed {
		part := math.MaxInt32
		if f.o.Paged {
			part = min(partEvents, max(pageEvents-len(out), 1))
		}
		for after, more := f.cursors[id], true; more; {
			if f.o.Paged && (len(out) >= pageEvents || weight >= pageBytes) {
				return out, changed[i:], nil
			}
			events, err := r.Events(id, after, part)
			if err != nil {
				return nil, nil, err
			}
			out, more = append(out, events...), len(events) == part
			for _, e := range events {
				if after = e.Seq; f.o.Paged {
					weight += bytesOf(e.Body)
				}
			}
			if f.o.Paged {
				part = min(2*part, largestPart, max(pageEvents-len(out), 1))
			}
		}
	}
	return out, nil, nil
}
