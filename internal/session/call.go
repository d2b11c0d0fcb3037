package session

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Governor decides when a call to a provider may go. It never blocks.
type Governor interface {
	// Enter asks for leave. Either the call may go at once, or ready is called when it may,
	// unless cancel was called before.
	Enter(provider string, ready func()) (now bool, cancel func())
	// Leave is called once for each call that went, with how it ended.
	Leave(provider string, err error)
}

// free is a governor that lets everybody go.
type free struct{}

func (free) Enter(string, func()) (bool, func()) { return true, func() {} }
func (free) Leave(string, error)                 {}

// callModel seals the next model call, commits, and makes it.
func (ex *exchange) callModel(ctx context.Context, act turn.CallModel) (again bool, err error) {
	if ok, again, err := ex.openModel(ctx); !ok {
		return again, err
	}
	if err := ex.tellNews(ctx); err != nil {
		return false, err
	}
	s := troupe.CallSealed{
		Reply: act.Reply, Generation: ex.a.st.Generation, Model: ex.a.st.Session.Model,
		Encoder: ex.a.convo.provider.Encoder(), Refs: ex.a.st.Refs(), Reserved: ex.reservation(1),
	}
	if ex.a.convo.because != "" {
		s.Generation++
		s.Because = ex.a.convo.because
	}
	undo, err := ex.a.convo.settle(ex.a.event(&ex.a.st, s), s.Refs)
	if err != nil {
		return false, err
	}
	s.Chain = ex.a.convo.sum()
	sealed, again, err := ex.seal(ctx, s)
	if err != nil {
		return false, err
	}
	if !sealed {
		undo()
		return again, nil
	}
	ex.a.convo.because = ""
	ex.send(ctx, model.Request{
		Agent: ex.agent(act.Reply, act.Attempt),
		Model: ex.a.convo.modelID, Generation: ex.a.st.Generation, Head: ex.a.convo.head, Messages: ex.a.convo.messages,
		Fresh: ex.a.convo.fresh, FreshBlocks: ex.a.convo.blocks, Common: ex.common(),
	})
	return false, nil
}

// openModel has the conversation ready to be sent. If the model cannot be had, it ends the run.
func (ex *exchange) openModel(ctx context.Context) (ok, again bool, err error) {
	if ex.a.convo.provider != nil {
		return true, false, nil
	}
	if err = ex.rebuild(ctx); err == nil {
		return true, false, nil
	}
	again, err = ex.gone(ctx, err)
	return false, again, err
}

// gone ends the run for which a model cannot be had, or what it goes on from cannot be read. Other errors stay such.
func (ex *exchange) gone(ctx context.Context, err error) (again bool, _ error) {
	var noModel *modelGoneError
	var noOrigin *originGoneError
	end := turn.End{Status: troupe.Failed, Error: err.Error()}
	switch {
	case errors.As(err, &noModel):
		end.Cause = troupe.CauseNoModel
	case errors.As(err, &noOrigin):
		end.Cause = troupe.CauseError
	default:
		return false, err
	}
	return ex.a.do(ctx, turn.Ending(&ex.a.st, ex.a.inputs(), end))
}

func (ex *exchange) agent(reply, attempt int) model.Agent {
	origin := ex.a.id
	if at := ex.a.st.Fork; at != nil {
		origin = at.Session
	}
	return model.Agent{
		Session: ex.a.id, Origin: origin, Type: ex.a.st.Session.Type, Name: ex.a.st.Session.Name,
		Path: ex.a.tree.chain.path(ex.a.id), Reply: reply, Attempt: attempt,
	}
}

// usualReply is what a reply is expected to have at most, in tokens, when what it may cost
// is held back. Few have more; those that do overshoot.
const usualReply = 4000

// reservation estimates what the next call will use: so many replies, and at least as much as the dearest of
// the attempts that it repeats. It is zero in a tree without limits.
func (ex *exchange) reservation(turns int) troupe.Reservation {
	if c := ex.a.tree.limits(); c.MaxTokens == 0 && c.MaxCost == 0 && c.MaxTurns == 0 {
		return troupe.Reservation{}
	}
	in := ex.a.st.Context()
	if in == 0 {
		in = int64(len(ex.a.convo.head)) / 3
	}
	out := int64(min(usualReply, ex.a.h.d.Models.MaxOutput(ex.a.st.Session.Model)))
	cost, _ := ex.a.h.d.Models.Cost(ex.a.st.Session.Model, troupe.Usage{Input: in, Output: out})
	before, _ := ex.a.st.Dearest()
	return troupe.Reservation{Tokens: max(in+out, before.Tokens), Cost: max(cost, before.Cost), Turns: turns}
}

