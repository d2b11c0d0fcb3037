package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/turn"
)

// inMoment is what hooks say at a moment of the session.
type inMoment struct {
	act  turn.Hook
	mail []troupe.MailID // the words that each of said is about
	said []troupe.HookSaid
	// calls are those whose results each of said is about.
	calls []int
}

func (inMoment) input() {}

// lastPatience is how long hooks may take that are told of the end of a run which did not complete, and how long a
// process stays for those that nothing waits for.
const lastPatience = 5 * time.Second

// due is turn.Inputs.Hooks; nil if the tree has no hooks.
func (hk *hooking) due() func(event troupe.HookEvent, match string) bool {
	h := hooksOf(hk.a.tree)
	if h == nil {
		return nil
	}
	return func(event troupe.HookEvent, match string) bool {
		return h.Due(moment(hk.a.tree, hk.a.st.Session, event, matched(match)...))
	}
}

func matched(match string) []string {
	if match == "" {
		return nil
	}
	return []string{match}
}

// run has the hooks of a moment of the session run beside the actor, which does nothing else until they have ended.
func (hk *hooking) run(ctx context.Context, act turn.Hook) {
	h, in := hooksOf(hk.a.tree), inMoment{act: act}
	ms := hk.moments(act, &in)
	hk.last = act.End != nil && act.End.Status != troupe.Completed
	bound := time.Duration(0)
	if hk.last {
		bound = lastPatience
	}
	sched, a := hk.a.h.d.Sched, hk.a
	hk.cancel = a.goCancel(ctx, func(ctx context.Context) {
		if bound > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer sched.After(bound, cancel)()
		}
		for _, m := range ms {
			said := h.Run(ctx, m, false)
			said.Ran = append(said.Ran, runBeside(a.tree, h, m)...)
			in.said = append(in.said, said)
		}
		a.post(in)
	})
}

// moments are what hooks are told: one for each of the words that people said, and else one.
func (hk *hooking) moments(act turn.Hook, in *inMoment) (out []troupe.HookMoment) {
	st, t := &hk.a.st, hk.a.tree
	add := func(match string, fields map[string]any) {
		m := moment(t, st.Session, act.Event, matched(match)...)
		m.Fields = fields
		out = append(out, m)
	}
	refused, _ := st.HookRefusals()
	switch act.Event {
	case troupe.HookPrompt:
		var texts []string
		in.mail, texts = st.Unheard()
		for _, text := range texts {
			add("", map[string]any{"prompt": text})
		}
	case troupe.HookSessionStart:
		add(act.Source, map[string]any{"source": act.Source, "model": st.Session.Model})
	case troupe.HookPreCompact:
		add(act.Source, map[string]any{"trigger": act.Source, "custom_instructions": st.CompactHint()})
	case troupe.HookSubagentStart:
		add(st.Session.Type, map[string]any{"parent_agent_id": st.Session.Parent, "run": st.Session.Run})
	case troupe.HookSubagentStop:
		end := cmp.Or(act.End, &turn.End{Status: troupe.Cancelled})
		add(st.Session.Type, map[string]any{"parent_agent_id": st.Session.Parent, "run": act.Run,
			"status": end.Status, "error": end.Error, "last_assistant_message": end.Result,
			"stop_hook_active": refused > 0})
	case troupe.HookStop:
		end := cmp.Or(act.End, &turn.End{Status: troupe.Cancelled})
		add("", map[string]any{"last_assistant_message": end.Result, "stop_hook_active": refused > 0})
	case troupe.HookPostToolUse:
		in.calls = hk.after()
		for _, i := range in.calls {
			out = append(out, hk.ofResult(i))
		}
	case troupe.HookPreToolUse, troupe.HookPostFailure, troupe.HookPermissionRequest, troupe.HookTaskCreated,
		troupe.HookTaskCompleted, troupe.HookTeammateIdle, troupe.HookSessionEnd,
		troupe.HookNotification, troupe.HookPostCompact, troupe.HookWorktreeCreate, troupe.HookWorktreeRemove,
		troupe.HookStatus:
		hk.a.tree.fail(hk.a, fmt.Errorf("session %s: hooks cannot be waited for at %s", hk.a.id, act.Event))
	}
	return out
}

// done logs what hooks say at a moment of the session, and has it count.
func (hk *hooking) done(in inMoment) error {
	hk.cancel = nil
	if in.act.End != nil {
		return hk.atEnd(in.act, in.said[0])
	}
	if in.act.Event == troupe.HookPostToolUse {
		return hk.afterResults(in)
	}
	for i, said := range in.said {
		for n := range said.Ran {
			if in.mail != nil && !hk.a.flags.interrupted { // else they are looked at again
				said.Ran[n].Mail = in.mail[i]
			}
			said.Ran[n].Run = cmp.Or(in.act.Run, hk.a.st.Session.Run)
			if said.Ran[n].Effect == troupe.HookDenied {
				said.Ran[n].Why = said.By + " refuses what was said: " + cmp.Or(said.Ran[n].Why, "it gives no reason")
			}
		}
		if err := hk.a.noteHooks(said.Ran); err != nil {
			return err
		}
		if said.Effect == troupe.Deny {
			said.Context = "" // it was about what the model does not see
		}
		if err := hk.notice(said, fromHooks(said.Context)); err != nil {
			return err
		}
	}
	return nil
}

