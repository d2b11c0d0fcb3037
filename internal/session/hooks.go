package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Hooks are what people set to run at moments of the sessions of one tree. Actors ask them in jobs beside themselves;
// what they say is logged with what comes of it, so that after a restart a hook is asked again only about what has not
// happened yet.
type Hooks interface {
	// Due reports whether something runs at a moment. It takes no time.
	Due(m troupe.HookMoment) bool
	// Makes reports whether something that is waited for then can say that it has made a folder.
	Makes(m troupe.HookMoment) bool
	// Begun lists what runs then without being waited for, as it is logged when it begins.
	Begun(m troupe.HookMoment) []troupe.HookRan
	// Run runs what is waited for or, async, the rest. It ends with ctx.
	Run(ctx context.Context, m troupe.HookMoment, async bool) troupe.HookSaid
}

// hooksOf are those of the tree; nil if there are none.
func hooksOf(t *tree) Hooks {
	if t.h.d.Replay != nil {
		return nil // what hooks said is in the recording
	}
	if r, ok := t.kinds().(interface{ Hooks() Hooks }); ok {
		return r.Hooks()
	}
	return nil
}

// moment is a moment of a session. Without match there is nothing that matchers could be compared with.
func moment(t *tree, s troupe.Session, event troupe.HookEvent, match ...string) troupe.HookMoment {
	m := troupe.HookMoment{Event: event, Session: s, Path: t.chain.path(s.ID), Line: t.chain.kinds(s.ID), Match: match}
	m.Own, m.Skills = t.chain.skills(s.ID)
	if line := t.chain.chain(s.ID); len(line) > 0 {
		m.Mode = line[len(line)-1].Mode
	}
	return m
}

// ofCall is a moment of a call, which would do, or did, what access says; nil: that is not known.
func (s *snapshot) ofCall(event troupe.HookEvent, call troupe.Call, access *troupe.Access) troupe.HookMoment {
	t, _ := s.h.d.Tools.Known(call.Name)
	m := moment(s.tree, s.self, event, call.Name)
	if t.OldName != "" { // under which people have written their matchers
		m.Match = append(m.Match, t.OldName)
	}
	if access != nil && access.Tool != "" { // those about the tool that it goes to are about it
		m.Match = append(m.Match, access.Tool)
	}
	call.Input = t.Advertised(call.Input)
	m.Call, m.Access = &call, access
	return m
}

// judgement is what a judge or hooks say about a call, and what becomes of that besides.
type judgement struct {
	troupe.Judgement
	ran  []troupe.HookRan
	stop string // who ends the run, and why; "": nothing does
}

// needsJudge: there is somebody to ask about the call who has not been asked, and whose word counts.
func (c *candidate) needsJudge(d troupe.Decision) bool {
	if c.call.Judged != nil || d.Effect == troupe.Deny {
		return false
	}
	return c.h.d.Judge != nil || c.hooks != nil && c.hooks.Due(c.ofCall(troupe.HookPreToolUse, c.call.Call, c.access))
}

// askJudge asks the hooks, and then the judge about what they leave open.
func (c *candidate) askJudge(ctx context.Context) (out judgement) {
	call := c.call.Call
	if m := c.ofCall(troupe.HookPreToolUse, call, c.access); c.hooks != nil && c.hooks.Due(m) {
		said := c.hooks.Run(ctx, m, false)
		out.ran = append(said.Ran, runBeside(c.tree, c.hooks, m)...)
		out.Judgement = troupe.Judgement{By: cmp.Or(said.By, "hooks"), Effect: said.Effect, Why: said.Why,
			Input: said.Input, Context: said.Context}
		if said.Stop {
			out.stop = said.StopWhy
		}
		if said.Input != "" {
			call.Input = said.Input
		}
	}
	if c.h.d.Judge == nil || out.Effect == troupe.Deny || ctx.Err() != nil {
		return out
	}
	said, err := c.h.d.Judge.Judge(ctx, Judging{c.self, call})
	if err != nil {
		said.Effect, said.Why = troupe.Deny, "it could not be judged: "+err.Error()
	}
	if out.By == "" || said.Effect == troupe.Deny || said.Effect == troupe.Ask ||
		said.Effect == troupe.Allow && out.Effect == "" {
		out.By, out.Effect, out.Why = said.By, said.Effect, said.Why
	}
	return out
}

// tellRan logs what ran beside a session, if that has an actor still.
func tellRan(t *tree, id troupe.SessionID, ran []troupe.HookRan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.actors[id]; a != nil {
		a.post(inHooksRan{ran})
	}
}

// inHooksRan are hooks that ran beside the session.
type inHooksRan struct{ ran []troupe.HookRan }

