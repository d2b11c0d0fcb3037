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
func (a *exchange) callModel(ctx context.Context, act turn.CallModel) (again bool, err error) {
	if ok, again, err := a.openModel(ctx); !ok {
		return again, err
	}
	s := troupe.CallSealed{
		Reply: act.Reply, Generation: a.st.Generation, Model: a.st.Session.Model,
		Encoder: a.convo.provider.Encoder(), Refs: a.st.Refs(), Reserved: a.reservation(),
	}
	if a.convo.because != "" {
		s.Generation++
		s.Because = a.convo.because
	}
	undo, err := a.convo.settle(a.event(&a.st, s), s.Refs)
	if err != nil {
		return false, err
	}
	s.Chain = a.convo.sum()
	sealed, again, err := a.seal(ctx, s)
	if err != nil {
		return false, err
	}
	if !sealed {
		undo()
		return again, nil
	}
	a.convo.because = ""
	a.send(ctx, model.Request{
		Agent: a.agent(act.Reply, act.Attempt),
		Model: a.convo.modelID, Generation: a.st.Generation, Head: a.convo.head, Messages: a.convo.messages,
		Fresh: a.convo.fresh, FreshBlocks: a.convo.blocks,
	})
	return false, nil
}

// openModel has the conversation ready to be sent. If the model cannot be had, it ends the run.
func (a *exchange) openModel(ctx context.Context) (ok, again bool, err error) {
	if a.convo.provider != nil {
		return true, false, nil
	}
	err = a.rebuild(ctx)
	if err == nil {
		return true, false, nil
	}
	var gone *modelGoneError
	if errors.As(err, &gone) {
		return false, true, a.end(ctx, turn.End{Status: troupe.Failed, Cause: troupe.CauseNoModel, Error: gone.Error()})
	}
	return false, false, err
}

func (a *exchange) agent(reply, attempt int) model.Agent {
	return model.Agent{
		Session: a.id, Type: a.st.Session.Type, Name: a.st.Session.Name,
		Path: a.tree.chain.path(a.id), Reply: reply, Attempt: attempt,
	}
}

// usualReply is what a reply is expected to have at most, in tokens, when what it may cost
// is held back. Few have more; those that do overshoot.
const usualReply = 4000

// reservation estimates what the next call will use. It is zero in a tree without limits.
func (a *exchange) reservation() troupe.Reservation {
	if c := a.tree.limits(); c.MaxTokens == 0 && c.MaxCost == 0 && c.MaxTurns == 0 {
		return troupe.Reservation{}
	}
	in := a.st.Context()
	if in == 0 {
		in = int64(len(a.convo.head)) / 3
	}
	out := int64(min(usualReply, a.h.d.Models.MaxOutput(a.st.Session.Model)))
	cost, _ := a.h.d.Models.Cost(a.st.Session.Model, troupe.Usage{Input: in, Output: out})
	return troupe.Reservation{Tokens: in + out, Cost: cost}
}

// seal commits what is staged and, in the same transaction, the seal: unless the tree's
// limits leave no room for the call. Then calls under way must end first; or there is something
// to do again: a limit is reached, as a.over says, and Next ends the run, or it is near, and the
// session is told before the call and not after it.
func (a *exchange) seal(ctx context.Context, s troupe.CallSealed) (sealed, again bool, err error) {
	if s.Reserved == (troupe.Reservation{}) {
		if err := a.stage(s); err != nil {
			return false, false, err
		}
		return true, false, a.flush(ctx, nil)
	}
	a.tree.slots.queueForBudget(a.actor)
	err = a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		sealed, again = false, false
		tree, err := tx.Tree(a.root)
		if err != nil {
			return fmt.Errorf("read tree %s: %w", a.root, err)
		}
		over, wait := fleet.Room(tree, s.Reserved)
		a.over, a.near = over, fleet.Near(tree)
		again = over != "" || !s.Compact && a.st.Session.Parent == "" && a.st.Unwarned(a.near)
		if again || wait {
			return nil
		}
		sealed = true
		return emit(s)
	})
	if sealed || again {
		a.tree.slots.leaveBudgetQueue(a.actor)
	}
	return sealed, again, err
}

