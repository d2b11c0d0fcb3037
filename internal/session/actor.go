package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// actor drives one session. Its mailbox may be touched by anybody who holds the lock there;
// all else belongs to the goroutine that runs the actor.
type actor struct {
	h     *Hub
	tree  *tree
	id    troupe.SessionID
	root  troupe.SessionID
	lease troupe.Lease
	order int64

	st     turn.State
	convo  conversation
	staged staging
	unread []troupe.Mail
	known  map[troupe.MailID]bool // every mail this actor was ever handed
	over   turn.Bound             // the tree's limit that was found reached
	near   troupe.BudgetWarned    // the tree's limit that is mostly used up
	why    string                 // of the summary under way
	flags  flags
	taken  turn.Taken // up from another process

	counted bool      // among the tree's live sessions; it and since are guarded by the tree
	since   time.Time // when it came among them

	work
	mailbox
}

// mailbox is what others touch of an actor, holding mu.
type mailbox struct {
	mu        sync.Mutex
	inbox     []input
	scheduled bool
	ring      func() // wakes the actor, which lingers
	dead      bool
	due       bool // its run has ended, but it will look again by itself, or a command is at work
	busy      bool // it rests, and something that it had begun is not over yet

	seen atomic.Pointer[seen] // may be read without mu
}

type flags struct {
	interrupted bool // what was under way has been told to end
	stoppedTree bool // and so has everybody below
	late        bool // the run began because the tree's time was up
}

func newActor(t *tree, st turn.State, l troupe.Lease) *actor {
	a := &actor{
		h: t.h, tree: t, id: st.Session.ID, root: st.Session.Root, lease: l, st: st,
		staged: staging{base: st.Session},
	}
	a.work = newWork(a)
	show(a, nil)
	return a
}

// post hands the actor an input and sees that it runs. It never blocks. It returns false if
// the actor is gone.
func (a *actor) post(in input) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		return false
	}
	a.inbox = append(a.inbox, in)
	if a.ring != nil {
		a.ring()
	}
	if !a.scheduled {
		a.scheduled = true
		a.h.d.Sched.Go(a.run)
	}
	return true
}

// drain empties the inbox. alive is false once the actor is dead: its tree was given up, and
// whatever is done now could not be logged.
func (a *actor) drain() (batch []input, alive bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	batch, a.inbox = a.inbox, nil
	return batch, !a.dead
}

// goesOn reports whether there is something to do. If not, the actor gives its goroutine back:
// whoever posts something to it from here on, or kills it, has it scheduled again. killed: this
// is its last run.
func (a *actor) goesOn() (more, killed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduled = len(a.inbox) > 0 && !a.dead
	return a.scheduled, a.dead
}

func (a *actor) run(ctx context.Context) {
	for {
		more, killed := a.goesOn()
		if killed {
			a.letGo()
		}
		if !more {
			break
		}
		if err := a.step(ctx); err != nil {
			a.tree.fail(a, fmt.Errorf("session %s: %w", a.id, err))
		}
	}
	a.tree.rested()
}

// maxSteps is far more than any session has to do at once. A mistake that makes it go round
// in circles shall end with a message, not with a hot processor.
const maxSteps = 10_000

// step does all that can be done now. What has happened meanwhile is heard before each step, so
// that words and stops do not come behind a model call that is just about to be sealed.
func (a *actor) step(ctx context.Context) error {
	for n := 0; ; n++ {
		batch, alive := a.drain()
		if !alive {
			return nil
		}
		for _, in := range batch {
			if err := a.take(ctx, in); err != nil {
				return err
			}
		}
		if n > maxSteps {
			return fmt.Errorf("made %d steps without having to wait for anything; it is going round in circles", n)
		}
		if a.tree.sleep.rests.Load() {
			return rest(ctx, a)
		}
		if err := a.hearing.look(ctx); err != nil {
			return err
		}
		a.place.ready(ctx, false)
		in := a.inputs()
		due := turn.Next(&a.st, in)
		act := a.hooks.next(due)
		if now, err := a.handing.before(ctx, act, due); err != nil {
			return err
		} else if !now {
			return a.flush(ctx, nil)
		}
		if now, err := a.place.before(ctx, act); err != nil {
			return err
		} else if !now {
			return a.flush(ctx, nil)
		}
		again, err := a.do(ctx, act)
		if err != nil {
			return err
		}
		if _, parked := act.(turn.Park); !again && !parked {
			// A model call, or the wait for room for one, holds it up as a Park does.
			a.wait(turn.Park{Until: turn.Due(&a.st, in)})
		}
		switch {
		case again:
		case a.begun && len(a.staged.events) > 0:
			a.begun = false
			a.linger(ctx)
		default:
			if err := a.flush(ctx, nil); err != nil {
				return err
			}
			a.requests.tellMidway()
			return nil
		}
	}
}

