package session

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// callModel seals the next model call, commits, and makes it.
func (a *actor) callModel(ctx context.Context, act turn.CallModel) (again bool, err error) {
	if over, err := a.treeOver(ctx); err != nil || over != "" {
		a.over = over
		return true, err
	}
	if a.convo.provider == nil {
		if err := a.rebuild(ctx); err != nil {
			var gone *modelGoneError
			if errors.As(err, &gone) {
				return true, a.end(ctx, turn.End{Status: troupe.Failed, Cause: troupe.CauseNoModel, Error: gone.Error()})
			}
			return false, err
		}
	}
	if err := a.seal(act.Reply); err != nil {
		return false, err
	}
	if err := a.flush(ctx, nil); err != nil {
		return false, err
	}
	req := model.Request{
		Agent: model.Agent{
			Session: a.id, Type: a.st.Session.Type, Name: a.st.Session.Name,
			Path: a.h.Path(a.id), Reply: act.Reply, Attempt: act.Attempt,
		},
		Model: a.convo.modelID, Generation: a.st.Generation, Head: a.convo.head, Messages: a.convo.messages,
		Fresh: a.convo.fresh, FreshBlocks: a.convo.blocks,
	}
	provider, now, deltas := a.convo.provider, a.h.d.Now, a.h.d.Deltas
	var sink func(model.Delta)
	if deltas != nil {
		sink = func(d model.Delta) { deltas(a.id, d) }
	}
	a.callCancel = a.goCancel(ctx, func(ctx context.Context) {
		start := now()
		reply, err := stream(ctx, provider, req, sink)
		a.post(inModelDone{reply: reply, err: err, took: now().Sub(start), attempt: act.Attempt})
	})
	return false, nil
}

// stream makes the call. A provider that panics fails this call and not the process with
// everybody else's work in it.
func stream(ctx context.Context, p model.Provider, req model.Request, sink func(model.Delta)) (reply troupe.Reply, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &model.Error{Fault: troupe.FaultBad, Message: fmt.Sprintf("the provider %s failed inside: %v\n%s", p.Name(), r, debug.Stack())}
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

// treeOver says which limit of the tree is reached, if it has any that calls count against.
func (a *actor) treeOver(ctx context.Context) (string, error) {
	if !a.h.metered(a.root) {
		return "", nil
	}
	// What the session itself has spent counts too.
	if err := a.flush(ctx, nil); err != nil {
		return "", err
	}
	var tree troupe.Tree
	err := a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		var err error
		tree, err = r.Tree(a.root)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read tree %s: %w", a.root, err)
	}
	return fleet.Over(tree), nil
}

// modelDone logs how a model call ended.
func (a *actor) modelDone(in inModelDone) error {
	a.callCancel = nil
	if !a.st.Calling() {
		return nil // it was given up before it answered
	}
	full := a.st.Session.Model
	if in.err != nil {
		return a.stage(a.modelFailed(in))
	}
	cost, priced := a.h.d.Models.Cost(full, in.reply.Usage)
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

func (a *actor) modelFailed(in inModelDone) troupe.ModelFailed {
	f := troupe.ModelFailed{
		Reply: a.st.Reply() + 1, Attempt: in.attempt, Fault: troupe.FaultBad, Message: in.err.Error(),
	}
	var e *model.Error
	if errors.As(in.err, &e) {
		f.Fault, f.Usage = e.Fault, e.Usage
		f.Cost, _ = a.h.d.Models.Cost(a.st.Session.Model, e.Usage)
		f.Partial = troupe.JoinText(e.Partial)
		if e.Fault == troupe.FaultRetry {
			f.RetryAt = a.h.d.Now().Add(retryDelay(a.id, in.attempt, e.RetryAfter))
		}
	}
	if a.flags.stop {
		// Whatever it says, we told it to end.
		f.Fault, f.RetryAt = troupe.FaultInterrupted, time.Time{}
	}
	return f
}

// retryDelay grows from one second to a minute, and spreads sessions that were turned away
// together over half of it, so that they do not come back together.
func retryDelay(id troupe.SessionID, attempt int, asked time.Duration) time.Duration {
	d := time.Second << min(attempt-1, 6)
	d = min(d, time.Minute)
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", id, attempt)
	d = d/2 + d/2*time.Duration(h.Sum32()%1000)/1000
	return max(d, asked)
}
