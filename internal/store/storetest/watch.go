package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// testWatch holds a store that is a Watcher to what it promises.
func testWatch(e *env) {
	w, ok := e.Store.(store.Watcher)
	if !ok {
		e.Skip("it is no Watcher")
	}
	one, kids := e.plant(1, 1)
	two, _ := e.plant(2, 0)
	e.note(one.ID, one.ID, 2)

	ctx, cancel := context.WithCancel(e.Context())
	heard, done := make(chan []store.Commit, 100), make(chan error, 1)
	go func() { done <- w.Watch(ctx, func(c []store.Commit) { heard <- c }) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			e.Errorf("Watch: %v", err)
		}
	}()
	// next waits until every one of want was told, and demands that nothing else is.
	next := func(what string, want ...store.Commit) {
		e.Helper()
		at := make(map[troupe.SessionID]int64)
		for {
			select {
			case got := <-heard:
				if (len(got) == 0) != (len(want) == 0) {
					e.Fatalf("%s: told of %v, want %v", what, got, want)
				}
				for _, c := range got {
					if c.Seq <= at[c.Session] {
						e.Errorf("%s: event %d of %s is told after event %d", what, c.Seq, c.Session, at[c.Session])
					}
					at[c.Session] = c.Seq
				}
			case <-time.After(time.Minute):
				e.Fatalf("%s: told of %v, want %v", what, at, want)
			}
			missing := len(want) != len(at)
			for _, c := range want {
				missing = missing || at[c.Session] < c.Seq
			}
			if !missing {
				return
			}
		}
	}
	next("at first")
	e.Store = e.open() // another process from here on
	e.note(one.ID, one.ID, 1)
	e.note(one.ID, kids[0].ID, 3)
	next("two sessions of a tree", store.Commit{Root: one.ID, Session: one.ID, Seq: 3},
		store.Commit{Root: one.ID, Session: kids[0].ID, Seq: 3})

	// What writes no event, or is undone, is nothing to tell.
	e.update(two.ID, func(tx store.Tx) error { return send(tx, prompt(two, "m")) })
	failed := errors.New("no")
	e.refused(failed, two.ID, func(tx store.Tx) error { return errors.Join(note(tx, ours(), two.ID, "a"), failed) })
	e.note(two.ID, two.ID, 1)
	next("another tree", store.Commit{Root: two.ID, Session: two.ID, Seq: 1})

	// The newest events go, and others come in their place.
	e.update(two.ID, func(tx store.Tx) error { return tx.DeleteTree(two.ID) })
	e.update(one.ID, func(tx store.Tx) error { return tx.DeleteTree(one.ID) })
	e.plant(3, 0)
	e.note(rootID(3), rootID(3), 20)
	next("something may be missed after a removal")
}

// note has a session log n more events.
func (e *env) note(root, id troupe.SessionID, n int) {
	e.Helper()
	for range n {
		e.update(root, func(tx store.Tx) error { return note(tx, ours(), id, "x") })
	}
}
