package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// handedOver is the end of the last run of an agent.
func (h *home) handedOver(name string) (o troupe.Outcome) {
	h.t.Helper()
	for _, e := range h.kinds(h.called(name).ID, troupe.KindEnded) {
		if b, ok := e.Body.(troupe.Ended); ok {
			o = b.Outcome
		}
	}
	return o
}

// TestVerify: what an agent changed is checked by another one before its result is handed over, once, in a folder of
// its own, whatever moment the process dies at; with one slot for all, and no level left to delegate.
func TestVerify(t *testing.T) {
	t.Parallel()
	script := plays{"main": {call("Agent:A?"), say("ok")}, "main/A": {call("Edit:writes /ws/f"), say("changed")},
		"main/A/Check A": {call("Read:b"), say("It holds.\nVERDICT: PASS")}}.reply
	for n := range 24 {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			p := h.start(script, f.with).begin(troupe.Caps{MaxDepth: 1, MaxActive: 1, MaxTotal: 2})
			if n > 0 {
				pass(time.Duration(n) * 500 * time.Millisecond)
				p.pool.Close()
				p = h.adopt(script, true, f.with)
			}
			p.end()
			o, check := h.handedOver("A"), h.called("Check A")
			if v := o.Verified; o.Status != troupe.Completed || o.Result != "changed" || v == nil ||
				v.Verdict != "PASS" ||
				v.Session != check.ID {
				t.Errorf("after %d: %s %q, verified %+v", n, o.Status, o.Result, v)
			}
			if all := h.tree(); len(all) != 3 || check.Workspace.Kind != troupe.WorkspaceIsolated ||
				o.Tally.Turns != 2 {
				t.Errorf("after %d: %d sessions, %d replies, in %+v", n, len(all), o.Tally.Turns, check.Workspace)
			}
			if n := len(h.kinds(h.called("A").ID, troupe.KindVerifyEnded)); n != 1 {
				t.Errorf("it was verified %d times", n)
			}
		})
	}
}

// TestVerifyNot: where nobody checks, the result says why; a stop ends both, and words that come meanwhile are
// answered first, and that is checked again.
func TestVerifyNot(t *testing.T) {
	t.Parallel()
	slow := []troupe.Reply{call("Read:b"), call("Read:b"), call("Read:b"), say("VERDICT: PASS")}
	edits := []troupe.Reply{call("Edit:writes /ws/f"), say("changed"), say("again")}
	for name, tt := range map[string]struct {
		a, check []troupe.Reply
		caps     troupe.Caps
		folders  bool
		then     func(p *process)
		want     string
	}{
		"nothing was changed": {[]troupe.Reply{say("looked")}, slow, troupe.Caps{MaxDepth: 1}, true, nil,
			"completed: it changed no file"},
		"a cap": {edits, slow, troupe.Caps{MaxDepth: 1, MaxTotal: 1}, true, nil, "completed: 1 agents were started"},
		"no folder": {edits, slow, troupe.Caps{MaxDepth: 1}, false, nil,
			"completed: a folder of its own cannot be had"},
		"no verdict": {edits, []troupe.Reply{say("fine")}, troupe.Caps{MaxDepth: 1}, true, nil,
			"completed: the agent that checked it gave no verdict"},
		"stopped": {edits, slow, troupe.Caps{MaxDepth: 1}, true, func(p *process) {
			p.stop(p.called("A").ID, troupe.Stop{Run: 1, Now: true})
		}, "cancelled: "},
		"the checker is stopped": {edits, slow, troupe.Caps{MaxDepth: 1}, true, func(p *process) {
			p.stop(p.called("Check A").ID, troupe.Stop{Run: 1, Now: true})
		}, "completed: the agent that was to check it cancelled"},
		"words": {edits, slow, troupe.Caps{MaxDepth: 1}, true, func(p *process) {
			p.send(troupe.Mail{To: p.called("A").ID, Kind: troupe.MailPrompt,
				Blocks: []troupe.Block{troupe.Text("more")}})
		}, "completed: the agent that checked it gave no verdict"}, // by another one, after its new words
	} {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			var change []func(*process)
			if tt.folders {
				change = append(change, f.with)
			}
			p := h.start(plays{"main": {call("Agent:A?"), say("ok")}, "main/A": tt.a, "main/A/Check A": tt.check}.reply,
				change...).begin(tt.caps)
			pass(7500 * time.Millisecond)
			if tt.then != nil {
				if s := h.called("A"); s.Waiting != troupe.WaitChildren {
					t.Errorf("%s: A is %s", name, s.Status.For(s.Waiting))
				}
				tt.then(p)
			}
			p.end()
			o, got := h.handedOver("A"), ""
			if o.Verified != nil {
				got = o.Verified.Why
			}
			if got = fmt.Sprintf("%s: %s", o.Status, got); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s: %s", name, got)
			}
			for _, s := range h.tree() {
				if s.Status.Live() {
					t.Errorf("%s: %s is %s", name, s.Name, s.Status)
				}
			}
		})
	}
}

