package session

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// sleeping is what a tree needs to be put away in good order. Actors, jobs and those that wait read it without its
// lock.
//
//	Hub.Sleep is                 rests  under  who waits for the tree
//	not called, or has failed    false  false  waits, and is told if it is lost
//	waiting for what is at work  true   false  the same: nothing of it is new to them
//	committing, and quieting     true   true   is told nothing before it is known whether the tree sleeps
//	done                         false  false  is told that it sleeps: its actors are gone
//
// A tree that is not hosted here has no actors that could rest.
type sleeping struct {
	rests atomic.Bool // its actors hear of what they have begun, and begin nothing
	under atomic.Bool // it is being put away
	// jobs counts what goes on beside its actors, in all of these states, and idle is called when there is none any
	// more: while it is quieting, else it is nil.
	jobs atomic.Int64
	idle atomic.Pointer[context.CancelFunc]
}

// begun and over count what goes on beside the actors.
func (s *sleeping) begun() { s.jobs.Add(1) }

func (s *sleeping) over() {
	if s.jobs.Add(-1) > 0 {
		return
	}
	if wake := s.idle.Load(); wake != nil { // read last: who waits has said so before it looked at the count
		(*wake)()
	}
}

// Bedtime is a tree that is to be put away.
type Bedtime struct {
	Root   troupe.SessionID
	Expect troupe.Lease // of a tree that is not hosted here: the one whose owner was found dead
	// Within is how long what was begun has to come to its end: replies of models, and calls of tools.
	Within time.Duration
	// Nobody is the id of no process, which holds the tree from then on.
	Nobody troupe.OwnerID
	Caller *troupe.Caller
	// Before is called when nothing begins any more, and Then when nothing of the tree runs here any more, before those
	// that wait for it are told.
	Before, Then func(ctx context.Context)
}

// Interrupted is what a tree had under way when it was put away.
type Interrupted struct {
	Models   int      // replies that are asked for again
	Calls    []string // of tools, by their names: they may have taken effect
	Commands []string // in the background
}

func (i *Interrupted) command(o troupe.Outcome) {
	if i != nil {
		i.Commands = append(i.Commands, o.Name)
	}
}

// calls counts what is logged of what was cut off.
func (i *Interrupted) calls(recovered []troupe.Body) {
	for n := 0; i != nil && n < len(recovered); n++ {
		switch b := recovered[n].(type) {
		case troupe.ModelFailed:
			i.Models++
		case troupe.ToolFinished:
			if b.Interrupt {
				i.Calls = append(i.Calls, b.Name)
			}
		}
	}
}

// sleeper puts a tree away.
type sleeper struct{ t *tree }

func asleep(root troupe.SessionID) error { return fmt.Errorf("session %s: %w", root, troupe.ErrAsleep) }

// Sleep puts a tree away: what it has under way comes to its end within a bound or is cut off, and then all of it is
// asleep, in one transaction. Until that is committed the tree is as it was; from then on it is nobody's, and whoever
// waits for it here is told troupe.ErrAsleep. A tree that another process has taken up is troupe.ErrFenced. When Sleep
// returns, nothing of the tree runs here any more, unless it does not end when it is told to.
func (h *Hub) Sleep(ctx context.Context, b Bedtime) (cut Interrupted, err error) {
	t := h.hold(b.Root)
	if t == nil {
		t = h.open(b.Root)
	}
	defer h.unhold(t)
	s := sleeper{t}
	t.mu.Lock()
	here := t.up
	t.mu.Unlock()
	if here {
		if !t.sleep.rests.CompareAndSwap(false, true) {
			return cut, fmt.Errorf("put tree %s away, which is being put away: %w", b.Root, troupe.ErrFenced)
		}
		defer s.goOn()
		if s.settle(ctx, b.Within); ctx.Err() != nil {
			// who asked for it has thought better of it
			return cut, fmt.Errorf("put tree %s away: %w", b.Root, ctx.Err())
		}
	} else {
		if !t.beginAdoption(b.Expect) {
			return cut, fmt.Errorf("put tree %s away, which is being taken over: %w", b.Root, troupe.ErrFenced)
		}
		defer t.endAdoption()
	}
	ctx = context.WithoutCancel(ctx)
	b.Before(ctx)
	t.sleep.under.Store(true)
	defer s.put()
	var l looks
	var seqs map[troupe.SessionID]int64
	err = l.update(ctx, h.d.Store, b.Root, func(tx store.Tx) error {
		cut, seqs = Interrupted{}, make(map[troupe.SessionID]int64)
		if here {
			if err := t.owned(tx); err != nil {
				return err
			}
		} else if held, err := tx.Lease(b.Root); err != nil || held != b.Expect {
			return cmp.Or(err, fmt.Errorf("put tree %s away: %w", b.Root, troupe.ErrFenced))
		}
		return s.putAway(tx, b, &l, &cut, seqs)
	})
	if err != nil {
		return cut, err
	}
	for id, seq := range seqs {
		h.d.Notify(b.Root, id, seq, nil)
	}
	t.mu.Lock()
	if here {
		t.lose(asleep(b.Root))
	}
	t.mu.Unlock()
	s.quiet(ctx)
	b.Then(ctx)
	return cut, nil
}

