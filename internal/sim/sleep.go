package sim

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// nobody holds the trees that sleep.
const nobody troupe.OwnerID = "nobody"

// putAway has the process that owns the tree put it away, in the middle of whatever is under way. What is said to it
// then waits for the process that wakes it. That nothing but the waking follows in the logs, turn.Apply says, by which
// the watch reads them.
func (w *world) putAway() error {
	p := w.live
	if p.dozing { // it does already
		return nil
	}
	held, err := w.leaseOf(w.root)
	if errors.Is(err, troupe.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	w.trace("%s puts the tree away", p.owner)
	p.dozing = true
	w.add(&task{proc: p, name: "sleep", at: w.now, fn: func() {
		defer func() { p.dozing = false }()
		_, err := p.hub.Sleep(w.ctx(), session.Bedtime{Root: w.root, Expect: held, Nobody: nobody,
			Before: func(context.Context) {}, Then: func(context.Context) {}})
		switch {
		case errors.Is(err, troupe.ErrFenced), errors.Is(err, troupe.ErrAsleep), p.dead:
			return // another process was faster
		case err != nil:
			w.broken("%s puts the tree away: %w", p.owner, err)
			return
		}
		w.res.Sleeps++
		if p.hub.Runs(w.root) && w.sleeps() { // it may have been woken since, and taken back
			w.broken("%s has put the tree away, and runs it", p.owner)
		}
		if !w.sleptSince(held) {
			w.broken("%s has put the tree away, and no log says so", p.owner)
		}
		if p == w.live && w.sleeps() {
			w.left = p
			w.now = w.now.Add(time.Hour)
		}
	}})
	return nil
}

// sleptSince reports whether the tree was put away by the one that had it under a lease: another one has it since, or
// nobody.
func (w *world) sleptSince(held troupe.Lease) bool {
	now, err := w.leaseOf(w.root)
	return err == nil && now != held
}

// sleeps reports whether the tree was put away.
func (w *world) sleeps() bool {
	s, err := w.session(w.root)
	return err == nil && !s.AsleepAt.IsZero()
}
