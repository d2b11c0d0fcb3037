package session_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
)

// slowHooks take ten seconds at some moments, and end with their context.
type slowHooks struct {
	at  map[troupe.HookEvent]bool
	mu  sync.Mutex
	ran map[troupe.HookEvent]int
}

func slowAt(events ...troupe.HookEvent) *slowHooks {
	h := &slowHooks{at: map[troupe.HookEvent]bool{}, ran: map[troupe.HookEvent]int{}}
	for _, e := range events {
		h.at[e] = true
	}
	return h
}

func (h *slowHooks) Due(m troupe.HookMoment) bool { return h.at[m.Event] }

func (h *slowHooks) Makes(troupe.HookMoment) bool { return false }

func (h *slowHooks) Begun(troupe.HookMoment) []troupe.HookRan { return nil }

func (h *slowHooks) Run(ctx context.Context, m troupe.HookMoment, _ bool) troupe.HookSaid {
	h.mu.Lock()
	h.ran[m.Event]++
	h.mu.Unlock()
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	return troupe.HookSaid{Ran: []troupe.HookRan{{Event: m.Event, Name: "hook"}}}
}

// withHooks are roles that know hooks.
type withHooks struct {
	inherits
	h session.Hooks
}

func (w withHooks) Open([]byte) (session.Roles, error) { return w, nil }

// Hooks are those of the tree.
func (w withHooks) Hooks() session.Hooks { return w.h }

func hookedBy(h *slowHooks) func(*process) {
	return func(p *process) {
		p.deps = func(d *session.Deps) { d.Profiles = withHooks{inherits{p}, h} }
	}
}

func (h *home) ran(id troupe.SessionID, event troupe.HookEvent) (out []troupe.HookRan) {
	for _, e := range h.kinds(id, troupe.KindHookRan) {
		if b, ok := e.Body.(troupe.HookRan); ok && b.Event == event {
			out = append(out, b)
		}
	}
	return out
}

// TestHooksBlockNobody: while hooks look at what a call did, other calls of the reply run and what is said is heard.
func TestHooksBlockNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Read:a", "Read:b", "Read:c"), say("ok")}}.reply,
			hookedBy(slowAt(troupe.HookPostToolUse))).beginAs(troupe.Caps{MaxDepth: 1}, func(*fleet.Birth) {})
		pass(5 * time.Second)
		p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant, Mode: troupe.ModeAcceptEdits})
		pass(time.Second)
		if n := len(h.kinds(h.root, troupe.KindAuthorityChanged)); n != 1 {
			t.Errorf("what was said is in the log %d times", n)
		}
		p.end()
		s := h.get(h.root)
		ran := len(h.ran(h.root, troupe.HookPostToolUse))
		if took := s.EndedAt.Sub(s.StartedAt); took > 15*time.Second || ran != 3 {
			t.Errorf("three calls took %s, with %d hooks", took, ran)
		}
		h.checkTree()
	})
}

// TestStopEndsHooks: a stop ends a hook at whatever moment, and what a call did before is not lost with it.
func TestStopEndsHooks(t *testing.T) {
	t.Parallel()
	type stopped struct {
		event troupe.HookEvent
		call  string
	}
	for _, of := range []stopped{{troupe.HookSessionStart, "Edit:a"}, {troupe.HookPrompt, "Edit:a"},
		{troupe.HookPreToolUse, "Edit:a"}, {troupe.HookPostToolUse, "Edit:a"}, {troupe.HookPostToolUse, "Read:a"},
		{troupe.HookStop, "Edit:a"}} {
		event := of.event
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call(of.call), say("ok")}}.reply, hookedBy(slowAt(event))).
				beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) { b.Authority.Mode = troupe.ModeBypass })
			pass(7 * time.Second)
			p.stop(h.root, troupe.Stop{Now: true})
			p.end()
			s := h.get(h.root)
			if took := s.EndedAt.Sub(s.StartedAt); took > 8*time.Second {
				t.Errorf("%s: it ended after %s", event, took)
			}
			if event == troupe.HookPostToolUse {
				wants(t, h.result(h.root, 1, 0), "did a")
			}
			h.checkTree()
		})
	}
}

// TestCrashOwesTheEnd: whenever a process goes away, the one that goes on tells hooks of the end of an agent whose
// beginning was told, and the log has each once.
func TestCrashOwesTheEnd(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{5 * time.Second, 11 * time.Second, 15 * time.Second, 18 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			hooks := slowAt(troupe.HookSubagentStart, troupe.HookSubagentStop)
			reply := plays{"main": {call("Agent:X"), say("ok")}, "": {call("Read:a"), say("done")}}.reply
			p := h.start(reply, hookedBy(hooks)).beginAs(troupe.Caps{MaxDepth: 1}, func(*fleet.Birth) {})
			pass(after)
			p.pool.Close()
			h.adopt(reply, true, hookedBy(hooks)).end()
			child := h.called("X").ID
			starts, stops := h.ran(child, troupe.HookSubagentStart), h.ran(child, troupe.HookSubagentStop)
			if len(starts) != 1 || len(stops) != 1 || starts[0].Run != 1 || stops[0].Run != 1 {
				t.Errorf("after %s: it began %+v and ended %+v", after, starts, stops)
			}
			h.checkTree()
		})
	}
}

// speaking are hooks that say one thing at one moment.
type speaking struct {
	at   troupe.HookEvent
	said troupe.HookSaid
}

func (h speaking) Due(m troupe.HookMoment) bool { return m.Event == h.at }

func (speaking) Makes(troupe.HookMoment) bool { return false }

func (speaking) Begun(troupe.HookMoment) []troupe.HookRan { return nil }

