package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func testSend(e *env) {
	root, kids := e.plant(1, 2)
	a, b := kids[0], kids[1]
	full := prompt(a, "m1")
	full.From = root.ID
	full.Kind = troupe.MailTaskEnded
	full.Ended = &troupe.Outcome{Session: b.ID, Run: 1, Status: troupe.Completed, Result: "done"}
	e.update(root.ID, func(tx store.Tx) error { return send(tx, full) })
	e.same("the mail", read(e, func(r store.Reader) ([]troupe.Mail, error) { return r.Unread(a.ID) }),
		[]troupe.Mail{full})

	again := func(want bool, m troupe.Mail) {
		e.Helper()
		e.update(root.ID, func(tx store.Tx) error {
			for _, want := range []bool{want, false} {
				sent, err := tx.Send(m)
				if err != nil {
					return err
				}
				if sent != want {
					return fmt.Errorf("sent is %v for %s to %s, want %v", sent, m.ID, m.To, want)
				}
			}
			return nil
		})
	}
	changed := prompt(a, "m1")
	changed.Blocks = []troupe.Block{troupe.Text("other words")}
	again(false, changed)
	e.same("mail that was sent again", read(e, func(r store.Reader) ([]troupe.Mail, error) { return r.Unread(a.ID) }),
		[]troupe.Mail{full})
	again(true, prompt(b, "m1")) // the receiver is part of what makes it the same
	again(true, prompt(a, "m0"))
	again(true, prompt(a, "m2"))
	e.same("the order of sending", e.unread(a.ID), []troupe.MailID{"m1", "m0", "m2"})
	e.same("the other's mail", e.unread(b.ID), []troupe.MailID{"m1"})

	nobody := prompt(a, "m3")
	nobody.To = "nobody"
	e.refused(troupe.ErrNotFound, root.ID, func(tx store.Tx) error { return send(tx, nobody) })
}

func testMarkDelivered(e *env) {
	root, kids := e.plant(1, 2)
	a, b := kids[0], kids[1]
	e.update(root.ID, func(tx store.Tx) error {
		var err error
		for _, id := range []troupe.MailID{"m1", "m2", "m3", "m4"} {
			err = errors.Join(err, send(tx, prompt(a, id)))
		}
		return errors.Join(err, send(tx, prompt(b, "m1")))
	})
	mark := func(ids ...troupe.MailID) func(store.Tx) error {
		return func(tx store.Tx) error { return tx.MarkDelivered(a.ID, 1, ids) }
	}
	e.update(root.ID, mark("m3", "m1"))
	e.same("what is left", e.unread(a.ID), []troupe.MailID{"m2", "m4"})
	e.same("the other's mail", e.unread(b.ID), []troupe.MailID{"m1"})

	e.refused(troupe.ErrFenced, root.ID, mark("m1"))
	e.refused(troupe.ErrFenced, root.ID, mark("m2", "m1"))
	e.refused(troupe.ErrFenced, root.ID, mark("m2", "m2"))
	e.refused(troupe.ErrFenced, root.ID, mark("never sent"))
	e.same("what is left after refusals", e.unread(a.ID), []troupe.MailID{"m2", "m4"})

	// Delivered mail that is sent once more stays delivered.
	e.update(root.ID, func(tx store.Tx) error {
		if sent, err := tx.Send(prompt(a, "m1")); sent || err != nil {
			return fmt.Errorf("sent %v, %w", sent, err)
		}
		return nil
	})
	e.update(root.ID, mark())
	e.update(root.ID, mark("m2", "m4"))
	if left := e.unread(a.ID); len(left) != 0 {
		e.Errorf("unread at the end: %v", left)
	}
}

// testDeliveryRace lets two readers of one mailbox deliver what they see, while mail keeps
// coming: every piece is delivered once.
func testDeliveryRace(e *env) {
	const pieces = 30
	root, kids := e.plant(1, 1)
	to := kids[0]
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range pieces {
			m := prompt(to, troupe.MailID(fmt.Sprint(i)))
			if err := e.Update(e.Context(), root.ID, func(tx store.Tx) error { return send(tx, m) }); err != nil {
				e.Error(err)
			}
		}
	})
	var delivered atomic.Int64
	for range 2 {
		s := e.open()
		wg.Go(func() {
			for delivered.Load() < pieces && !e.Failed() {
				var seen []troupe.Mail
				err := s.View(e.Context(), func(r store.Reader) (err error) {
					seen, err = r.Unread(to.ID)
					return err
				})
				if err != nil {
					e.Error(err)
					return
				}
				runtime.Gosched()
				for _, m := range seen {
					err := s.Update(e.Context(), root.ID, func(tx store.Tx) error {
						return errors.Join(tx.MarkDelivered(to.ID, 1, []troupe.MailID{m.ID}),
							tx.AddTree(root.ID, troupe.TreeDelta{Total: 1}))
					})
					if err == nil {
						delivered.Add(1)
					} else if !errors.Is(err, troupe.ErrFenced) {
						e.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if got := e.tree(root.ID).Total; delivered.Load() != pieces || got != pieces {
		e.Errorf("%d deliveries were answered with success and %d counted, of %d pieces", delivered.Load(), got, pieces)
	}
}