// maxLinger is many times what it takes to read a file, and nothing beside a model's reply.
const maxLinger = 2 * time.Millisecond

// linger holds back the commit of a reply whose calls have begun, until the first of them ends: most
// calls read a file, and what they found and the next model call's seal then cost one commit with the
// reply, where each has to wait for the disk. None of them needs the reply on record: those that may
// take effect have committed before they began. A crash meanwhile costs what it costs a little
// earlier, before the reply is there: the model is asked again.
func (a *actor) linger(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	idle := len(a.inbox) == 0 && !a.dead
	if idle {
		a.ring = cancel
	}
	a.mu.Unlock()
	if !idle {
		return
	}
	a.h.d.Sched.Sleep(ctx, maxLinger)
	a.mu.Lock()
	a.ring = nil
	a.mu.Unlock()
}

func (a *actor) inputs() turn.Inputs {
	in := turn.Inputs{
		Now:     a.h.d.Now(),
		Unread:  a.requests.readable(),
		Over:    a.over,
		Working: func(i int) bool { return a.calls.working[i] != nil || a.place.parked[i] },
		Judging: func(i int) bool { return a.calls.judging(i) || a.place.parked[i] },
		Broken:  a.place.broken,
		Told: func(id troupe.TaskID, now bool) bool {
			told, ok := a.tasks.told[id]
			return ok && (told || !now)
		},
		Schedule: scheduleOf(a),
		Settings: a.tree.settings(),
		Taken:    a.taken,
		Window:   a.h.d.Models.Window(a.st.Session.Model),
		Hooks:    a.hooks.due(), Hooking: a.hooks.cancel != nil,
		After: a.hooks.after(),
	}
	if a.st.Session.Parent == "" {
		in.Near = a.near
		in.Late = a.flags.late
		if d := a.st.Deadline(in.Taken); in.Late {
			in.Others = !a.flags.stoppedTree && a.tree.others(a, in.Now)
		} else if !d.IsZero() && !in.Now.Before(d) {
			in.Others = !a.flags.stoppedTree && a.tree.others(a, d)
		}
	}
	if r := a.h.d.Replay; r != nil {
		open := slices.ContainsFunc(a.st.Calls, func(c turn.Call) bool { return c.Stage != turn.CallDone })
		in.Unread, in.Hold = r.Order(a.st.Session, a.st.Reply()+1, open, in.Unread)
		in.Ready = func(at troupe.Coord) bool { return r.Ready(a.id, at) }
		in.Cut = func(at troupe.Coord) bool { return r.Cut(a.id, at) }
	}
	return in
}

