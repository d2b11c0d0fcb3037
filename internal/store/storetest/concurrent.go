package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// testOneAtATime counts who is inside the functions of a tree.
func testOneAtATime(e *env) {
	const trees, writers, rounds = 3, 4, 10
	stores := []store.Store{e.Store, e.open()}
	var wg sync.WaitGroup
	for n := range trees {
		root, _ := e.plant(n, 0)
		var inside atomic.Int32
		for w := range writers {
			s := stores[w%len(stores)]
			wg.Go(func() {
				for range rounds {
					err := s.Update(e.Context(), root.ID, func(tx store.Tx) error {
						if inside.Add(1) != 1 {
							e.Error("two functions of one tree run at the same time")
						}
						defer inside.Add(-1)
						if err := tx.AddTree(root.ID, troupe.TreeDelta{Total: 1}); err != nil {
							return err
						}
						_, err := tx.Tree(root.ID)
						return err
					})
					if err != nil {
						e.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	for n := range trees {
		if got := e.tree(rootID(n)).Total; got != writers*rounds {
			e.Errorf("tree %d counts %d, want %d", n, got, writers*rounds)
		}
	}
}

// testFailuresHurtNobodyElse mixes functions that fail, before and after they wrote, with
// ones that go well. However they are grouped and repeated, exactly those that were
// answered with success have their effect, and have it once.
func testFailuresHurtNobodyElse(e *env) {
	const n = 60
	root, _ := e.plant(1, 0)
	boom := errors.New("boom")
	var wg sync.WaitGroup
	var well atomic.Int64
	for i := range n {
		wg.Go(func() {
			err := e.Update(e.Context(), root.ID, func(tx store.Tx) error {
				if i%5 == 1 {
					return boom
				}
				if err := tx.AddTree(root.ID, troupe.TreeDelta{Total: 1}); err != nil {
					return err
				}
				switch i % 5 {
				case 2:
					return boom
				case 3: // what it runs into is the contract's, not its own
					return tx.Insert(newRoot(1), ours(), nil)
				}
				return send(tx, prompt(root, troupe.MailID(fmt.Sprint(i))))
			})
			want := []error{nil, boom, boom, troupe.ErrExists, nil}[i%5]
			if !errors.Is(err, want) {
				e.Errorf("function %d was answered %v, want %v", i, err, want)
			}
			if err == nil {
				well.Add(1)
			}
		})
	}
	wg.Wait()
	if got, mail := e.tree(root.ID).Total, len(e.unread(root.ID)); int64(got) != well.Load() || mail != got ||
		got != n/5*2 {
		e.Errorf("%d were answered with success; %d counted, %d mails", well.Load(), got, mail)
	}
}

// testManyWriters lets agents of several trees write their logs at once, from two processes.
func testManyWriters(e *env) {
	const trees, kids, rounds = 3, 5, 8
	stores := []store.Store{e.Store, e.open()}
	var wg sync.WaitGroup
	var all []troupe.Session
	for n := range trees {
		root, children := e.plant(n, kids)
		for i, c := range children {
			all = append(all, c)
			s := stores[i%len(stores)]
			wg.Go(func() {
				for range rounds {
					c.Tally.Turns++
					events := []troupe.Event(nil)
					c, events = next(c, "working")
					err := s.Update(e.Context(), root.ID, func(tx store.Tx) error {
						return errors.Join(tx.Append(ours(), c, events),
							tx.AddTree(root.ID, troupe.TreeDelta{Tally: troupe.Tally{Turns: 1}}))
					})
					if err != nil {
						e.Errorf("%s, event %d: %v", c.Name, c.Seq, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	for _, c := range all {
		got, events := e.session(c.ID), e.events(c.ID)
		if got.Seq != rounds || got.Tally.Turns != rounds || len(events) != rounds {
			e.Errorf("%s stands at %d with %d events and %d turns", c.ID, got.Seq, len(events), got.Tally.Turns)
		}
		for i, ev := range events {
			if ev.Seq != int64(i+1) {
				e.Errorf("%s: event %d is number %d", c.ID, i, ev.Seq)
			}
		}
	}
	for n := range trees {
		if got := e.tree(rootID(n)).Tally.Turns; got != kids*rounds {
			e.Errorf("tree %d counts %d turns, want %d", n, got, kids*rounds)
		}
	}
}

// testViewIsConsistent moves one unit from a child's bill to the tree's and back, and looks
// at both in one View: they always add up, and the log is as long as the session says.
func testViewIsConsistent(e *env) {
	const rounds = 60
	root, kids := e.plant(1, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range rounds {
			err := e.Update(e.Context(), root.ID, func(tx store.Tx) error {
				s, err := tx.Session(kids[0].ID)
				if err != nil {
					return err
				}
				s.Tally.Turns++
				s, events := next(s, "x")
				return errors.Join(tx.AddTree(root.ID, troupe.TreeDelta{Tally: troupe.Tally{Turns: 1}}),
					tx.Append(ours(), s, events))
			})
			if err != nil {
				e.Error(err)
				return
			}
		}
	})
	for last := int64(0); last < rounds; {
		e.view(func(r store.Reader) error {
			t, err1 := r.Tree(root.ID)
			s, err2 := r.Session(kids[0].ID)
			ev, err3 := r.Events(kids[0].ID, 0, 0)
			if t.Tally.Turns != s.Tally.Turns || s.Seq != int64(s.Tally.Turns) || len(ev) != s.Tally.Turns {
				e.Errorf("one View shows %d turns of the tree, %d of the session, event %d and %d events",
					t.Tally.Turns, s.Tally.Turns, s.Seq, len(ev))
			}
			if s.Seq < last {
				e.Errorf("a later View shows event %d after %d", s.Seq, last)
			}
			last = s.Seq
			return errors.Join(err1, err2, err3)
		})
		if e.Failed() {
			break
		}
	}
	wg.Wait()
}

func testSlicesBelongToTheCaller(e *env) {
	root, kids := e.plantOld()
	body := troupe.MailDelivered{Mail: []troupe.Mail{prompt(root, "m")}}
	s, events := next(kids[0], "x")
	events[0].Body = body
	e.update(root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
	before := e.draw(root.ID)
	// What was handed in, and what was read, are changed; the store is not.
	body.Mail[0].ID = "changed"
	events[0].Seq = 99
	p := e.draw(root.ID)
	p.Sessions[0].Name, p.Events[1][0].Seq, p.Unread[0][0].Blocks[0].Text = "changed", 99, "changed"
	if d, ok := p.Events[1][0].Body.(troupe.MailDelivered); ok {
		d.Mail[0].ID = "changed"
	}
	e.same("the store", e.draw(root.ID), before)
}
