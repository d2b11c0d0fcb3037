package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// input is something that happened outside an actor.
type input interface{ input() }

type (
	inNudge            struct{} // look again: a slot may be free, a wait may be over
	inAuthorityChanged struct{} // somebody was granted something: open requests may be settled by it
	inMail             struct{ mail troupe.Mail }
	inMove             struct { // the child is wanted in the background
		child troupe.SessionID
		by    *troupe.Caller
	}
	inGranted struct { // the governor lets the call of that seal go
		seal     int64
		provider string
	}
	inModelDone struct {
		reply   troupe.Reply
		err     error
		took    time.Duration
		attempt int
	}
	inJudged struct {
		call   int
		job    *job
		judged *judged
	}
	inIntentsJudged struct { // what the judge said about calls that the session carries out itself
		calls []int
		jobs  []*job
		said  []*troupe.Judgement // nil: it was told to stop
	}
	inRejudged struct { // what the gate says by now about a call that waits for an answer
		call     int
		job      *job
		request  *troupe.Request
		decision troupe.Decision
		version  int
	}
	inToolDone struct {
		call   int
		job    *job
		judged *judged
		out    tool.Output
		err    error
		took   time.Duration
	}
	inShellDone struct {
		task troupe.Task
		out  tool.Output
		err  error
		took time.Duration
	}
)

func (inNudge) input() {}

func (inAuthorityChanged) input() {}

func (inMail) input() {}

func (inGranted) input() {}

func (inMove) input() {}

func (inShellDone) input() {}

func (inModelDone) input() {}

func (inToolDone) input() {}

func (inJudged) input() {}

func (inIntentsJudged) input() {}

func (inRejudged) input() {}

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
	over   string                 // the tree's limit that was found reached
	near   troupe.BudgetWarned    // the tree's limit that is mostly used up
	why    string                 // of the summary under way
	flags  flags
	taken  turn.Taken // up from another process

	counted bool      // among the tree's live sessions; it and since are guarded by the tree
	since   time.Time // when it came among them

	work
	mailbox
}

// work is what an actor has under way, by its parts. It belongs to the goroutine that runs the actor.
type work struct {
	exchange exchange
	calls    calls
	requests requests
	births   births
	tasks    tasks
	timer    func() // cancels the wait for the time to look again
	begun    bool   // calls were begun and nothing was committed since
}

// The parts of an actor. Each has the state and the methods of one matter; what it needs of the rest it
// takes from a, by name.
type (
	// exchange talks to the model.
	exchange struct {
		a          *actor
		callCancel context.CancelFunc    // of the call under way, or its wait
		start      func(context.Context) // begins the call that waits for the governor
	}
	// calls judges and runs the tool calls of a reply.
	calls struct {
		a       *actor
		working map[int]*job    // under way, by index
		ready   map[int]*judged // judged, and to be acted on next
		now     *snapshot       // for those that begin together; nil: to be made anew
	}
	// requests asks those with authority, and takes their answers.
	requests struct{ a *actor }
	// births starts sub-agents.
	births struct{ a *actor }
	// tasks is what goes on beside calls: commands and agents in the background, and what is said
	// to them.
	tasks struct {
		a      *actor
		shells map[troupe.TaskID]context.CancelFunc // commands
		told   map[troupe.TaskID]bool               // tasks told to stop; true: now
	}
)

func newWork(a *actor) work {
	return work{exchange: exchange{a: a}, calls: calls{a: a}, requests: requests{a: a},
		births: births{a: a}, tasks: tasks{a: a}}
}

// mailbox is what others touch of an actor, holding mu.
type mailbox struct {
	mu        sync.Mutex
	inbox     []input
	scheduled bool
	ring      func() // wakes the actor, which lingers
	dead      bool
	due       bool // its run has ended, but it will look again by itself, or a command is at work
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
		again, err := a.do(ctx, turn.Next(&a.st, a.inputs()))
		if err != nil {
			return err
		}
		switch {
		case again:
		case a.begun && len(a.staged.events) > 0:
			a.begun = false
			a.linger(ctx)
		default:
			return a.flush(ctx, nil)
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
		Working: func(i int) bool { return a.calls.working[i] != nil },
		Judging: a.calls.judging,
		Told: func(id troupe.TaskID, now bool) bool {
			told, ok := a.tasks.told[id]
			return ok && (told || !now)
		},
		Schedule: a.h.d.Tools.Schedule,
		Settings: a.tree.settings(),
		Taken:    a.taken,
		Window:   a.h.d.Models.Window(a.st.Session.Model),
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
	switch in := in.(type) {
	case inNudge:
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
	case inMove:
		return a.births.move(in)
	case inShellDone:
		return a.tasks.shellDone(ctx, in)
	case inModelDone:
		return a.exchange.modelDone(ctx, in)
	case inJudged:
		return a.calls.judged(in)
	case inIntentsJudged:
		return a.calls.judgedAll(in)
	case inRejudged:
		return a.requests.rejudged(ctx, in)
	case inToolDone:
		return a.calls.toolDone(in)
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
			a.setTimer(!act.Until.IsZero() || len(a.tasks.shells) > 0)
			a.tree.settled(a)
		}
		return false, nil
	case turn.Admit:
		return a.admit(ctx, act)
	case turn.Deliver:
		return true, a.deliver(ctx, act.Mail)
	case turn.CallModel:
		return a.exchange.callModel(ctx, act)
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
		return true, a.change(act.Model, act.Why)
	case turn.Nudge:
		return true, a.nudge(act.Text)
	case turn.RunCalls:
		return true, a.calls.runCalls(ctx, act.Calls)
	case turn.Skip:
		for _, i := range act.Calls {
			if !a.calls.drop(i) {
				continue // it has begun meanwhile
			}
			if err := a.calls.finishText(i, act.Why); err != nil {
				return false, err
			}
		}
		return true, nil
	case turn.Interrupt:
		a.interrupt()
		return false, nil
	case turn.End:
		return true, a.end(ctx, act)
	default:
		return false, fmt.Errorf("unknown action %T", act)
	}
}