// seal commits what is staged and, in the same transaction, the seal: unless the tree's
// limits leave no room for the call. Then calls under way must end first; or there is something
// to do again: a limit is reached, as a.over says, and Next ends the run, or it is near, and the
// session is told before the call and not after it.
func (ex *exchange) seal(ctx context.Context, s troupe.CallSealed) (sealed, again bool, err error) {
	if s.Reserved == (troupe.Reservation{}) {
		if err := ex.a.stage(s); err != nil {
			return false, false, err
		}
		return true, false, ex.a.flush(ctx, nil)
	}
	ex.a.tree.slots.queueForBudget(ex.a)
	err = ex.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		sealed, again = false, false
		tree, err := tx.Tree(ex.a.root)
		if err != nil {
			return fmt.Errorf("read tree %s: %w", ex.a.root, err)
		}
		// Its own is given back with the seal: what is left of a question that its process took with it.
		tree.Reserved = tree.Reserved.Minus(ex.a.st.Session.Reserved)
		over, wait := fleet.Room(tree, s.Reserved)
		if before, failed := ex.a.st.Dearest(); failed && over.Limit == "" && !wait {
			over = fleet.Again(tree, before)
		}
		ex.a.over, ex.a.near = over, fleet.Near(tree)
		again = over.Limit != "" || !s.Compact && ex.a.st.Session.Parent == "" && ex.a.st.Unwarned(ex.a.near)
		if again || wait {
			return nil
		}
		sealed = true
		return emit(s)
	})
	if sealed || again {
		ex.a.tree.slots.leaveBudgetQueue(ex.a)
	}
	return sealed, again, err
}

// send makes a call, as soon as the governor lets it go.
func (ex *exchange) send(ctx context.Context, req model.Request) {
	provider, now, deltas := ex.a.convo.provider, ex.a.h.d.Now, ex.a.h.d.Deltas
	var sink func(model.Delta)
	if deltas != nil && !ex.a.st.Compacting() {
		at := Delta{After: ex.a.st.Session.Seq}
		sink = func(d model.Delta) {
			if ex.a.gone() {
				return // the tree was lost: the reply that this is part of comes from elsewhere
			}
			at.Delta = d
			at.No++
			if !ex.a.gone() { // else the call is another's by now, perhaps of this very process
				deltas(ex.a.root, ex.a.id, at)
			}
		}
	}
	gov, name, seal := ex.a.h.d.Governor, provider.Name(), ex.a.st.Session.Seq
	call := ex.coldCall(req)
	ex.start = func(ctx context.Context) {
		ex.start = nil
		ex.callCancel = ex.a.goCancel(ctx, func(ctx context.Context) {
			start := now()
			reply, err := stream(ctx, provider, req, call.watch(sink))
			gov.Leave(name, err)
			call.ended(err)
			ex.a.post(inModelDone{reply: reply, err: err, took: max(0, now().Sub(start)), attempt: req.Agent.Attempt})
		})
	}
	// waits has the call wait until cancel takes it out of a queue.
	waits := func(cancel func()) {
		ex.callCancel = func() {
			cancel()
			call.ended(errGivenUp)
			ex.start, ex.enter = nil, nil
			ex.a.post(inModelDone{err: &model.Error{Fault: troupe.FaultInterrupted,
				Message: "stopped while it waited for its turn"}, attempt: req.Agent.Attempt})
		}
	}
	ex.enter = func(ctx context.Context) {
		ex.enter = nil
		granted, cancel := gov.Enter(name, func() {
			if !ex.a.post(inGranted{seal, name}) {
				gov.Leave(name, nil) // its session has ended, and the leave is somebody else's
			}
		})
		if granted {
			ex.start(ctx)
			return
		}
		waits(cancel)
	}
	if cancel := call.wait(func() { ex.a.post(inWarm{seal}) }); cancel != nil {
		waits(cancel)
		return
	}
	ex.enter(ctx)
}

// stream makes the call. A provider that panics fails this call and not the process with
// everybody else's work in it.
func stream(ctx context.Context, p model.Provider, req model.Request, sink func(model.Delta)) (reply troupe.Reply,
	err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &model.Error{Fault: troupe.FaultBad, Message: fmt.Sprintf("the provider %s failed inside: %v\n%s",
				p.Name(), r, debug.Stack())}
		}
	}()
	return p.Stream(ctx, req, sink)
}