func (h speaking) Run(_ context.Context, m troupe.HookMoment, _ bool) troupe.HookSaid {
	out := h.said
	out.By, out.Ran = "a hook", []troupe.HookRan{{Event: m.Event, Name: "hook", Effect: troupe.HookDenied}}
	return out
}

func spokenTo(h speaking) func(*process) {
	return func(p *process) {
		p.deps = func(d *session.Deps) { d.Profiles = withHooks{inherits{p}, h} }
	}
}

// TestEndsAreRefusedAnew: hooks may hold back an end three times in a row, and anew once a person has said something:
// in
// the midst of a run, or to begin another.
func TestEndsAreRefusedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(model.Request) troupe.Reply { return say("ok") }, spokenTo(speaking{troupe.HookStop,
			troupe.HookSaid{Effect: troupe.Deny, Why: "more"}})).beginAs(troupe.Caps{}, func(*fleet.Birth) {})
		held := func() (n int) {
			for _, r := range h.ran(h.root, troupe.HookStop) {
				if r.GoesOn {
					n++
				}
			}
			return n
		}
		pass(2500 * time.Millisecond) // each reply takes a second
		if n := held(); n != 2 {
			t.Fatalf("held back %d times so far", n)
		}
		for i, want := range []int{2 + 3, 2 + 3 + 3} {
			p.send(prompt(h.root, "and now"))
			pass(time.Minute)
			if s := h.get(h.root); held() != want || s.Status != troupe.Completed || s.Run != i+1 {
				t.Errorf("run %d is %s, and ends were held back %d times, not %d", s.Run, s.Status, held(), want)
			}
		}
		p.end()
		h.checkTree()
	})
}

// TestRefusedWordsLeaveNothing: of words that a hook refuses the model is told nothing, and nothing about them.
func TestRefusedWordsLeaveNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(model.Request) troupe.Reply { return say("ok") }, spokenTo(speaking{troupe.HookPrompt,
			troupe.HookSaid{Effect: troupe.Deny, Why: "not that", Context: "they said go"}})).
			beginAs(troupe.Caps{}, func(*fleet.Birth) {}).end()
		for _, e := range h.kinds(h.root, troupe.KindMailDelivered) {
			b, ok := e.Body.(troupe.MailDelivered)
			for _, m := range b.Mail {
				if ok && strings.Contains(troupe.JoinText(m.Blocks), "they said go") {
					t.Errorf("the session is told %+v", m)
				}
			}
		}
		if s := h.get(h.root); s.Status != troupe.Failed || len(p.llm.requests) != 0 {
			t.Errorf("it is %s, and the model was asked %d times", s.Status, len(p.llm.requests))
		}
		h.checkTree()
	})
}

// waits are the notifications of a kind that were told.
type waits struct {
	mu   sync.Mutex
	told []string
}

func (*waits) Due(m troupe.HookMoment) bool { return m.Event == troupe.HookNotification }

func (*waits) Makes(troupe.HookMoment) bool { return false }

func (*waits) Begun(troupe.HookMoment) []troupe.HookRan { return nil }

func (w *waits) Run(_ context.Context, m troupe.HookMoment, _ bool) troupe.HookSaid {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, m.Match...)
	return troupe.HookSaid{Ran: []troupe.HookRan{{Event: m.Event, Name: "hook"}}}
}

// TestLongWaitIsTold: hooks are told once that a conversation has waited for its person for a minute, not while
// an agent is at work, and never where no person can answer.
func TestLongWaitIsTold(t *testing.T) {
	t.Parallel()
	for _, attended := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h, hooks := newHome(t), &waits{}
			want := func(n int) {
				t.Helper()
				if !attended {
					n = 0
				}
				hooks.mu.Lock()
				defer hooks.mu.Unlock()
				if len(hooks.told) != n || n > 0 && hooks.told[n-1] != "idle_prompt" {
					t.Errorf("attended %v: told %q, want %d", attended, hooks.told, n)
				}
			}
			var work []troupe.Reply // two minutes of it
			for range 60 {
				work = append(work, call("Read:a"))
			}
			says := plays{"": append(work, say("done")), "main": {call("Agent:&X"), say("it works"), say("it is done"),
				say("again"), say("and again")}}
			setup := func(p *process) {
				if attended {
					p.settings.AskFor = time.Hour
				}
				p.deps = func(d *session.Deps) { d.Profiles = withHooks{inherits{p}, hooks} }
			}
			p := h.start(says.reply, setup).beginAs(troupe.Caps{MaxDepth: 1},
				func(b *fleet.Birth) { b.Authority.Mode = troupe.ModeBypass })
			pass(115 * time.Second)
			want(0) // its agent is at work
			pass(60 * time.Second)
			want(0)
			pass(10 * time.Minute)
			want(1)
			p.send(troupe.Mail{To: h.root, Kind: troupe.MailPrompt, Blocks: []troupe.Block{troupe.Text("more")}})
			pass(55 * time.Second)
			want(1)
			pass(10 * time.Second)
			want(2)
			p.send(troupe.Mail{To: h.root, Kind: troupe.MailPrompt, Blocks: []troupe.Block{troupe.Text("and more")}})
			pass(30 * time.Second)
			if err := p.hub.Leave(t.Context(), h.root); err != nil {
				t.Error(err)
			}
			pass(time.Hour)
			want(2) // it was left
			p.pool.Close()
			p = h.adopt(says.reply, true, setup)
			pass(55 * time.Second)
			want(2)
			pass(10 * time.Second)
			want(3) // it was taken up, and nothing was said
			p.end()
			h.checkTree()
		})
	}
}
