package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestLostTreeIsLeftBehindASend: a tree that is lost while mail to it is on its way is left when that has
// come to its end, and not under its hands.
func TestLostTreeIsLeftBehindASend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		gap := &behind{}
		p := h.start(plays{"main": {call("Bash:5s"), call("Bash:5s"), say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { gap.Store = d.Store; d.Store = gap }
		}).begin(troupe.Caps{})
		pass(2 * time.Second) // in the middle of the first command
		var q *process
		left := make(chan error, 1)
		meanwhile := func() {
			q = h.adopt(plays{"main": {say("mine")}}.reply, false)
			pass(10 * time.Second) // the command ends, and its result cannot be written
			if err := p.hub.Wait(t.Context(), h.root); !errors.Is(err, troupe.ErrFenced) {
				t.Errorf("the tree is not lost: %v", err)
			}
			go func() { left <- p.hub.Leave(t.Context(), h.root) }()
			synctest.Wait()
			select {
			case err := <-left:
				t.Errorf("the tree was left while mail to it was on its way (%v)", err)
				left <- err
			default:
			}
			if !p.hub.Knows(h.root) {
				t.Error("the hub has forgotten a tree that it is sending to")
			}
		}
		gap.then.Store(&meanwhile)
		p.send(prompt(h.root, "by the way"))
		if err := <-left; !errors.Is(err, troupe.ErrFenced) {
			t.Errorf("who leaves the tree that was lost is told %v", err)
		}
		if p.hub.Knows(h.root) {
			t.Error("it is still hosted")
		}
		p.pool.Close()
		q.end()
		h.checkTree()
	})
}

// TestLostWhileItIsPutAway: a tree that another process takes in the moment in which it is put away is told to be that
// one's, and not to be asleep.
func TestLostWhileItIsPutAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		gap := &behind{}
		p := h.start(plays{"main": {call("Bash:5s"), say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { gap.Store = d.Store; d.Store = gap }
		}).begin(troupe.Caps{})
		pass(2 * time.Second) // in the middle of the command
		waits := make(chan error, 1)
		go func() { waits <- p.hub.Wait(t.Context(), h.root) }()
		var q *process
		meanwhile := func() {
			q = h.adopt(plays{"main": {say("mine")}}.reply, false)
			pass(10 * time.Second) // the command ends, and its result cannot be written
		}
		_, err := p.hub.Sleep(t.Context(), session.Bedtime{Root: h.root, Expect: h.lease(), Nobody: "nobody",
			Before: func(context.Context) { gap.first.Store(&meanwhile) }, Then: func(context.Context) {}})
		if !errors.Is(err, troupe.ErrFenced) {
			t.Errorf("put away: %v", err)
		}
		if err := <-waits; !errors.Is(err, troupe.ErrFenced) || errors.Is(err, troupe.ErrAsleep) {
			t.Errorf("who waits for it is told %v", err)
		}
		p.pool.Close()
		q.end()
		h.checkTree()
	})
}
