package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// The children of one reply are born in transactions that double in size: the first of a
// large fan-out are at work while the last are still being written, and the last do not wait
// for one commit after another behind those of their elder siblings. No transaction keeps
// everybody else's waiting for longer than mostBirths take.
const (
	firstBirths = 4
	mostBirths  = 256
)

// runCalls takes calls to the gate and starts those that may run.
func (a *calls) runCalls(ctx context.Context, calls []int) error {
	var births []int
	for _, i := range calls {
		if a.h.d.Tools.Schedule(a.st.Calls[i].Name) == troupe.Birth {
			births = append(births, i)
		} else if err := a.runCall(ctx, i); err != nil {
			return err
		}
	}
	// Siblings begin in the same folder and are told the same of it.
	environment := sync.OnceValue(func() string { return a.h.around.of(a.st.Session.Cwd) })
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
		return a.finishText(i, fmt.Sprintf("there is no tool %q; the tools here are %s", call.Name, strings.Join(a.st.Profile.Tools, ", ")))
	case t.Intent == nil:
		return a.runTool(ctx, i, t)
	}
	intent, err := t.Intent(call.Input)
	if err != nil {
		return a.finishText(i, err.Error())
	}
	return a.carryOut(ctx, i, intent)
}

// runTool judges one call and starts it. Every way out leaves the call with a result, or
// in hand.
func (a *calls) runTool(ctx context.Context, i int, runner tool.Runner) error {
	call := a.st.Calls[i].Call
	env := a.toolEnv(call)
	prepared, err := runner.Prepare(env, call.Input)
	if err != nil {
		return a.finishText(i, err.Error())
	}
	access := prepared.Access()
	if access.Class == troupe.ClassEdit && a.h.d.Masked(call.Input) {
		return a.finishText(i, "refused: the text holds the mark of a masked secret. What stands there in the file was hidden from you and would be overwritten; edit around it.")
	}
	background := ""
	if b, ok := prepared.(tool.Backgrounder); ok {
		if label, wanted := b.Background(); wanted {
			background = a.h.d.Mask(label)
		}
	}
	d := a.judge(call.Name, access)
	if background != "" && gate.Trial(d) && d.Beyond == troupe.Ask && a.h.d.AskFor(a.root) > 0 {
		// Nobody waits for its end, so it is asked about before it begins.
		d.Effect, d.Why = troupe.Ask, "it runs in the background, where what it wants cannot be asked about later"
	}
	d, settled, err := a.requests.permit(i, d, func() string { return action(prepared, env, call) })
	if err != nil || settled {
		return err
	}
	if settle := a.confinement(i, access, d, &env); settle != nil {
		prepared = confined{prepared, settle}
	}
	changes := access.Class != troupe.ClassRead && d.Sandbox != troupe.LevelReadOnly
	// What the kernel keeps from changing anything can be run again after a crash.
	if changes || access.Class != troupe.ClassRead && background != "" {
		// From here on it may have taken effect, and the log has to know.
		if err := a.stage(troupe.ToolStarted{Reply: call.Reply, Call: call.Index, Name: call.Name, Decision: d}); err != nil {
			return err
		}
		if background == "" {
			if err := a.flush(ctx, nil); err != nil {
				return err
			}
		}
	}
	env.Seen = a.seen(access)
	env.Hidden = a.hidden()
	if background != "" {
		return a.tasks.runShell(ctx, i, background, prepared, env)
	}
	ended := func() {}
	if changes {
		ended = a.h.around.change()
	}
	now := a.h.d.Now
	if a.working == nil {
		a.working = make(map[int]job)
	}
	j := job{decision: d, bill: &bill{}}
	if ask := a.h.d.Ask; ask != nil {
		self := a.st.Session
		env.Ask = func(ctx context.Context, question, text string) (string, error) {
			answer, usage, cost, err := ask(ctx, self, question, text)
			j.bill.add(usage, cost)
			return answer, err
		}
	}
	j.cancel = a.goCancel(ctx, func(ctx context.Context) {
		start := now()
		out, err := runPrepared(ctx, prepared, env)
		ended()
		a.post(inToolDone{call: i, out: out, err: err, took: now().Sub(start)})
	})
	a.working[i] = j
	a.begun = true
	return nil
}

