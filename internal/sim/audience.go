package sim

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/follow"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Elsewhere is another tree of the home, which every process runs too.
const Elsewhere troupe.SessionID = "elsewhere"

// audience is those who follow the tree, and one who follows another. When they read is drawn apart
// from the seed's other draws: whether one looks changes nothing of what happens.
type audience struct {
	w       *world
	rng     *rand.Rand
	readers []*reader
}

// reader follows a tree from process to process and holds what it is told to what was promised:
// each event once, in order, none of another tree; deltas in their place, or not at all.
type reader struct {
	w    *world
	root troupe.SessionID
	lazy int // it reads once in so many steps
	p    *process
	f    *follow.Follower

	seen   map[troupe.SessionID]int64 // the last event of each session
	ended  map[troupe.SessionID]int64 // the last that ended a reply
	pieces map[troupe.SessionID]pieces
}

// pieces are what has come of a reply.
type pieces struct {
	after, no int64
	text      string
	gap       bool // one is missing
}

// comparing is how lazy the reader is that compares what it is told with the log.
const comparing = 20

func newAudience(w *world) audience {
	a := audience{w: w, rng: rand.New(rand.NewPCG(w.opt.Seed, 0xf0110))}
	for _, lazy := range []int{2, comparing, 300} {
		a.readers = append(a.readers, newReader(w, w.root, lazy))
	}
	a.readers = append(a.readers, newReader(w, Elsewhere, 10))
	err := w.store.Update(w.ctx(), Elsewhere, func(tx store.Tx) error {
		return tx.Insert(troupe.Session{ID: Elsewhere, Root: Elsewhere, Status: troupe.Spawning}, troupe.Lease{}, nil)
	})
	if err != nil {
		w.broken("begin another tree: %w", err)
	}
	return a
}

func newReader(w *world, root troupe.SessionID, lazy int) *reader {
	return &reader{
		w: w, root: root, lazy: lazy, seen: make(map[troupe.SessionID]int64),
		ended: make(map[troupe.SessionID]int64), pieces: make(map[troupe.SessionID]pieces),
	}
}

// broker makes the part of a process that brings the audience what happens. It has no goroutine:
// trees of other processes are looked at when their readers read.
func (w *world) broker(p *process) *follow.Broker {
	b := follow.New(&crashStore{Store: w.store, p: p}, func(root troupe.SessionID) bool {
		return root == Elsewhere || p.hub != nil && p.hub.Runs(root)
	})
	b.Close()
	return b
}

// announced hands on what a process has committed, and sometimes commits in the other tree.
func (a *audience) announced(p *process, root, id troupe.SessionID, seq int64, events []troupe.Event) {
	p.followers.Commit(root, id, seq, events)
	if a.rng.IntN(8) > 0 {
		return
	}
	var s troupe.Session
	err := a.w.store.Update(a.w.ctx(), Elsewhere, func(tx store.Tx) (err error) {
		if s, err = tx.Session(Elsewhere); err != nil {
			return err
		}
		s.Seq++
		body := troupe.ModelChanged{Model: "m"}
		return tx.Append(troupe.Lease{}, s, []troupe.Event{{Root: Elsewhere, Session: Elsewhere, Seq: s.Seq,
			Body: body}})
	})
	if err != nil {
		a.w.broken("go on with another tree: %w", err)
	}
	for _, x := range a.readers {
		if x.p != nil { // every process runs it
			x.p.followers.Commit(Elsewhere, Elsewhere, s.Seq, nil)
		}
	}
}

// look lets some of the readers read.
func (a *audience) look() {
	for _, r := range a.readers {
		if a.rng.IntN(r.lazy) == 0 {
			r.read()
		}
	}
}

// read reads what there is. In a process that runs the tree, what was announced must be enough; in
// another one the reader looks for itself.
func (r *reader) read() {
	if live := r.w.live; r.p == nil || r.p.dead {
		if live == nil || live.dead {
			return
		}
		r.leave()
		r.p = live
		r.f = live.followers.Follow(wire.Follow{Root: r.root, From: r.seen, Deltas: true})
		clear(r.pieces) // what the process had said before is lost
	}
	var b wire.Batch
	var err error
	if r.root == Elsewhere || r.p.hub.Runs(r.root) {
		b, err = r.f.Next(r.w.expired())
	} else {
		b.Events, err = r.f.Rest(r.w.ctx())
	}
	if err != nil {
		r.w.broken("%s cannot be followed at %s: %w", r.root, r.p.owner, err)
	}
	r.batch(b)
}

