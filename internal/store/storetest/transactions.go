package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// everything makes one write of each sort in the tree of root, which has two children and
// the unread mail "old" to its root.
func everything(tx store.Tx, root troupe.Session, kids []troupe.Session) error {
	l, err := tx.Claim(kids[1].ID, "owner-b")
	if err != nil {
		return err
	}
	sums := troupe.TreeDelta{Total: 1, Active: 1, Tally: troupe.Tally{Turns: 1}}
	return errors.Join(
		tx.Insert(newChild(root, 9), ours(), nil),
		note(tx, ours(), kids[0].ID, "first"),
		note(tx, l, kids[1].ID, "under the new lease"),
		send(tx, prompt(root, "new")),
		tx.PutRequest(newRequest(root, 1)),
		tx.MarkDelivered(root.ID, 1, []troupe.MailID{"old"}),
		tx.AddTree(root.ID, sums),
		tx.SetCaps(root.ID, troupe.Caps{MaxDepth: 7}),
	)
}

// picture is all there is to read about a tree.
type picture struct {
	Sessions []troupe.Session
	Tree     troupe.Tree
	Leases   []troupe.Lease
	Events   [][]troupe.Event
	Unread   [][]troupe.Mail
	Requests []troupe.Request
}

func draw(r store.Reader, root troupe.SessionID) (p picture, err error) {
	if p.Tree, err = r.Tree(root); err != nil {
		return p, err
	}
	if p.Sessions, err = r.Sessions(store.Filter{Root: root}); err != nil {
		return p, err
	}
	if p.Requests, err = r.Requests(store.RequestFilter{Root: root}); err != nil {
		return p, err
	}
	for _, s := range p.Sessions {
		l, err1 := r.Lease(s.ID)
		ev, err2 := r.Events(s.ID, 0, 0)
		un, err3 := r.Unread(s.ID)
		if err := errors.Join(err1, err2, err3); err != nil {
			return p, err
		}
		p.Leases, p.Events, p.Unread = append(p.Leases, l), append(p.Events, ev), append(p.Unread, un)
	}
	return p, nil
}

func (e *env) draw(root troupe.SessionID) picture {
	e.Helper()
	return read(e, func(r store.Reader) (picture, error) { return draw(r, root) })
}

// plantOld is a tree for everything.
func (e *env) plantOld() (troupe.Session, []troupe.Session) {
	e.Helper()
	root, kids := e.plant(1, 2)
	e.update(root.ID, func(tx store.Tx) error { return send(tx, prompt(root, "old")) })
	return root, kids
}

func testDurable(e *env) {
	other := e.open()
	root, kids := e.plantOld()
	e.update(root.ID, func(tx store.Tx) error { return everything(tx, root, kids) })
	want := e.draw(root.ID)
	if len(want.Sessions) != 4 || want.Tree.Caps.MaxDepth != 7 || len(want.Events[1]) != 1 {
		e.Fatalf("not everything was written: %+v", want)
	}
	e.Store = other
	e.same("what another process sees", e.draw(root.ID), want)
	e.home.Kill(e.T, e.home.Open(e.T))
	killed := e.home.Open(e.T)
	if err := killed.Update(e.Context(), root.ID, func(tx store.Tx) error {
		return tx.AddTree(root.ID, troupe.TreeDelta{Total: 1})
	}); err != nil {
		e.Fatal(err)
	}
	e.home.Kill(e.T, killed)
	e.Store = e.open()
	want.Tree.Total++
	want.Tree.SincePrompt++
	e.same("what is there after a crash", e.draw(root.ID), want)
}

func testAtomic(e *env) {
	root, kids := e.plantOld()
	before := e.draw(root.ID)
	boom := errors.New("boom")
	e.refused(boom, root.ID, func(tx store.Tx) error { return errors.Join(everything(tx, root, kids), boom) })
	e.same("the tree after a failure", e.draw(root.ID), before)
	e.refused(boom, root.ID, func(tx store.Tx) error {
		if err := everything(tx, root, kids); err != nil {
			return err
		}
		return errors.Join(tx.DeleteTree(root.ID), boom)
	})
	e.same("the tree after a deletion that failed", e.draw(root.ID), before)
	fresh := newRoot(2)
	fresh.Name = "fresh"
	e.refused(boom, fresh.ID, func(tx store.Tx) error {
		return errors.Join(tx.Insert(fresh, ours(), nil), boom)
	})
	// Nothing of the failures is in the way of doing it all again.
	e.update(root.ID, func(tx store.Tx) error { return everything(tx, root, kids) })
	e.update(fresh.ID, func(tx store.Tx) error { return tx.Insert(fresh, ours(), nil) })
}

