package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// runCalls takes calls to the gate and starts those that may run.
func (a *calls) runCalls(ctx context.Context, calls []int) error {
	a.now = nil // other calls may have read and written since
	calls = a.askJudge(ctx, calls)
	var births []int
	for _, i := range calls {
		if a.h.d.Tools.Schedule(a.st.Calls[i].Name) == troupe.Birth {
			births = append(births, i)
		} else if err := a.runCall(ctx, i); err != nil {
			return err
		}
	}
	// Siblings that begin in the same folder are told the same of it.
	seen := make(map[string]string)
	environment := func(folder string) string {
		if _, ok := seen[folder]; !ok {
			seen[folder] = a.h.folders.of(folder)
		}
		return seen[folder]
	}
	for size := firstBirths; len(births) > 0; size = min(2*size, mostBirths) {
		n := min(len(births), size)
		if err := a.births.spawn(ctx, births[:n], environment); err != nil {
			return err
		}
		births = births[n:]
	}
	return nil
}

// runCall carries out a call, or has its tool do so.
func (a *calls) runCall(ctx context.Context, i int) error {
	call := a.st.Calls[i].Call
	t, ok := a.h.d.Tools.Find(call.Name)
	switch {
	case !ok:
		return a.finishText(i, fmt.Sprintf("there is no tool %q; the tools here are %s", call.Name,
			strings.Join(a.st.Profile.Tools, ", ")))
	case t.Intent == nil:
		return a.runTool(ctx, i, t)
	}
	intent, err := t.Intent(call.Input)
	if err != nil {
		return a.finishText(i, err.Error())
	}
	return a.carryOut(ctx, i, intent)
}

// runTool has a call prepared and judged beside the actor, or carries out what that came to. Every
// way out leaves the call with a result, or in hand.
func (a *calls) runTool(ctx context.Context, i int, runner tool.Runner) error {
	j := a.ready[i]
	delete(a.ready, i)
	if j != nil && (j.refused != "" || j.version == a.tree.chain.version(a.id)) {
		return a.announce(ctx, i, j)
	}
	c := a.candidate(i)
	a.startJob(ctx, i, func(ctx context.Context, job *job) {
		j := c.judge(ctx, runner)
		if j.unannounced() && job.begin() {
			a.run(ctx, i, job, j)
		} else {
			a.post(inJudged{i, job, j})
		}
	})
	a.begun = true
	return nil
}

// announce starts a call that was judged, once the log has what it needs to know.
func (a *calls) announce(ctx context.Context, i int, j *judged) error {
	if j.refused != "" {
		return a.finishText(i, j.refused)
	}
	if settled, err := a.applyDecision(i, j.decision, func() string { return j.action }); settled || err != nil {
		return err
	}
	if j.announced() {
		// From here on it may have taken effect, and the log has to know.
		c := a.st.Calls[i]
		if err := a.stage(troupe.ToolStarted{Reply: c.Reply, Call: c.Index, Name: c.Name,
			Decision: j.decision}); err != nil {
			return err
		}
		if j.background != "" {
			return a.tasks.runShell(ctx, i, j.background, j.prepared, j.env)
		}
		if err := a.flush(ctx, nil); err != nil {
			return err
		}
	}
	ended := func() {}
	if j.changes() {
		ended = a.h.folders.invalidate()
	}
	a.startJob(ctx, i, func(ctx context.Context, job *job) {
		defer ended()
		a.run(ctx, i, job, j)
	}).begin()
	a.begun = true
	return nil
}

// run runs a call in its job.
func (a *calls) run(ctx context.Context, i int, job *job, j *judged) {
	start := a.h.d.Now()
	out, err := runPrepared(ctx, j.prepared, j.env)
	a.post(inToolDone{call: i, job: job, judged: j, out: out, err: err, took: a.h.d.Now().Sub(start)})
}

// runPrepared runs a call. A tool that panics, perhaps on one odd file, fails this call and
// not the process; it would panic again after every restart.
func runPrepared(ctx context.Context, p tool.Prepared, env tool.Env) (out tool.Output, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v\n%s", r, debug.Stack())
		}
	}()
	return p.Run(ctx, env)
}

func (a *calls) toolDone(in inToolDone) error {
	if a.working[in.call] != in.job {
		return nil
	}
	delete(a.working, in.call)
	out := in.out
	if in.err != nil {
		out = tool.Errorf("the tool itself failed: %v", in.err)
	}
	blocks := make([]troupe.Block, 0, len(out.Blocks))
	for _, b := range out.Blocks {
		b.Text = a.h.d.Mask(b.Text)
		blocks = append(blocks, b)
	}
	out.Blocks = blocks
	if in.err == nil {
		if waits, err := a.afterConfinedRun(in.call, in.judged, &out); waits || err != nil {
			return err
		}
	}
	return a.finishBilled(in.call, out, in.took, nil, in.judged.bill)
}

func (a *calls) finishText(i int, why string) error {
	return a.finish(i, tool.Errorf("%s", why), 0, nil)
}

func (a *calls) finishDenied(i int, d troupe.Decision) error {
	text := "permission denied: " + d.Why
	if t := a.st.Calls[i].Asked; t != nil && t.Output != "" {
		text += "\n\nConfined, without what it wanted, it had printed:\n" + t.Output
	}
	return a.finish(i, tool.Errorf("%s", text), 0, &d)
}

// finish logs the one result of a call.
func (a *calls) finish(i int, out tool.Output, took time.Duration, denied *troupe.Decision) error {
	return a.finishBilled(i, out, took, denied, nil)
}

// finishBilled is finish with the bill of what the tool asked a model.
func (a *calls) finishBilled(i int, out tool.Output, took time.Duration, denied *troupe.Decision, spent *bill) error {
	c := a.st.Calls[i]
	delete(a.ready, i)
	if len(out.Blocks) == 0 {
		out.Blocks = []troupe.Block{troupe.Text("(no output)")}
	}
	usage, cost := spent.sum()
	return a.stage(troupe.ToolFinished{
		Name: c.Name, Usage: usage, Cost: cost,
		Result: troupe.Result{Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, Blocks: out.Blocks,
			IsError: out.IsError},
		Evidence: out.Evidence, DurationMS: took.Milliseconds(), Denied: denied,
	})
}

var errNoModel = errors.New("model is not to be had")

// modelGoneError is a session whose model cannot be had any more.
type modelGoneError struct {
	model string
	why   error
}

func (e *modelGoneError) Error() string {
	return fmt.Sprintf("the model %s of this session is not to be had: %v", e.model, e.why)
}

func (e *modelGoneError) Unwrap() error { return errNoModel }