func (r *reader) leave() {
	if r.f != nil {
		r.f.Close()
	}
}

func (r *reader) batch(b wire.Batch) {
	r.w.res.Pieces += len(b.Deltas)
	if len(b.Events) >= 10 {
		r.w.res.Behind++
	}
	for _, d := range b.Deltas {
		if d.After < r.ended[d.Session] {
			r.w.broken("a piece of session %s behind event %d comes after its reply has ended with event %d", d.Session,
				d.After, r.ended[d.Session])
		}
		if st := r.w.watch.states[d.Session]; r.root == Elsewhere || st == nil || st.Session.Root != r.root {
			r.w.broken("a follower of %s gets a piece of session %s", r.root, d.Session)
		}
		x := r.pieces[d.Session]
		if x.after != d.After {
			x = pieces{after: d.After}
		}
		x.gap = x.gap || d.No != x.no+1
		x.no, x.text = d.No, x.text+d.Text
		r.pieces[d.Session] = x
	}
	for _, e := range b.Events {
		if e.Root != r.root || e.Seq != r.seen[e.Session]+1 {
			r.w.broken("a follower of %s gets event %d of session %s of %s behind event %d", r.root, e.Seq, e.Session,
				e.Root, r.seen[e.Session])
		}
		r.seen[e.Session] = e.Seq
		if r.lazy == comparing {
			r.compare(e)
		}
		switch body := e.Body.(type) {
		case troupe.Replied:
			if x := r.pieces[e.Session]; x.after > r.ended[e.Session] && x.after < e.Seq && !x.gap &&
				!strings.HasPrefix(troupe.JoinText(body.Blocks), x.text) {
				r.w.broken("session %s said %q, and on the way %q", e.Session, troupe.JoinText(body.Blocks), x.text)
			}
			r.ended[e.Session] = e.Seq
		case troupe.ModelFailed, troupe.Compacted, troupe.Ended:
			r.ended[e.Session] = e.Seq
		}
	}
	for _, d := range b.Deltas {
		if d.After > r.seen[d.Session] {
			r.w.broken("a piece of session %s comes before event %d, with which its call began", d.Session, d.After)
		}
	}
}

// compare holds an event to what stands in the log. What a process has written it hands on as it has it in memory.
func (r *reader) compare(e troupe.Event) {
	err := r.w.store.View(r.w.ctx(), func(s store.Reader) error {
		log, err := s.Events(e.Session, e.Seq-1, 1)
		if err != nil {
			return err
		}
		if len(log) == 0 {
			return errors.New("the log does not have it")
		}
		want, err := troupe.EncodeBody(log[0].Body)
		if err != nil {
			return err
		}
		got, err := troupe.EncodeBody(e.Body)
		if err == nil && (!bytes.Equal(want, got) || !e.At.Equal(log[0].At) || e.Body.Kind() != log[0].Body.Kind()) {
			err = fmt.Errorf("it has %s, and the log has %s", got, want)
		}
		return err
	})
	if err != nil {
		r.w.broken("a follower of %s gets event %d of session %s: %w", r.root, e.Seq, e.Session, err)
	}
}

// rest holds the readers to having everything, once the tree is at rest: those who read where it is
// run by what that process has announced, the others after one more look.
func (a *audience) rest() {
	for _, r := range a.readers {
		r.read()
		if r.p != nil && r.p == a.w.live && !r.p.dead && r.root != Elsewhere {
			for id, seq := range r.p.logged {
				if r.seen[id] < seq {
					a.w.broken("event %d of session %s was never announced to a reader that has %d", seq, id,
						r.seen[id])
				}
			}
		}
		if r.f != nil && !r.p.dead {
			events, err := r.f.Rest(a.w.ctx())
			if err != nil {
				a.w.broken("%s cannot be followed at its end: %w", r.root, err)
			}
			r.batch(wire.Batch{Events: events})
			for id, st := range a.w.watch.states {
				if r.root == a.w.root && r.seen[id] != st.Session.Seq {
					a.w.broken("a reader has %d events of session %s, which has %d", r.seen[id], id, st.Session.Seq)
				}
			}
		}
		r.leave()
	}
}

// says streams the first text of a reply, in two pieces.
func says(sink func(model.Delta), blocks []troupe.Block) {
	if sink == nil || len(blocks) == 0 || blocks[0].Type != troupe.TextBlock {
		return
	}
	text := blocks[0].Text
	sink(model.Delta{Text: text[:len(text)/2]})
	sink(model.Delta{Text: text[len(text)/2:]})
}