func testErrorsPassThrough(e *env) {
	boom := errors.New("boom")
	if err := e.Update(e.Context(), rootID(1), func(store.Tx) error { return boom }); !errors.Is(err, boom) {
		e.Errorf("Update returned %v", err)
	}
	if err := e.View(e.Context(), func(store.Reader) error { return boom }); !errors.Is(err, boom) {
		e.Errorf("View returned %v", err)
	}
}

func testTxSeesItsWrites(e *env) {
	root, kids := e.plantOld()
	var inside picture
	e.update(root.ID, func(tx store.Tx) (err error) {
		if err := everything(tx, root, kids); err != nil {
			return err
		}
		inside, err = draw(tx, root.ID)
		return err
	})
	e.same("what the transaction saw", inside, e.draw(root.ID))
	if len(inside.Sessions) != 4 || len(inside.Unread[0]) != 1 || inside.Unread[0][0].ID != "new" {
		e.Fatalf("the transaction did not see what it wrote: %+v", inside)
	}
}

// testMistakesCannotBeSwallowed: a function that goes on after a write that can never be
// right must not commit what else it wrote.
func testMistakesCannotBeSwallowed(e *env) {
	root, kids := e.plant(1, 1)
	bad := kids[0]
	bad.Seq, bad.Status = 1, "asleep"
	e.refused(nil, root.ID, func(tx store.Tx) error {
		if err := tx.AddTree(root.ID, troupe.TreeDelta{Total: 1}); err != nil {
			return err
		}
		_, events := next(kids[0], "x")
		if err := tx.Append(ours(), bad, events); err == nil {
			return errors.New("there is no such status")
		}
		return nil
	})
	if got := e.tree(root.ID); got.Total != 0 {
		e.Errorf("total is %d: a transaction with a mistake in it was committed", got.Total)
	}
}

func testOtherTree(e *env) {
	one, _ := e.plant(1, 0)
	two, _ := e.plant(2, 1)
	writes := map[string]func(store.Tx) error{
		"Insert":      func(tx store.Tx) error { return tx.Insert(newChild(two, 5), ours(), nil) },
		"Append":      func(tx store.Tx) error { return note(tx, ours(), two.ID, "x") },
		"Claim":       func(tx store.Tx) error { _, err := tx.Claim(two.ID, "owner-b"); return err },
		"Send":        func(tx store.Tx) error { return send(tx, prompt(two, "m")) },
		"AddTree":     func(tx store.Tx) error { return tx.AddTree(two.ID, troupe.TreeDelta{Total: 1}) },
		"SetCaps":     func(tx store.Tx) error { return tx.SetCaps(two.ID, troupe.Caps{}) },
		"PutDocument": func(tx store.Tx) error { return tx.PutDocument(two.ID, "a", nil) },
		"DeleteTree":  func(tx store.Tx) error { return tx.DeleteTree(two.ID) },
	}
	before := e.draw(two.ID)
	for name, write := range writes {
		if err := e.Update(e.Context(), one.ID, write); err == nil {
			e.Errorf("%s wrote in another tree", name)
		}
	}
	e.same("the other tree", e.draw(two.ID), before)
}

func testTxEnds(e *env) {
	root, _ := e.plant(1, 0)
	var tx store.Tx
	e.update(root.ID, func(t store.Tx) error { tx = t; return nil })
	var r store.Reader
	e.view(func(v store.Reader) error { r = v; return nil })
	if err := tx.AddTree(root.ID, troupe.TreeDelta{Total: 1}); err == nil {
		e.Error("a Tx writes after its function has returned")
	}
	for name, late := range map[string]store.Reader{"Tx": tx, "Reader": r} {
		if _, err := late.Session(root.ID); err == nil || errors.Is(err, troupe.ErrNotFound) {
			e.Errorf("a %s reads after its function has returned (%v)", name, err)
		}
	}
	if got := e.tree(root.ID).Total; got != 0 {
		e.Errorf("total is %d", got)
	}
}