// admit begins a run if the tree has a slot free, else it queues.
func (a *actor) admit(ctx context.Context, act turn.Admit) (bool, error) {
	admitted := false
	if a.st.Session.Depth > 0 {
		// In the queue before asking: a slot that is given up between the answer and the
		// queueing would be nobody's.
		a.tree.slots.enqueue(a)
	}
	err := a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		admitted = false
		// Whoever takes a tree over leaves sessions alone that have ended: this one may be in
		// our memory still, and its tree is run by another.
		if err := a.tree.owned(tx); err != nil {
			return err
		}
		if a.st.Session.Depth > 0 {
			tree, err := tx.Tree(a.root)
			if err != nil {
				return fmt.Errorf("read tree %s: %w", a.root, err)
			}
			if !fleet.HasSlot(tree) {
				return nil
			}
		}
		admitted = true
		return emit(troupe.Started{Run: act.Run, Caller: waker(a.unread)})
	})
	if err != nil {
		return false, err
	}
	if !admitted {
		return false, nil
	}
	a.tree.slots.dequeue(a)
	a.flags, a.tasks.told = flags{late: act.Late}, nil
	a.setTimer(false)
	a.tree.settled(a)
	return true, nil
}

// waker is who has a session run that had ended; nil if no caller did.
func waker(unread []troupe.Mail) *troupe.Caller {
	for _, m := range unread {
		if m.Wakes() && m.Caller != nil {
			return m.Caller
		}
	}
	return nil
}

// change moves the session to another model. Its conversation is encoded anew.
func (a *actor) change(model, why string) error {
	a.convo = conversation{}
	return a.stage(troupe.ModelChanged{Model: model, Why: why})
}

func (a *actor) setTimer(due bool) {
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

// interrupt ends what is under way; what it reports then completes the log.
func (a *actor) interrupt() {
	if a.flags.interrupted {
		return
	}
	a.flags.interrupted = true
	if a.exchange.callCancel != nil {
		a.exchange.callCancel()
	}
	for _, j := range a.calls.working {
		j.cancel()
	}
}

// plain makes text storable as text everywhere: valid UTF-8 without NUL.
func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// end logs the end of the run and, in the same transaction, the mail that tells the parent.
func (a *actor) end(ctx context.Context, act turn.End) error {
	s := &a.st.Session
	o := troupe.Outcome{
		Session: a.id, Run: s.Run, Coord: s.Coord, Name: s.Name, Type: s.Type,
		Status: act.Status, Cause: act.Cause, Result: plain(act.Result), Error: plain(act.Error),
		Evidence: a.st.Evidence, Tally: a.st.RunTally(),
	}
	if s.Depth > 0 {
		o.Stopped = a.tasks.endShells()
		o.Output = a.births.keepResult(o.Result)
	}
	now, quiet, run := a.h.d.Now(), a.st.Quiet(), s.Run
	if s.Status == troupe.Spawning {
		run++ // the one that was stopped before it began
	}
	if !s.StartedAt.IsZero() {
		o.DurationMS = now.Sub(s.StartedAt).Milliseconds()
	}
	if err := a.stage(troupe.Ended{Outcome: o}); err != nil {
		return err
	}
	mail := troupe.Mail{
		ID: troupe.ChildEndedMailID(a.id, s.Run), Root: a.root, To: s.Parent, From: a.id,
		Kind: troupe.MailTaskEnded, SentAt: now, Ended: &o, Quiet: quiet,
	}
	err := a.flush(ctx, func(tx store.Tx) error {
		if s.Parent == "" {
			return nil
		}
		stopped, err := treeStopped(tx, a.id, run, true)
		if err != nil {
			return err
		}
		mail.Quiet = quiet || stopped
		if _, err := tx.Send(mail); err != nil {
			return fmt.Errorf("tell %s of its child's end: %w", s.Parent, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.flags, a.over = flags{}, ""
	if s.Parent != "" {
		a.tree.mailed(mail)
	}
	return nil // Park follows, unless there is more to do
}