// fromHooks is what hooks tell the model; "": nothing.
func fromHooks(text string) string {
	if text == "" {
		return ""
	}
	return "A hook that is set here says: " + text
}

// notice tells the model what hooks say, and ends the run if they want that.
func (hk *hooking) notice(said troupe.HookSaid, text string) error {
	if text != "" {
		err := hk.a.stage(troupe.MailDelivered{Mail: []troupe.Mail{{
			ID: troupe.MailID(fmt.Sprintf("hooks:%s:%d", hk.a.id, hk.a.st.Session.Seq)), Root: hk.a.root, To: hk.a.id,
			From: hk.a.id, Kind: troupe.MailNotice, SentAt: hk.a.h.d.Now(), Blocks: []troupe.Block{troupe.Text(text)},
			Caller: &troupe.Caller{Name: cmp.Or(said.By, "hooks"), Right: troupe.RightSystem},
		}}})
		if err != nil {
			return err
		}
	}
	if said.Stop {
		return hk.a.stopBy(said.StopWhy)
	}
	return nil
}

// atEnd ends the run that hooks were told the end of, unless they refuse that. What came meanwhile begins the next
// run: an end that was told is one.
func (hk *hooking) atEnd(act turn.Hook, said troupe.HookSaid) error {
	_, more := hk.a.st.HookRefusals()
	goesOn := said.Effect == troupe.Deny && !said.Stop && act.End.Status == troupe.Completed && more &&
		!hk.a.flags.interrupted
	for i := range said.Ran {
		said.Ran[i].Run, said.Ran[i].GoesOn = hk.a.st.Session.Run, goesOn
		if said.Ran[i].Effect == troupe.HookDenied && !goesOn {
			said.Ran[i].Message = "the run ended all the same"
		}
	}
	if err := hk.a.noteHooks(said.Ran); err != nil {
		return err
	}
	if goesOn {
		return hk.notice(troupe.HookSaid{By: said.By}, said.By+", which the user has set, does not let you end yet: "+
			cmp.Or(said.Why, "it gives no reason"))
	}
	hk.over = act.End
	return nil
}

// next is what is to be done. An end that hooks were told of is come to whatever is said meanwhile: the folder is
// closed before it, which takes its time. Only what is to be checked before it is handed over is checked.
func (hk *hooking) next(act turn.Action) turn.Action {
	if hk.over != nil && hk.a.wanted() {
		hk.over = nil
	}
	switch {
	case hk.over == nil:
		return act
	case turn.ToVerify(&hk.a.st, *hk.over):
		return turn.Verify{}
	}
	return *hk.over
}

// wanted: there is something to do before the run can end that its end does not keep.
func (a *actor) wanted() bool {
	return a.st.Session.Status != troupe.Running || slices.ContainsFunc(a.unread, func(m troupe.Mail) bool {
		return m.Kind == troupe.MailCompact
	})
}

// tell has hooks run that nothing waits for.
func (hk *hooking) tell(event troupe.HookEvent, match string, fields map[string]any) {
	h := hooksOf(hk.a.tree)
	if h == nil {
		return
	}
	m := moment(hk.a.tree, hk.a.st.Session, event, matched(match)...)
	m.Fields = fields
	if !h.Due(m) {
		return
	}
	t := hk.a.tree
	goBeside(t, func(ctx context.Context) {
		begun := runBeside(t, h, m)
		tellRan(t, m.Session.ID, append(h.Run(ctx, m, false).Ran, begun...))
	})
}

// Farewell has hooks told that a tree which is over is about to be left, once. It returns when they have ended, and
// what ran beside it.
func (h *Hub) Farewell(ctx context.Context, root troupe.SessionID) {
	t := h.hold(root)
	if t == nil {
		return
	}
	defer h.unhold(t)
	defer endBeside(ctx, t)
	hooks := hooksOf(t)
	s, ok := parting(t)
	if hooks == nil || !ok {
		return
	}
	const reason = "other" // as public configurations have it: nobody said which
	m := moment(t, s, troupe.HookSessionEnd, reason)
	m.Fields = map[string]any{"reason": reason, "status": s.Status}
	if hooks.Due(m) {
		begun := runBeside(t, hooks, m)
		tellRan(t, root, append(hooks.Run(ctx, m, false).Ran, begun...))
	}
}

// FarewellAll is Farewell for every tree that is here.
func (h *Hub) FarewellAll(ctx context.Context) {
	h.mu.Lock()
	roots := slices.Sorted(maps.Keys(h.trees))
	h.mu.Unlock()
	for _, root := range roots {
		h.Farewell(ctx, root)
	}
}

// parting is the root of a tree that is over, the first time it is asked for since somebody was at work.
func parting(t *tree) (s troupe.Session, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.actors[t.root]
	if a == nil || t.live > 0 || t.parted || a.hasWork() {
		return s, false
	}
	t.parted = true
	return t.top, true
}