func testPanic(e *env) {
	root, kids := e.plantOld()
	before := e.draw(root.ID)
	panics := func(what string, run func()) {
		defer func() {
			if recover() == nil {
				e.Errorf("a panic in %s did not reach its caller", what)
			}
		}()
		run()
	}
	panics("Update", func() {
		_ = e.Update(e.Context(), root.ID, func(tx store.Tx) error {
			_ = everything(tx, root, kids)
			panic("boom")
		})
	})
	panics("View", func() { _ = e.View(e.Context(), func(store.Reader) error { panic("boom") }) })
	e.same("the tree after a panic", e.draw(root.ID), before)
	e.update(root.ID, func(tx store.Tx) error { return everything(tx, root, kids) })
}

func testCancelled(e *env) {
	root, _ := e.plant(1, 0)
	gone, cancel := context.WithCancel(e.Context())
	cancel()
	run := false
	err := e.Update(gone, root.ID, func(store.Tx) error { run = true; return nil })
	if run || !errors.Is(err, context.Canceled) {
		e.Errorf("Update with a context that had ended: run %v, %v", run, err)
	}
	err = e.View(gone, func(store.Reader) error { run = true; return nil })
	if run || !errors.Is(err, context.Canceled) {
		e.Errorf("View with a context that had ended: run %v, %v", run, err)
	}

	// While another holds the tree, the context ends: the function never runs.
	ctx, cancel := context.WithCancel(e.Context())
	entered, leave := make(chan struct{}), make(chan struct{})
	var enter sync.Once
	var wg sync.WaitGroup
	var first, second error
	wg.Go(func() {
		first = e.Update(e.Context(), root.ID, func(tx store.Tx) error {
			enter.Do(func() { close(entered) })
			<-leave
			return tx.AddTree(root.ID, troupe.TreeDelta{Total: 1})
		})
	})
	<-entered
	var ran atomic.Bool
	wg.Go(func() {
		second = e.Update(ctx, root.ID, func(tx store.Tx) error {
			ran.Store(true)
			return tx.AddTree(root.ID, troupe.TreeDelta{Total: 10})
		})
	})
	cancel()
	close(leave)
	wg.Wait()
	if first != nil || !errors.Is(second, context.Canceled) || ran.Load() {
		e.Errorf("the one that held the tree: %v; the cancelled one: %v, run %v", first, second, ran.Load())
	}
	if got := e.tree(root.ID).Total; got != 1 {
		e.Errorf("total is %d, want 1", got)
	}

	// Once it runs, the outcome is told, whatever becomes of the context.
	ctx, cancel = context.WithCancel(e.Context())
	err = e.Update(ctx, root.ID, func(tx store.Tx) error {
		cancel()
		return tx.AddTree(root.ID, troupe.TreeDelta{Total: 1})
	})
	if got := e.tree(root.ID).Total; (err == nil) != (got == 2) {
		e.Errorf("Update answered %v and total is %d", err, got)
	}
}

func testClosed(e *env) {
	root, _ := e.plant(1, 0)
	s := e.open()
	if err := s.Close(); err != nil {
		e.Fatal(err)
	}
	ctx := e.Context()
	_, regErr := s.Register(ctx, troupe.Owner{ID: "late"})
	_, _, ownErr := s.Owner(ctx, "late")
	for what, err := range map[string]error{
		"Update":   s.Update(ctx, root.ID, func(store.Tx) error { return nil }),
		"View":     s.View(ctx, func(store.Reader) error { return nil }),
		"Register": regErr,
		"Owner":    ownErr,
	} {
		if err == nil || errors.Is(err, troupe.ErrNotFound) {
			e.Errorf("%s works on a closed store (%v)", what, err)
		}
	}
	if err := s.Close(); err != nil {
		e.Errorf("closing again: %v", err)
	}
	e.update(root.ID, func(tx store.Tx) error { return tx.AddTree(root.ID, troupe.TreeDelta{Total: 1}) })
}

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