// send makes a call, as soon as the governor lets it go.
func (a *exchange) send(ctx context.Context, req model.Request) {
	provider, now, deltas := a.convo.provider, a.h.d.Now, a.h.d.Deltas
	var sink func(model.Delta)
	if deltas != nil && !a.st.Compacting() {
		at := Delta{After: a.st.Session.Seq}
		sink = func(d model.Delta) {
			if a.gone() {
				return // the tree was lost: the reply that this is part of comes from elsewhere
			}
			at.Delta = d
			at.No++
			if !a.gone() { // else the call is another's by now, perhaps of this very process
				deltas(a.root, a.id, at)
			}
		}
	}
	gov, name := a.h.d.Governor, provider.Name()
	a.start = func(ctx context.Context) {
		a.start = nil
		a.callCancel = a.goCancel(ctx, func(ctx context.Context) {
			start := now()
			reply, err := stream(ctx, provider, req, sink)
			gov.Leave(name, err)
			a.post(inModelDone{reply: reply, err: err, took: now().Sub(start), attempt: req.Agent.Attempt})
		})
	}
	seal := a.st.Session.Seq
	granted, cancel := gov.Enter(name, func() {
		if !a.post(inGranted{seal, name}) {
			gov.Leave(name, nil) // its session has ended, and the leave is somebody else's
		}
	})
	if granted {
		a.start(ctx)
		return
	}
	a.callCancel = func() {
		cancel()
		a.start = nil
		a.post(inModelDone{err: &model.Error{Fault: troupe.FaultInterrupted,
			Message: "stopped while it waited for its turn"}, attempt: req.Agent.Attempt})
	}
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
	a.h.d.Sched.Go(func(context.Context) {
		defer cancel()
		fn(ctx)
	})
	return cancel
}

// modelDone logs how a model call ended.
func (a *exchange) modelDone(ctx context.Context, in inModelDone) error {
	a.callCancel, a.start = nil, nil
	if !a.st.Calling() {
		return nil // it was given up before it answered
	}
	full := a.st.Session.Model
	if in.err != nil {
		return a.stage(a.modelFailed(in))
	}
	cost, priced := a.h.d.Models.Cost(full, in.reply.Usage)
	if a.st.Compacting() {
		return a.summarised(ctx, in, cost, priced)
	}
	// A failed call may not have reached the provider's cache: only a reply makes its
	// messages old.
	a.convo.fresh, a.convo.blocks = 0, 0
	reply := a.st.Reply() + 1
	blocks := number(in.reply.Blocks, reply)
	return a.stage(troupe.Replied{
		Reply: reply, Blocks: blocks, Stop: in.reply.Stop, Model: in.reply.Model,
		Usage: in.reply.Usage, Cost: cost, Unpriced: !priced,
		RequestID: in.reply.RequestID, DurationMS: in.took.Milliseconds(),
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

func (a *exchange) modelFailed(in inModelDone) troupe.ModelFailed {
	f := troupe.ModelFailed{
		Reply: a.st.Reply() + 1, Attempt: in.attempt, Fault: troupe.FaultBad, Message: in.err.Error(),
	}
	var e *model.Error
	if errors.As(in.err, &e) {
		f.Fault, f.Usage = e.Fault, e.Usage
		f.Cost, _ = a.h.d.Models.Cost(a.st.Session.Model, e.Usage)
		f.Partial = troupe.JoinText(e.Partial)
		if delay, again := a.retryDelay(in.attempt, e); again {
			if a.h.d.Replay != nil {
				delay = 0 // nobody is there to be spared
			}
			f.RetryAt = a.h.d.Now().Add(delay)
		}
	}
	if a.flags.interrupted {
		// Whatever it says, we told it to end.
		f.Fault, f.RetryAt = troupe.FaultInterrupted, time.Time{}
	}
	return f
}

// authPause is how long a tree whose key has stopped working leaves the provider alone.
const authPause = 30 * time.Second

// retryDelay says whether a failed call is worth another attempt, and when. A key that was
// good enough before may be mended while the tree waits; one that never was is not.
func (a *exchange) retryDelay(attempt int, e *model.Error) (time.Duration, bool) {
	switch e.Fault {
	case troupe.FaultRetry:
		return backoff(a.id, attempt, e.RetryAfter), true
	case troupe.FaultAuth:
		if a.st.Reply() > 0 || a.st.Session.Depth > 0 {
			return max(authPause, backoff(a.id, attempt, e.RetryAfter)), true
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
