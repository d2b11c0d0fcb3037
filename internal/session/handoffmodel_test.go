package session_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// checks is a model that checks results, and takes some time for it.
type checks struct {
	took  time.Duration
	asked atomic.Int32
}

func (c *checks) with(p *process) {
	p.settings.HandoffModel = "llm/check"
	p.deps = func(d *session.Deps) { d.Handoff = c }
}

func (c *checks) Check(ctx context.Context, q session.HandoffAsking) troupe.Verdict {
	c.asked.Add(1)
	out := troupe.Verdict{Usage: troupe.Usage{Input: 5}, Cost: 3}
	if !passed(ctx, c.took) {
		out.Failed, out.Why = true, "it was cut off"
		return out
	}
	out.Effect, out.Why = troupe.Allow, "fine"
	if strings.Contains(q.Transcript, "did b") {
		out.Effect, out.Why = troupe.Ask, "it read b"
	}
	return out
}

// TestHandoffModel: a result waits for the model that checks it, and the agent pays for that; a stop waits for nothing
// but what it has cost by then, and what was lost with a process is asked again.
func TestHandoffModel(t *testing.T) {
	t.Parallel()
	script := plays{"main": {call("Agent:A", "Agent:B"), say("ok")}, "main/A": {call("Read:a"), say("done")},
		"main/B": {call("Read:b"), say("done")}}.reply
	type end func(h *home, p *process, c *checks) *process
	for name, tt := range map[string]struct {
		then   end
		asked  int32
		cost   troupe.Money
		status troupe.Status
		flags  int
	}{
		"it answers": {func(_ *home, p *process, _ *checks) *process { return p }, 2, 3, troupe.Completed, 1},
		"the agent is stopped": {func(h *home, p *process, _ *checks) *process {
			p.stop(h.called("B").ID, troupe.Stop{Run: 1, Now: true})
			return p
		}, 2, 3, troupe.Cancelled, 0},
		"the process dies": {func(h *home, p *process, c *checks) *process {
			p.pool.Close()
			return h.adopt(script, true, c.with)
		}, 4, 3, troupe.Completed, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, c := newHome(t), &checks{took: 20 * time.Second}
			p := h.start(script, c.with).begin(troupe.Caps{MaxDepth: 1, MaxCost: 1000})
			pass(10 * time.Second)
			tt.then(h, p, c).end()
			b := h.called("B")
			var o troupe.Outcome
			for _, e := range h.kinds(b.ID, troupe.KindEnded) {
				if b, ok := e.Body.(troupe.Ended); ok {
					o = b.Outcome
				}
			}
			turns := troupe.Money(b.Tally.Turns)
			if c.asked.Load() != tt.asked || b.Tally.Cost-turns != tt.cost || b.Status != tt.status ||
				len(o.Flags) != tt.flags || b.Reserved != (troupe.Reservation{}) {
				t.Errorf("%s: asked %d times, cost %v, %s, flags %v, reserved %v", name, c.asked.Load(),
					b.Tally.Cost-turns,
					b.Status, o.Flags, b.Reserved)
			}
		})
	}
}

// TestHandoffLeavesRoom: what was held back for a question that was lost with its process holds up nothing: neither
// words that came meanwhile nor the question when it is asked again.
func TestHandoffLeavesRoom(t *testing.T) {
	t.Parallel()
	script := plays{"main": {call("Agent:A"), say("ok")}, "main/A": {call("Read:a"), say("done"), say("again")}}.reply
	for name, words := range map[string]bool{"words": true, "none": false} {
		synctest.Test(t, func(t *testing.T) {
			h, c := newHome(t), &checks{took: 20 * time.Second}
			p := h.start(script, c.with).begin(troupe.Caps{MaxDepth: 1, MaxTokens: 31_010})
			pass(10 * time.Second)
			p.pool.Close()
			a := h.called("A")
			if words {
				m := prompt(a.ID, "more")
				m.ID, m.Root, m.SentAt = "more", a.Root, time.Now()
				if err := h.db.Open().Update(t.Context(), a.Root, func(tx store.Tx) error {
					_, err := tx.Send(m)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			h.adopt(script, true, c.with).end()
			if o := h.handedOver("A"); o.Status != troupe.Completed || o.Unchecked != "" ||
				(o.Result == "again") != words {
				t.Errorf("%s: %s %q, unchecked: %s", name, o.Status, o.Result, o.Unchecked)
			}
		})
	}
}

// TestHandoffStopped: where hooks were told of an end that waits for the model that checks results, a stop and a limit
// of time have it wait no longer.
func TestHandoffStopped(t *testing.T) {
	t.Parallel()
	script := plays{"main": {call("Agent:A"), say("ok")}, "main/A": {say("done")}}.reply
	for name, limit := range map[string]time.Duration{"stopped": 0, "its tree's time is up": 24500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h, c, hooks := newHome(t), &checks{took: 29 * time.Second}, slowAt(troupe.HookSubagentStart,
				troupe.HookSubagentStop)
			p := h.start(script, c.with, func(p *process) {
				hookedBy(hooks)(p)
				hooked := p.deps
				p.deps = func(d *session.Deps) { hooked(d); d.Handoff = c }
			}).beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) { b.Profile.Limits.MaxTime = limit })
			pass(24 * time.Second) // hooks, a reply, hooks, and the question
			if c.asked.Load() != 1 {
				t.Fatalf("%s: it was asked %d times", name, c.asked.Load())
			}
			if limit == 0 {
				p.stop(h.called("A").ID, troupe.Stop{Run: 1, Now: true})
			}
			pass(time.Second)
			if s := h.called("A"); s.Status.Live() {
				t.Errorf("%s: A is %s", name, s.Status)
			}
			p.end()
		})
	}
}