// toolEnv is what a call may know of its session while it is prepared.
func (a *calls) toolEnv(call troupe.Call) tool.Env {
	env := tool.Env{
		Cwd:       a.st.Session.Cwd,
		OutputDir: a.h.d.OutputDir(a.id),
		CallID:    fmt.Sprintf("r%dc%d", call.Reply, call.Index),
		Environ:   append(slices.Clip(a.h.d.Environ), AgentVariable+"="+string(a.id)),
		Mask:      a.h.d.Mask,
		Seen:      func(path string) (string, bool) { h, ok := a.st.Files[path]; return h, ok },
	}
	if keep := a.h.d.Keep; keep != nil {
		root := a.root
		env.Keep = func(content []byte) (string, error) { return keep(root, content) }
	}
	return env
}

// AgentVariable is set in the environment of every command that an agent starts, to the
// agent's session: Troupe's own API refuses those that carry it.
const AgentVariable = "TROUPE_AGENT"

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

// seen answers Env.Seen from a copy of the few paths that a call named, because the call
// runs beside the actor.
func (a *calls) seen(access troupe.Access) func(string) (string, bool) {
	known := make(map[string]string)
	for _, paths := range [][]string{access.Reads, access.Writes} {
		for _, p := range paths {
			if h, ok := a.st.Files[p]; ok {
				known[p] = h
			}
		}
	}
	return func(path string) (string, bool) { h, ok := known[path]; return h, ok }
}

// judge asks the gate.
func (a *calls) judge(name string, access troupe.Access) troupe.Decision {
	return a.h.gate.Decide(a.gateQuery(name, access, a.tree.line.chain(a.id)))
}

// hidden is a test for paths that tools which walk folders leave out; nil if there are none.
func (a *calls) hidden() func(string) bool {
	byRule := gate.Hidden(a.tree.line.chain(a.id), a.roots(), a.h.d.Home)
	always := a.h.d.Guard.Hidden(a.st.Session.Cwd)
	if byRule == nil && always == nil {
		return nil
	}
	return func(path string) bool {
		if byRule != nil && byRule(path) {
			return true
		}
		if always == nil {
			return false
		}
		_, hidden := always(path)
		return hidden
	}
}

// gateQuery is a call as the gate is asked about it.
func (a *calls) gateQuery(name string, access troupe.Access, chain []gate.Layer) gate.Query {
	cwd := a.st.Session.Cwd
	levels, _ := a.h.d.Guard.Machine()
	q := gate.Query{
		Tool: name, Access: access, Chain: chain, Home: a.h.d.Home,
		Roots: a.roots(), Levels: levels, Protected: a.h.d.Guard.Protected(cwd),
		Hidden: a.h.d.Guard.Hidden(cwd), Resolve: a.h.d.Guard.Resolve,
	}
	if access.Command != "" && len(q.Levels) == 0 {
		q.SafeGit = a.h.d.Guard.SafeGit(cwd)
		there := a.h.d.Guard.HiddenFiles(cwd) // also those that no pattern asks for: what they hold is masked
		q.HiddenFiles = func() []string { return there }
	}
	return q
}

// roots are the folders in which the session may read as it likes.
func (a *calls) roots() []string {
	return []string{a.st.Session.Cwd, filepath.Clean(a.h.d.OutputDir(a.id))}
}

func (a *calls) toolDone(in inToolDone) error {
	j := a.working[in.call]
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
		if waits, err := a.beyond(in.call, j.decision, &out); waits || err != nil {
			return err
		}
	}
	return a.finishAsked(in.call, out, in.took, nil, j.bill)
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
	return a.finishAsked(i, out, took, denied, nil)
}

// finishAsked is finish with the bill of what the tool asked a model.
func (a *calls) finishAsked(i int, out tool.Output, took time.Duration, denied *troupe.Decision, spent *bill) error {
	c := a.st.Calls[i]
	if len(out.Blocks) == 0 {
		out.Blocks = []troupe.Block{troupe.Text("(no output)")}
	}
	usage, cost := spent.sum()
	return a.stage(troupe.ToolFinished{
		Name: c.Name, Usage: usage, Cost: cost,
		Result:   troupe.Result{Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, Blocks: out.Blocks, IsError: out.IsError},
		Evidence: out.Evidence, DurationMS: took.Milliseconds(), Denied: denied,
	})
}

