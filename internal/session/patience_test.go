package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestPatience: what fails for nothing is tried again for as long as patience lasts, or for ever where a person
// watches; what was paid for, and what a limit of ours refuses, a few times or once.
func TestPatience(t *testing.T) {
	t.Parallel()
	used := troupe.Usage{Input: 100, Output: 50}
	tests := map[string]struct {
		fault    model.Error
		patience time.Duration
		caps     troupe.Caps
		limits   troupe.Limits
		heals    int // the attempt that succeeds; 0: none does
		attempts int // at most
		least    int
		says     string // "": the run succeeds
		within   time.Duration
	}{
		"it never heals": {fault: model.Error{Fault: troupe.FaultRetry, Message: "overloaded"},
			patience: 30 * time.Minute,
			attempts: 40, least: 15, says: "gave up after", within: 30 * time.Minute},
		"it heals in time": {fault: model.Error{Fault: troupe.FaultRetry, Message: "overloaded"},
			patience: 30 * time.Minute, heals: 12, attempts: 12, least: 12, within: 30 * time.Minute},
		"somebody watches": {fault: model.Error{Fault: troupe.FaultRetry, Message: "overloaded"}, heals: 200,
			attempts: 200, least: 200, within: 8 * time.Hour},
		"the service asks for too long": {fault: model.Error{Fault: troupe.FaultRetry, Message: "come back tomorrow",
			RetryAfter: 20 * time.Hour}, patience: 30 * time.Minute, attempts: 1, least: 1, says: "gave up after",
			within: 2 * time.Second},
		"each attempt costs": {fault: model.Error{Fault: troupe.FaultRetry, Message: "nonsense", Usage: used},
			attempts: 5, least: 5, says: "gave up after 5 attempts that were billed", within: time.Hour},
		"a limit of ours": {fault: model.Error{Fault: troupe.FaultBad, Message: "too many blocks", Usage: used},
			attempts: 1, least: 1, says: "too many blocks", within: 2 * time.Second},
		"more than the tree may cost": {fault: model.Error{Fault: troupe.FaultRetry, Message: "nonsense", Usage: used},
			caps: troupe.Caps{MaxCost: 5 * troupe.Dollar / 2}, attempts: 2, least: 2,
			says: "another attempt at a call that failed may cost $1.00", within: time.Hour},
		"more than the session may cost": {fault: model.Error{Fault: troupe.FaultRetry, Message: "nonsense",
			Usage: used},
			limits: troupe.Limits{MaxCost: 5 * troupe.Dollar / 2}, attempts: 2, least: 2,
			says: "no other attempt: one has cost $1.00", within: time.Hour},
		"just what the session may cost": {fault: model.Error{Fault: troupe.FaultRetry, Message: "nonsense",
			Usage: used},
			limits: troupe.Limits{MaxCost: 3 * troupe.Dollar}, attempts: 3, least: 3,
			says: "no other attempt: one has cost $1.00", within: time.Hour},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {say("done")}}.reply, func(p *process) {
				p.settings.Policy = troupe.Policy{Patience: tt.patience}
				p.llm.fail = func(r model.Request) *model.Error {
					if tt.heals > 0 && r.Agent.Attempt >= tt.heals {
						return nil
					}
					e := tt.fault
					return &e
				}
				p.deps = func(d *session.Deps) { d.Models = metered{p.llm} }
			}).beginAs(tt.caps, func(b *fleet.Birth) { b.Profile.Limits = tt.limits }).end()
			s, n := h.get(h.root), len(p.llm.requests)
			if n > tt.attempts || n < tt.least {
				t.Errorf("%s: %d attempts", name, n)
			}
			if ok := s.Status == troupe.Completed; ok != (tt.says == "") || !strings.Contains(s.Error, tt.says) {
				t.Errorf("%s: %s (%s): %s", name, s.Status, s.Cause, s.Error)
			}
			if took := s.EndedAt.Sub(s.StartedAt); took > tt.within {
				t.Errorf("%s: it took %s", name, took)
			}
			var tree troupe.Tree
			h.view(readTree(h.root, &tree))
			if most := tt.caps.MaxCost + tt.limits.MaxCost; most > 0 && tree.Tally.Cost > most {
				t.Errorf("%s: spent %s of %s", name, tree.Tally.Cost, most)
			}
			h.checkTree()
		})
	}
}

// metered models cost a dollar for whatever is used, and less than a cent by the estimate.
type metered struct{ *llm }

func (metered) Cost(_ string, u troupe.Usage) (troupe.Money, bool) {
	switch {
	case u == (troupe.Usage{}):
		return 0, true
	case u.Input == 100:
		return troupe.Dollar, true
	}
	return troupe.Dollar / 1000, true
}

// TestPatienceOfEachProcess: the time in which no process tried does not count.
func TestPatienceOfEachProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		setup := func(p *process) {
			p.settings.Policy = troupe.Policy{Patience: 30 * time.Minute}
			p.llm.fail = func(r model.Request) *model.Error {
				if r.Agent.Attempt > 8 {
					return nil
				}
				return &model.Error{Fault: troupe.FaultRetry, Message: "overloaded"}
			}
		}
		p := h.start(plays{"main": {say("done")}}.reply, setup).begin(troupe.Caps{})
		pass(90 * time.Second) // it waits for the next attempt
		p.pool.Close()
		pass(5 * time.Hour)
		h.adopt(plays{"main": {say("done")}}.reply, true, setup).end()
		if s := h.get(h.root); s.Status != troupe.Completed {
			t.Errorf("%s: %s", s.Status, s.Error)
		}
	})
}

// TestTurnsOfTree: replies of all agents together are reserved before each call, as tokens and money are.
func TestTurnsOfTree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		calls := make([]string, 20)
		for i := range calls {
			calls[i] = fmt.Sprintf("Agent:&A%d", i)
		}
		h.start(plays{"main": {call(calls...), say("I wait")}, "": reads(10)}.reply).
			begin(troupe.Caps{MaxDepth: 1, MaxTurns: 30}).end()
		var tree troupe.Tree
		h.view(readTree(h.root, &tree))
		if tree.Tally.Turns != 30 || tree.Reserved != (troupe.Reservation{}) {
			t.Errorf("%d of 30 model replies, and %+v is held back", tree.Tally.Turns, tree.Reserved)
		}
		for _, s := range h.tree() {
			if s.Status != troupe.Failed || s.Cause != troupe.CauseLimit || !strings.Contains(s.Error, "30 of its 30") {
				t.Errorf("%q ended as %s (%s): %s", s.Name, s.Status, s.Cause, s.Error)
			}
		}
		h.checkTree()
	})
}