// take notes an input and logs what it reports.
func (a *actor) take(ctx context.Context, in input) error {
	if a.place.hold(in) {
		return nil
	}
	switch in := in.(type) {
	case inLeft:
		return a.place.left(ctx, in)
	case inPlace:
		return a.place.done(in)
	case inMaking:
		a.place.tell(in)
	case inNudge:
	case inHooksRan:
		return a.noteHooks(in.ran)
	case inAfterHooks:
		return a.hooks.afterDone(in)
	case inAsked:
		return a.hooks.answered(in)
	case inHandoffJudged:
		return a.handing.judged(in)
	case inAutoJudged:
		return a.calls.autoJudged(ctx, in)
	case inMoment:
		return a.hooks.done(in)
	case inAuthorityChanged:
		a.requests.rejudgeOpen(ctx)
	case inMail:
		a.receive(in.mail)
	case inGranted:
		if a.exchange.start != nil && a.st.Calling() && a.st.SealedAt() == in.seal {
			a.exchange.start(ctx)
		} else {
			a.h.d.Governor.Leave(in.provider, nil) // it was given up meanwhile
		}
	case inWarm:
		if ex := &a.exchange; ex.enter != nil && a.st.Calling() && a.st.SealedAt() == in.seal {
			ex.enter(ctx)
		}
	case inMove:
		return a.tasks.move(in)
	case inChange:
		changed(ctx, a, in)
	case inOwnDone:
		return a.tasks.ownDone(ctx, in)
	case inModelDone:
		return a.exchange.modelDone(ctx, in)
	case inJudged:
		return a.calls.judged(in)
	case inIntentsJudged:
		return a.calls.judgedAll(in)
	case inPlanRead:
		return a.requests.planRead(in)
	case inMidway:
		return a.requests.askMidway(in)
	case inRejudged:
		return a.requests.rejudged(ctx, in)
	case inToolDone:
		return a.calls.toolDone(ctx, in)
	}
	return nil
}

// do carries out one action. It returns false when the actor has nothing more to do until
// something happens.
func (a *actor) do(ctx context.Context, act turn.Action) (again bool, err error) {
	switch act := act.(type) {
	case turn.Park:
		a.wait(act)
		if a.st.Session.Status.Ended() {
			// Once it is settled somebody else may load the session and go on with it.
			if err := a.flush(ctx, nil); err != nil {
				return false, err
			}
			a.setDue(!act.Until.IsZero() || len(a.tasks.own)+len(a.hearing.ends) > 0)
			a.tree.settled(a)
		}
		return false, nil
	case turn.Admit:
		return a.admit(ctx, act)
	case turn.Deliver:
		return true, a.deliver(ctx, act.Mail)
	case turn.CallModel:
		again, err := a.exchange.callModel(ctx, act)
		if err == nil {
			a.place.save(ctx)
		}
		return again, err
	case turn.Compact:
		return a.exchange.compactCall(ctx, act)
	case turn.StopTasks:
		return true, a.tasks.stopTasks(ctx, act)
	case turn.Answer:
		return true, a.requests.settleRequests(act)
	case turn.Background:
		return true, a.births.background(act.Calls, nil)
	case turn.Report:
		return true, a.tasks.report(act.Calls)
	case turn.Warn:
		return true, a.stage(act.Warning)
	case turn.Switch:
		return true, a.change(troupe.ModelChanged{Model: act.Model, Effort: act.Effort, Why: act.Why,
			Skill: act.Skill, Back: act.Back})
	case turn.Nudge:
		return true, a.nudge(act.Text)
	case turn.RunCalls:
		return true, a.calls.runCalls(ctx, act.Calls)
	case turn.Skip:
		for _, i := range act.Calls {
			if !a.calls.drop(i) {
				continue // it has begun meanwhile
			}
			if err := a.calls.finishRefused(i, a.calls.skipped(i, act.Why), a.st.Calls[i].Request, nil); err != nil {
				return false, err
			}
		}
		return true, nil
	case turn.Interrupt:
		a.interrupt()
		return false, nil
	case turn.Hook:
		a.hooks.run(ctx, act)
		return false, nil
	case turn.Verify:
		return a.births.verify(ctx)
	case turn.End:
		return true, a.end(ctx, act)
	default:
		return false, fmt.Errorf("unknown action %T", act)
	}
}

// change moves the session to another model. Its conversation is encoded anew.
func (a *actor) change(to troupe.ModelChanged) error {
	a.convo = conversation{}
	return a.stage(to)
}

// setDue notes whether something will have the actor look again by itself: a time, or the end of a command.
func (a *actor) setDue(due bool) {
	a.mu.Lock()
	a.due = due
	a.mu.Unlock()
}

// wait has the actor look again when it is time to.
func (a *actor) wait(p turn.Park) {
	if a.timer != nil {
		a.timer()
		a.timer = nil
	}
	until := p.Until
	if until.IsZero() {
		until = p.Look
	}
	if until.IsZero() {
		return
	}
	a.timer = a.h.d.Sched.After(until.Sub(a.h.d.Now()), func() { a.post(inNudge{}) })
}