// birth is a call that asks for a child, judged and resolved.
type birth struct {
	call       int
	decision   troupe.Decision
	background bool
	fleet.Birth
}

// spawn carries out calls that ask for children. The children, their first events and the
// parent's note of each are one transaction.
func (a *births) spawn(ctx context.Context, calls []int, environment func() string) error {
	births, err := a.plan(calls, environment)
	if err != nil || len(births) == 0 {
		return err
	}
	asked := make([]fleet.Birth, len(births))
	ids := make([]troupe.SessionID, len(births))
	for i := range births {
		asked[i] = births[i].Birth
		ids[i] = troupe.ChildID(a.id, births[i].Coord)
	}
	defer a.tree.buffer(ids...)()
	var born []fleet.Born
	err = a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		var err error
		if born, err = fleet.Spawn(tx, a.h.d.Owner, a.h.d.Now(), asked); err != nil {
			return err
		}
		for i, b := range born {
			c := a.st.Calls[births[i].call]
			if b.Refused != nil {
				out := tool.Errorf("no agent was started: %v", b.Refused)
				err = emit(troupe.ToolFinished{Name: c.Name, Result: troupe.Result{Reply: c.Reply, Call: c.Index, ProviderID: c.ProviderID, Blocks: out.Blocks, IsError: true}})
			} else {
				err = a.emitBirth(emit, c, births[i], b)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, b := range born {
		if b.Refused == nil && !b.Existed {
			a.tree.await(b.State.Session.ID, !births[i].background)
			a.tree.start(ctx, b)
		}
	}
	return nil
}

// plan decodes, judges and resolves births. Calls that come to nothing get their result.
func (a *births) plan(calls []int, environment func() string) ([]birth, error) {
	var births []birth
	for _, i := range calls {
		c := a.st.Calls[i]
		t, _ := a.h.d.Tools.Find(c.Name) // it is scheduled as a birth, so it is there
		intent, err := t.Intent(c.Input)
		sp, _ := intent.(troupe.Spawn)
		if err != nil {
			if err := a.calls.finishText(i, err.Error()); err != nil {
				return nil, err
			}
			continue
		}
		d, settled, err := a.requests.permit(i, a.calls.judge(c.Name, troupe.Access{Class: troupe.ClassRead, Agent: sp.Type}), func() string { return describeSpawn(sp) })
		if err != nil {
			return nil, err
		}
		if settled {
			continue
		}
		b, err := a.resolve(c, sp)
		if err != nil {
			if err := a.calls.finishText(i, "no agent was started: "+err.Error()); err != nil {
				return nil, err
			}
			continue
		}
		b.Prompt = []troupe.Block{troupe.Text(sp.Prompt), troupe.Text(environment())}
		births = append(births, birth{i, d, sp.Background, b})
	}
	births, err := a.askAhead(births)
	if err != nil {
		return nil, err
	}
	return a.affordable(births)
}

func (a *births) resolve(c turn.Call, sp troupe.Spawn) (fleet.Birth, error) {
	s := a.st.Session
	if sp.Name != "" {
		if err := fleet.CheckName(sp.Name); err != nil {
			return fleet.Birth{}, err
		}
	}
	profile, err := a.h.d.Profiles.Resolve(s, sp)
	if err != nil {
		return fleet.Birth{}, err
	}
	offer, err := a.h.offer(profile.Tools)
	if err != nil {
		return fleet.Birth{}, err
	}
	return fleet.Birth{
		Offer: offer, Root: a.root, Parent: a.id, Coord: troupe.Coord{Reply: c.Reply, Call: c.Index},
		Name: sp.Name, Title: sp.Description, Depth: s.Depth + 1, Cwd: s.Cwd,
		Profile: profile, Authority: troupe.Authority{Mode: profile.Mode}, From: a.id, Background: sp.Background,
	}, nil
}

// start gives a session that was just born its actor and sets it going.
func (t *tree) start(ctx context.Context, b fleet.Born) {
	a := newActor(t, b.State, b.Lease)
	a.convo.whole = true
	for _, e := range b.Events {
		if err := a.convo.add(e); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.lose(fmt.Errorf("session %s: %w", a.id, err))
			return
		}
	}
	t.add(a)
	t.h.debug(ctx, b.Events)
	t.h.d.Notify(a.root, a.id, b.State.Session.Seq)
	a.post(inNudge{})
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