// put tells those that wait for the tree what became of it.
func (s sleeper) put() {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.t.sleep.under.Store(false)
	s.t.checkOver()
}

// putAway logs in each session that is not over, and in the root, that it is asleep, with what was cut off, and leaves
// all to nobody.
func (s sleeper) putAway(tx store.Tx, b Bedtime, l *looks, cut *Interrupted, seqs map[troupe.SessionID]int64) error {
	all, err := tx.Sessions(store.Filter{Root: b.Root})
	if err != nil {
		return fmt.Errorf("list tree %s: %w", b.Root, err)
	}
	for _, x := range all {
		if x.ID == b.Root && !x.AsleepAt.IsZero() {
			return asleep(b.Root)
		}
		if x.ID == b.Root || x.Status.Live() {
			a, err := s.t.load(tx, x.ID, loading{quiet: !all[0].Status.Live(), looks: l, cut: cut,
				opening: func(*turn.State) []troupe.Body { return []troupe.Body{troupe.Slept{Caller: b.Caller}} }})
			if err != nil {
				return err
			}
			seqs[x.ID] = a.st.Session.Seq
		}
		if _, err := tx.Claim(x.ID, b.Nobody); err != nil {
			return fmt.Errorf("leave session %s: %w", x.ID, err)
		}
	}
	return nil
}

// settle lets what was begun come to its end, for a while.
func (s sleeper) settle(ctx context.Context, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s.nudge()
	for {
		again := s.atRest()
		if again == nil {
			return
		}
		select {
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// atRest is nil if no actor has anything under way; else it is closed when it is time to look again.
func (s sleeper) atRest() <-chan struct{} {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	for _, a := range s.t.actors {
		a.mu.Lock()
		busy := a.busy || a.scheduled || len(a.inbox) > 0
		a.mu.Unlock()
		if busy {
			c := make(chan struct{})
			s.t.waiters = append(s.t.waiters, c)
			return c
		}
	}
	return nil
}

// goOn has the actors of a tree go on that was not put away after all.
func (s sleeper) goOn() {
	s.t.sleep.rests.Store(false)
	s.nudge()
}

func (s sleeper) nudge() {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	for _, a := range inOrder(s.t) {
		a.post(inNudge{})
	}
}

// quietWithin is many times what a command needs to end that was killed.
const quietWithin = 5 * time.Second

// quiet waits until what went on beside the actors is over, for a while.
func (s sleeper) quiet(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.t.sleep.idle.Store(&cancel)
	defer s.t.sleep.idle.Store(nil)
	if s.t.sleep.jobs.Load() > 0 {
		s.t.h.d.Sched.Sleep(ctx, quietWithin)
	}
}

// rest has an actor commit what it has heard, and begin nothing.
func rest(ctx context.Context, a *actor) error {
	err := a.flush(ctx, nil)
	busy := a.exchange.callCancel != nil && a.exchange.start == nil && a.exchange.enter == nil ||
		a.hooks.cancel != nil || a.handing.cancel != nil || a.place.doing != placeIdle && a.place.doing != placeEnds
	for i := range a.calls.working {
		busy = busy || a.st.Calls[i].Stage != turn.CallAsked // that waits for a person
	}
	a.mu.Lock()
	a.busy = busy
	a.mu.Unlock()
	return err
}
