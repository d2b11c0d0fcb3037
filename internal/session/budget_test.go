package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// dear models cost a dollar for each call that is expected to be usual, and more when it is
// over than was held back for it.
type dear struct {
	*llm
	more troupe.Money
}

func (d dear) Cost(_ string, u troupe.Usage) (troupe.Money, bool) {
	if u.Output > 0 {
		return troupe.Dollar, true // the estimate
	}
	return troupe.Dollar + d.more, true
}

// TestBudget: many agents that work against one limit end cleanly when it is reached, and
// spend beyond it at most what the calls cost more than was held back that were under way.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, more := range []troupe.Money{0, troupe.Dollar / 2, 3 * troupe.Dollar} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			calls := make([]string, 30)
			for i := range calls {
				calls[i] = fmt.Sprintf("Agent:&A%d", i)
			}
			const limit = 20 * troupe.Dollar
			p := h.start(plays{"main": {call(calls...), say("I wait")}, "": reads(10)}.reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Models = dear{p.llm, more} }
			}).begin(troupe.Caps{MaxDepth: 1, MaxCost: limit}).end()
			var tree troupe.Tree
			h.view(readTree(h.root, &tree))
			if tree.Tally.Cost < limit || tree.Tally.Cost > limit+troupe.Money(p.llm.peak)*more {
				t.Errorf("%s more than expected for each of %d calls at once: spent %s of %s", more, p.llm.peak,
					tree.Tally.Cost, limit)
			}
			if tree.Reserved != (troupe.Reservation{}) {
				t.Errorf("%+v is still held back", tree.Reserved)
			}
			if p.llm.peak > 20 {
				t.Errorf("%d calls were under way at once, with money for 20", p.llm.peak)
			}
			for _, s := range h.tree() {
				if s.Status != troupe.Failed || s.Cause != troupe.CauseLimit ||
					!strings.Contains(s.Error, "the tree has cost") {
					t.Errorf("%q ended as %s (%s): %s", s.Name, s.Status, s.Cause, s.Error)
				}
			}
			h.checkTree()
		})
	}
}

// TestWarnings: whoever has used most of a limit is told so once, in time to come to an end.
func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limits troupe.Limits
		caps   troupe.Caps
		want   string
		cause  troupe.Cause
	}{
		"turns":       {limits: troupe.Limits{MaxTurns: 10}, want: "turns"},
		"cost":        {limits: troupe.Limits{MaxCost: 10 * troupe.Dollar}, want: "cost"},
		"time":        {limits: troupe.Limits{MaxTime: 20 * time.Second}, want: "time"},
		"tree cost":   {caps: troupe.Caps{MaxCost: 10 * troupe.Dollar}, want: "tree cost"},
		"none so far": {limits: troupe.Limits{MaxTurns: 100}},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": reads(30)}.reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Models = dear{p.llm, 0} }
			}).beginAs(tt.caps, func(b *fleet.Birth) { b.Profile.Limits = tt.limits })
			p.end()
			var warned []troupe.BudgetWarned
			turns := 0
			for _, e := range h.events(h.root) {
				switch b := e.Body.(type) {
				case troupe.BudgetWarned:
					warned = append(warned, b)
					if turns != 8 {
						t.Errorf("%s: warned after %d turns of 10", name, turns)
					}
				case troupe.Replied:
					turns++
				}
			}
			if tt.want == "" {
				if len(warned) != 0 {
					t.Errorf("%s: warned %+v", name, warned)
				}
				return
			}
			if len(warned) != 1 || warned[0].Limit != tt.want {
				t.Errorf("%s: warned %+v", name, warned)
			}
			if s := h.get(h.root); s.Cause != troupe.CauseLimit || turns > 10 {
				t.Errorf("%s: ended as %s (%s) after %d turns", name, s.Status, s.Cause, turns)
			}
			requests := p.llm.of(h.root)
			wants(t, string(body(requests[len(requests)-1])), "bring the work to an end")
			h.checkTree()
		})
	}
}

// TestMaxTime: a run that has used up its time ends then, with what it waits for and works on.
func TestMaxTime(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]troupe.Reply{
		"a child": call("Agent:X"), "a task": call("Agent:&X", "TaskOutput:X"), "work": call("Read:a"),
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {reply}, "main/X": reads(100)}.reply).beginAs(troupe.Caps{MaxDepth: 1},
				func(b *fleet.Birth) {
					b.Profile.Limits.MaxTime = 10500 * time.Millisecond
				})
			pass(10 * time.Second)
			if s := h.get(h.root); !s.Status.Live() {
				t.Errorf("%s: ended too soon, as %s", name, s.Status)
			}
			pass(time.Second)
			s := h.get(h.root)
			if s.Status != troupe.Failed || s.Cause != troupe.CauseLimit ||
				s.EndedAt.Sub(s.StartedAt) != 10500*time.Millisecond {
				t.Errorf("%s: %s (%s) after %s: %s", name, s.Status, s.Cause, s.EndedAt.Sub(s.StartedAt), s.Error)
			}
			p.stop(h.root, troupe.Stop{Now: true, Tree: true})
			p.end()
			h.checkTree()
		})
	}
}