// goCancel has the scheduler run fn under a context of its own, which the returned function
// cancels. ctx is the scheduler's, as the actor's own run was handed it.
func (a *actor) goCancel(ctx context.Context, fn func(context.Context)) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	a.tree.sleep.begun()
	a.h.d.Sched.Go(func(context.Context) {
		defer a.tree.sleep.over()
		defer cancel()
		fn(ctx)
	})
	return cancel
}

// modelDone logs how a model call ended.
func (ex *exchange) modelDone(ctx context.Context, in inModelDone) error {
	ex.callCancel, ex.start, ex.enter = nil, nil, nil
	if !ex.a.st.Calling() {
		return nil // it was given up before it answered
	}
	full := ex.a.st.Session.Model
	if in.err != nil {
		return ex.a.stage(ex.modelFailed(in))
	}
	cost, priced := ex.a.h.d.Models.Cost(full, in.reply.Usage)
	if ex.a.st.Compacting() {
		return ex.summarised(ctx, in, cost, priced)
	}
	// A failed call may not have reached the provider's cache: only a reply makes its
	// messages old.
	ex.a.convo.fresh, ex.a.convo.blocks = 0, 0
	reply := ex.a.st.Reply() + 1
	blocks := number(in.reply.Blocks, reply)
	return ex.a.stage(troupe.Replied{
		Reply: reply, Blocks: blocks, Stop: in.reply.Stop, Model: in.reply.Model,
		Usage: in.reply.Usage, Cost: cost, Unpriced: !priced,
		RequestID: in.reply.RequestID, DurationMS: in.took.Milliseconds(), Doubt: in.reply.Doubt,
	})
}

// number gives the calls of a reply their coordinates.
func number(blocks []troupe.Block, reply int) []troupe.Block {
	blocks = slices.Clone(blocks) // whoever made them may keep them
	n := 0
	for i := range blocks {
		if blocks[i].Type == troupe.CallBlock && blocks[i].Call != nil {
			c := *blocks[i].Call
			c.Reply, c.Index = reply, n
			blocks[i].Call = &c
			n++
		}
	}
	return blocks
}

func (ex *exchange) modelFailed(in inModelDone) troupe.ModelFailed {
	f := troupe.ModelFailed{
		Reply: ex.a.st.Reply() + 1, Attempt: in.attempt, Fault: troupe.FaultBad, Message: in.err.Error(),
	}
	var e *model.Error
	if errors.As(in.err, &e) {
		f.Fault, f.Usage = e.Fault, e.Usage
		f.Cost, _ = ex.a.h.d.Models.Cost(ex.a.st.Session.Model, e.Usage)
		f.Partial = troupe.JoinText(e.Partial)
		if delay, again := ex.retryDelay(in.attempt, e); again {
			if ex.a.h.d.Replay != nil {
				delay = 0 // nobody is there to be spared
			}
			f.RetryAt = ex.a.h.d.Now().Add(delay)
		}
	}
	if ex.a.flags.interrupted {
		// Whatever it says, we told it to end.
		f.Fault, f.RetryAt = troupe.FaultInterrupted, time.Time{}
	}
	return f
}

// authPause is how long a tree whose key has stopped working leaves the provider alone.
const authPause = 30 * time.Second

// retryDelay says whether a failed call is worth another attempt, and when. A key that was
// good enough before may be mended while the tree waits; one that never was is not.
func (ex *exchange) retryDelay(attempt int, e *model.Error) (time.Duration, bool) {
	switch e.Fault {
	case troupe.FaultRetry:
		return backoff(ex.a.id, attempt, e.RetryAfter), true
	case troupe.FaultAuth:
		if ex.a.st.Reply() > 0 || ex.a.st.Session.Depth > 0 {
			return max(authPause, backoff(ex.a.id, attempt, e.RetryAfter)), true
		}
	case troupe.FaultInterrupted, troupe.FaultNoModel, troupe.FaultTooLong, troupe.FaultBad:
	}
	return 0, false
}

// backoff grows from one second to two minutes, and spreads sessions that were turned away
// together over half of it, so that they do not come back together.
func backoff(id troupe.SessionID, attempt int, asked time.Duration) time.Duration {
	d := time.Second << min(attempt-1, 7)
	d = min(d, 2*time.Minute)
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", id, attempt)
	spread := time.Duration(h.Sum32()%1000) * d / 2000
	return max(d/2+spread, asked+spread/4)
}