// TestVerifyAfterHooks: where hooks are told of the end of agents, work is checked all the same before it is handed
// over, whatever moment the process dies at.
func TestVerifyAfterHooks(t *testing.T) {
	t.Parallel()
	script := plays{"main": {call("Agent:A?"), say("ok")}, "main/A": {call("Edit:writes /ws/f"), say("changed")},
		"main/A/Check A": {call("Read:b"), say("It holds.\nVERDICT: PASS")}}.reply
	for n := range 12 {
		synctest.Test(t, func(t *testing.T) {
			h, f, hooks := newHome(t), newFolders(), slowAt(troupe.HookSubagentStart, troupe.HookSubagentStop)
			both := func(p *process) {
				hookedBy(hooks)(p)
				first := p.deps
				f.with(p)
				second := p.deps
				p.deps = func(d *session.Deps) { first(d); second(d) }
			}
			p := h.start(script, both).begin(troupe.Caps{MaxDepth: 1})
			if n > 0 {
				pass(time.Duration(n) * 5 * time.Second)
				p.pool.Close()
				p = h.adopt(script, true, both)
			}
			p.end()
			o := h.handedOver("A")
			if v := o.Verified; o.Status != troupe.Completed || v == nil || v.Verdict != "PASS" {
				t.Errorf("after %d: %s %q, verified %+v", n, o.Status, o.Result, v)
			}
			if told := len(h.ran(h.called("A").ID, troupe.HookSubagentStop)); told != 1 {
				t.Errorf("after %d: its end was told %d times", n, told)
			}
		})
	}
}

// TestVerifiedOnce: a run that only makes a summary has nothing new to hand over. What was said of its result stands,
// and an agent that was stopped while it checked it is not waited for again.
func TestVerifiedOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop bool
		want string
	}{"it was checked": {false, "PASS "}, "the check was stopped": {true,
		" the agent that was to check it cancelled"}} {
		synctest.Test(t, func(t *testing.T) {
			h, f, c := newHome(t), newFolders(), &checks{took: time.Second}
			p := h.start(plays{"main": {call("Agent:A?"), say("ok"), say("ok")},
				"main/A":         {call("Edit:writes /ws/f"), say("changed"), say("a summary"), say("a summary")},
				"main/A/Check A": {call("Read:b"), call("Read:b"), say("VERDICT: PASS")}}.reply, func(p *process) {
				c.with(p)
				p.deps = func(d *session.Deps) { d.Handoff, d.Workspaces = c, f }
			}).begin(troupe.Caps{MaxDepth: 1})
			a := func() troupe.SessionID { return h.called("A").ID }
			if tt.stop {
				pass(6 * time.Second)
				p.stop(a(), troupe.Stop{Run: 1, Now: true, Tree: true})
			}
			if err := p.hub.Wait(t.Context(), p.root); err != nil {
				t.Fatal(err)
			}
			p.send(troupe.Mail{To: a(), Kind: troupe.MailCompact})
			p.end()
			o, got := h.handedOver("A"), "nothing"
			if o.Verified != nil {
				got = o.Verified.Verdict + " " + o.Verified.Why
			}
			if o.Run != 2 || o.Status != troupe.Completed || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s: run %d: %s %q, %s", name, o.Run, o.Status, o.Result, got)
			}
			if !tt.stop && c.asked.Load() != 2 { // about A, and about who checked it
				t.Errorf("%s: the model that checks results was asked %d times", name, c.asked.Load())
			}
			for _, s := range h.tree() {
				if s.Status.Live() {
					t.Errorf("%s: %s is %s", name, s.Name, s.Status)
				}
			}
		})
	}
}
