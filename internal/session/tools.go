package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
)

// runCalls takes calls to the gate and starts those that may run.
func (cs *calls) runCalls(ctx context.Context, calls []int) error {
	cs.now = nil // other calls may have read and written since
	calls, err := cs.withoutMissing(calls)
	if err != nil {
		return err
	}
	calls = cs.askJudge(ctx, calls)
	var births []int
	for _, i := range calls {
		if cs.a.h.d.Tools.Schedule(cs.a.st.Calls[i].Name) == troupe.Birth {
			if !cs.a.place.ready(ctx, true) { // those that are born begin with what is there
				if err := cs.a.place.park(ctx, i); err != nil {
					return err
				}
				continue
			}
			births = append(births, i)
		} else if err := cs.runCall(ctx, i); err != nil {
			return err
		}
	}
	// Siblings that begin in the same folder are told the same of it.
	seen := make(map[string]Surroundings)
	environment := func(folder string) Surroundings {
		if _, ok := seen[folder]; !ok {
			seen[folder] = cs.a.h.folders.of(folder)
		}
		return seen[folder]
	}
	for size := firstBirths; len(births) > 0; size = min(2*size, mostBirths) {
		n := min(len(births), size)
		if err := cs.a.births.spawn(ctx, births[:n], environment); err != nil {
			return err
		}
		births = births[n:]
	}
	return cs.askAuto(ctx)
}

// withoutMissing answers the calls of tools that the session does not have, before anything else is found
// wrong with them, and returns the others.
func (cs *calls) withoutMissing(calls []int) (rest []int, err error) {
	for _, i := range calls {
		name := cs.a.st.Calls[i].Name
		if _, known := cs.a.h.d.Tools.Find(name); known && !slices.Contains(cs.a.st.Profile.Tools, name) {
			d := cs.a.h.gate.Decide(gate.Query{Tool: name, Chain: cs.a.tree.chain.chain(cs.a.id)})
			if gate.IsMissingTool(d) {
				if err := cs.finishDenied(i, d); err != nil {
					return nil, err
				}
				continue
			}
		}
		rest = append(rest, i)
	}
	return rest, nil
}

// runCall carries out a call, or has its tool do so.
func (cs *calls) runCall(ctx context.Context, i int) error {
	call := cs.a.st.Calls[i].Call
	t, ok := toolsOf(cs.a, &cs.a.st.Profile).Find(call.Name)
	switch {
	case !ok:
		return cs.finishText(i, fmt.Sprintf("there is no tool %q; the tools here are %s", call.Name,
			strings.Join(cs.a.st.Profile.Tools, ", ")))
	case t.Intent == nil:
		return cs.runTool(ctx, i, t)
	}
	intent, err := t.Intent(call.Input)
	if err != nil {
		return cs.finishText(i, err.Error())
	}
	return cs.carryOut(ctx, i, intent)
}

// runTool has a call prepared and judged beside the actor, or carries out what that came to. Every
// way out leaves the call with a result, or in hand.
func (cs *calls) runTool(ctx context.Context, i int, runner tool.Runner) error {
	if !cs.a.place.ready(ctx, cs.reads(i)) {
		return cs.a.place.park(ctx, i)
	}
	j := cs.ready[i]
	delete(cs.ready, i)
	if j != nil && (j.refused != "" || j.version == cs.a.tree.chain.version(cs.a.id)) {
		return cs.announce(ctx, i, j)
	}
	j.leaveTurn()
	c := cs.candidate(i)
	cs.startJob(ctx, i, func(ctx context.Context, job *job) {
		j := c.judge(ctx, runner)
		if j.unannounced() && job.begin() {
			cs.run(ctx, i, job, j)
		} else {
			cs.a.post(inJudged{i, job, j})
		}
	})
	cs.a.begun = true
	return nil
}

// reads reports whether a call is one of a tool that changes nothing.
func (cs *calls) reads(i int) bool {
	t, ok := toolsOf(cs.a, &cs.a.st.Profile).Find(cs.a.st.Calls[i].Name)
	return ok && t.Class == troupe.ClassRead
}

// announce starts a call that was judged, once the log has what it needs to know.
func (cs *calls) announce(ctx context.Context, i int, j *judged) error {
	if j.refused != "" {
		return cs.finishText(i, j.refused)
	}
	if settled, err := cs.applyDecision(i, j.decision, j.access, j.ask); settled || err != nil {
		return err
	}
	if q, ok := j.prepared.(tool.Queuer); ok && j.announced() && !q.TakeTurn(ctx, j.env, false) {
		cs.queue(ctx, i, j, q)
		return nil
	}
	begun, err := cs.begin(ctx, i, j)
	if !begun {
		j.leaveTurn()
	}
	return err
}

// queue has a call wait for its turn. It has not begun until then, and the log must not say that it has: a process
// that takes the session over would not know that nothing was done.
func (cs *calls) queue(ctx context.Context, i int, j *judged, q tool.Queuer) {
	cs.startJob(ctx, i, func(ctx context.Context, job *job) {
		in := inJudged{i, job, j}
		if !q.TakeTurn(ctx, j.env, true) {
			in.judged = &judged{stopped: true}
		}
		if !cs.a.post(in) {
			j.leaveTurn()
		}
	})
	cs.a.begun = true
}