// inAfterHooks is what hooks say about a call that has run.
type inAfterHooks struct {
	call int
	job  *job
	out  tool.Output
	took time.Duration
	bill *bill
	said troupe.HookSaid
}

// hooking has hooks run at the moments of a session.
type hooking struct {
	a      *actor
	cancel context.CancelFunc    // of those that are waited for; nil: none are
	told   map[troupe.Coord]bool // calls whose result they were told of, where the log may not say so
	over   *turn.End             // that they were told of, and did not refuse: the run comes to it; nil: none
	last   bool                  // they are told of the end of a run that was stopped, and bounded: no stop ends them
	mu     sync.Mutex
	asking map[troupe.RequestID]context.CancelCauseFunc // guarded by mu: the hooks that are asked about a request
}

// noteHooks logs runs of hooks.
func (a *actor) noteHooks(ran []troupe.HookRan) error {
	for _, r := range ran {
		if err := a.stage(r); err != nil {
			return err
		}
	}
	return nil
}

// stopBy ends the run after the step it is in, as a hook wants.
func (a *actor) stopBy(who string) error {
	if who == "" || !a.st.Session.Status.Live() {
		return nil
	}
	return a.stage(troupe.MailDelivered{Mail: []troupe.Mail{{
		ID: troupe.MailID(fmt.Sprintf("hook:%s:%d", a.id, a.st.Session.Seq)), Root: a.root, To: a.id, From: a.id,
		Kind: troupe.MailStop, SentAt: a.h.d.Now(), Stop: &troupe.Stop{Run: a.st.Session.Run, By: who},
	}}})
}

// afterCall has hooks look at the result of a call before the model does. It is false if there are none.
func (hk *hooking) afterCall(ctx context.Context, in inToolDone, out tool.Output) bool {
	h := hooksOf(hk.a.tree)
	if h == nil || in.stopped {
		return false
	}
	event := troupe.HookPostToolUse
	if out.IsError {
		event = troupe.HookPostFailure
	}
	m := hk.a.snapshot().ofCall(event, hk.a.st.Calls[in.call].Call, &in.judged.access)
	text := troupe.JoinText(out.Blocks)
	m.Fields = resultFields(text, out.IsError, in.took.Milliseconds())
	if !h.Due(m) {
		return false
	}
	begun := runBeside(hk.a.tree, h, m)
	hk.a.calls.startJob(ctx, in.call, func(ctx context.Context, job *job) {
		said := h.Run(ctx, m, false)
		said.Ran = append(said.Ran, begun...)
		hk.a.post(inAfterHooks{in.call, job, out, in.took, in.judged.bill, said})
	}).begin() // what it did is done: a stop must not drop the result
	return true
}

// afterDone logs the result of a call, with what hooks say about it.
func (hk *hooking) afterDone(in inAfterHooks) error {
	cs := &hk.a.calls
	if cs.working[in.call] != in.job {
		return nil
	}
	delete(cs.working, in.call)
	if err := hk.a.noteHooks(in.said.Ran); err != nil {
		return err
	}
	if in.said.Effect == troupe.Deny {
		in.out.Blocks = append(slices.Clip(in.out.Blocks), troupe.Text(troupe.Quote("system-reminder",
			in.said.By+" objects to what this call did: "+cmp.Or(in.said.Why, "it gives no reason"))))
	}
	if in.said.Context != "" {
		in.out.Blocks = append(slices.Clip(in.out.Blocks), troupe.Text(fromHook(in.said.Context)))
	}
	if err := cs.finishBilled(in.call, in.out, in.took, nil, in.bill); err != nil {
		return err
	}
	if in.said.Stop {
		return hk.a.stopBy(in.said.StopWhy)
	}
	return nil
}

// fromHook is what a hook tells the model.
func fromHook(text string) string {
	return troupe.Quote("system-reminder", fromHooks(text))
}

// withContext puts what hooks said before a call beside its result, whatever became of it.
func withContext(st *turn.State, b troupe.Body) troupe.Body {
	f, ok := b.(troupe.ToolFinished)
	if !ok {
		return b
	}
	i := slices.IndexFunc(st.Calls, func(c turn.Call) bool {
		return c.Reply == f.Result.Reply && c.Index == f.Result.Call && c.Judged != nil
	})
	if i < 0 {
		return b
	}
	said := st.Calls[i].Judged
	f.Result.Blocks = slices.Clip(f.Result.Blocks)
	if said.Input != "" {
		f.Result.Blocks = append(f.Result.Blocks, troupe.Text(troupe.Quote("system-reminder",
			said.By+" gave this call another input: "+said.Input)))
	}
	if said.Context != "" {
		f.Result.Blocks = append(f.Result.Blocks, troupe.Text(fromHook(said.Context)))
	}
	return f
}
