package storetest

import (
	"context"
	"errors"
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