// begin runs a call that nothing stands in the way of, once the log says so if it has to.
func (cs *calls) begin(ctx context.Context, i int, j *judged) (begun bool, err error) {
	if j.announced() {
		// From here on it may have taken effect, and the log has to know.
		c := cs.a.st.Calls[i]
		if err := cs.a.stage(troupe.ToolStarted{Reply: c.Reply, Call: c.Index, Name: c.Name,
			Decision: j.decision, Absent: j.absent}); err != nil {
			return false, err
		}
		if j.background != "" {
			return true, cs.a.tasks.runOwn(ctx, i, j)
		}
		if err := cs.a.flush(ctx, nil); err != nil {
			return false, err
		}
	}
	ended := func() {}
	if j.changes() {
		ended = cs.a.h.folders.invalidate()
	}
	cs.startJob(ctx, i, func(ctx context.Context, job *job) {
		defer ended()
		defer j.leaveTurn()
		cs.run(ctx, i, job, j)
	}).begin()
	cs.a.begun = true
	return true, nil
}

// run runs a call in its job.
func (cs *calls) run(ctx context.Context, i int, job *job, j *judged) {
	job.since = cs.a.h.d.Now()
	j.env.Question = cs.a.requests.questionOf(i, job)
	job.runs.Store(j)
	out, err := runPrepared(ctx, j.prepared, j.env)
	cs.a.post(inToolDone{call: i, job: job, judged: j, out: out, about: j.about(out.Evidence.Files), err: err,
		stopped: ctx.Err() != nil,
		took:    max(0, cs.a.h.d.Now().Sub(job.since))})
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

func (cs *calls) toolDone(ctx context.Context, in inToolDone) error {
	if in.job.moved != nil {
		return cs.a.tasks.moveDone(ctx, in)
	}
	if cs.working[in.call] != in.job {
		return nil
	}
	delete(cs.working, in.call)
	return cs.ran(ctx, in)
}

// ran goes on with a call that has run: it has its result, or what it wanted is asked about.
func (cs *calls) ran(ctx context.Context, in inToolDone) error {
	out := in.out
	if in.err != nil {
		out = tool.Errorf("the tool itself failed: %v", in.err)
	}
	out = cs.a.h.maskOutput(out)
	if in.err == nil {
		if waits, err := cs.afterConfinedRun(in, &out); waits || err != nil {
			return errors.Join(err, cs.askAuto(ctx))
		}
	}
	if err := cs.tellAbout(in.about); err != nil {
		return err
	}
	if cs.a.hooks.afterCall(ctx, in, out) {
		return nil
	}
	return cs.finishBilled(in.call, out, in.took, nil, in.judged.bill)
}

func (cs *calls) finishText(i int, why string) error {
	return cs.finish(i, tool.Errorf("%s", why), 0, nil)
}

func (cs *calls) finishDenied(i int, d troupe.Decision) error {
	d = cs.a.h.maskDecision(d)
	text := "permission denied: " + d.Why
	if gate.IsMissingTool(d) {
		text = fmt.Sprintf("there is no such tool here: %s; the tools here are %s", d.Why,
			strings.Join(cs.a.st.Profile.Tools, ", "))
	}
	if t := cs.a.st.Calls[i].Asked; t != nil {
		text += ranBefore(*t)
	}
	return cs.finishRefused(i, text, cs.a.st.Calls[i].Asked, &d)
}

// finishRefused logs the result of a call that was not to run any more. A command may have run before, and changed
// something, until it wanted what it was not given.
func (cs *calls) finishRefused(i int, text string, asked *troupe.Request, denied *troupe.Decision) error {
	out, took := tool.Errorf("%s", text), time.Duration(0)
	if asked != nil && asked.Ran != nil {
		out.Evidence.Commands = []troupe.CommandRun{*asked.Ran}
		took = time.Duration(asked.Ran.DurationMS) * time.Millisecond
	}
	return cs.finish(i, out, took, denied)
}

// ranBefore says what became of a command until it was asked about.
func ranBefore(r troupe.Request) string {
	printed := ""
	if r.Output != "" {
		printed = "\n" + r.Output
	}
	switch {
	case r.Ran != nil:
		return fmt.Sprintf("\n\nUntil then it %s and ended with exit code %d. What it changed stays. It had printed:%s",
			ranAs(r.Ran.Sandbox), r.Ran.ExitCode, cmp.Or(printed, " nothing"))
	case printed != "":
		return "\n\nConfined, without what it wanted, it had printed:" + printed
	default:
		return ""
	}
}

// finish logs the one result of a call.
func (cs *calls) finish(i int, out tool.Output, took time.Duration, denied *troupe.Decision) error {
	return cs.finishBilled(i, out, took, denied, nil)
}

// finishBilled is finish with the bill of what the tool asked a model.
func (cs *calls) finishBilled(i int, out tool.Output, took time.Duration, denied *troupe.Decision, spent *bill) error {
	c := cs.a.st.Calls[i]
	cs.ready[i].leaveTurn()
	delete(cs.ready, i)
	if len(out.Blocks) == 0 {
		out.Blocks = []troupe.Block{troupe.Text("(no output)")}
	}
	usage, cost := spent.sum()
	return cs.a.stage(troupe.ToolFinished{
		Name: c.Name, Usage: usage, Cost: cost,
		Result: troupe.Result{Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, Blocks: out.Blocks,
			IsError: out.IsError},
		Evidence: out.Evidence, Skill: out.Skill, Reported: out.Reported, DurationMS: took.Milliseconds(),
		Denied: denied,
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
