package session_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/governor"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestVirtualRuns plays whole trees with the real driver on real goroutines in virtual time:
// agents and commands in the background, messages, stops, summaries, requests, faults, limits
// and restarts, in an order that no seed decides. What the simulation proves of every order
// step by step is looked at here once all is at rest.
func TestVirtualRuns(t *testing.T) {
	t.Parallel()
	runs := 300
	if testing.Short() {
		runs = 60
	}
	met := make(map[string]int)
	for seed := range uint64(runs) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Fatalf("run %d", seed)
				}
			}()
			virtualRun(t, seed, met)
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("met %v", met)
	for _, what := range []string{"restarts", "sessions", "model.compacted", "request.answered", "model.failed",
		"mail.delivered", "budget.warned", "model.changed"} {
		if met[what] < runs/20 {
			t.Errorf("only %d %s in %d runs", met[what], what, runs)
		}
	}
}

// dice are drawn anew for each question, so that the answers do not depend on who asks first.
func dice(seed uint64, about ...any) *rand.Rand {
	f := fnv.New64a()
	fmt.Fprint(f, about...)
	return rand.New(rand.NewPCG(seed, f.Sum64()))
}

// moods draws replies: a few turns of calls, then words.
func moods(seed uint64) func(model.Request) troupe.Reply {
	return func(r model.Request) troupe.Reply {
		if summing(r) {
			if dice(seed, r.Agent.Path, r.Agent.Reply, "summary", len(r.Messages)).IntN(4) == 0 {
				return troupe.Reply{Stop: troupe.StopEndTurn, Usage: troupe.Usage{Input: 10}}
			}
			return say("what was said so far")
		}
		d := dice(seed, r.Agent.Path, r.Agent.Reply)
		if r.Agent.Reply > 8 || (r.Agent.Reply > 1 && d.IntN(4) == 0) {
			out := say("that is it")
			out.Usage.Input = int64(len(body(r)) / 10)
			return out
		}
		names := []string{"A", "B", "c", "nobody"}
		one := func(from []string) string { return from[d.IntN(len(from))] }
		var calls []string
		for range 1 + d.IntN(3) {
			calls = append(calls, one([]string{
				"Read:a", "Edit:b", "Agent:&" + one(names[:2]), "Agent:&", "Agent:", "Agent:" + one(names[:3]),
				"Bash:&5s", "Bash:1s", "Bash:&1h",
				"SendMessage:" + one(names) + " how far?", "SendMessage:" + one(names) + " enough!",
				"TaskOutput:" + one(names), "TaskOutput:", "TaskStop:" + one(names), "TaskOutput:b1.0", "TaskStop:b1.0",
			}))
		}
		out := call(calls...)
		out.Usage.Input = int64(len(body(r)) / 10)
		return out
	}
}

// faults draws what goes wrong.
func faults(seed uint64) func(model.Request) *model.Error {
	return func(r model.Request) *model.Error {
		d := dice(seed, r.Agent.Path, r.Agent.Reply, r.Agent.Attempt, "fault")
		switch d.IntN(30) {
		case 0:
			return &model.Error{Fault: troupe.FaultRetry, Message: "overloaded", Throttled: true,
				RetryAfter: time.Duration(d.IntN(20)) * time.Second}
		case 1:
			return &model.Error{Fault: troupe.FaultTooLong, Message: "too long"}
		case 2:
			return &model.Error{Fault: troupe.FaultAuth, Message: "the key has expired"}
		case 3:
			return &model.Error{Fault: troupe.FaultBad, Message: "bad luck"}
		}
		return nil
	}
}

func virtualRun(t *testing.T, seed uint64, met map[string]int) {
	d := rand.New(rand.NewPCG(seed, 2))
	h := newHome(t)
	caps := troupe.Caps{MaxDepth: 2, MaxActive: d.IntN(4), MaxTotal: 8}
	if d.IntN(3) == 0 {
		caps.MaxTokens = int64(300 + d.IntN(2000))
	}
	settings := troupe.Policy{MaxAttempts: 4, MaxDenials: 3, FallbackAfter: 2, Gather: time.Second,
		AutoBackground: time.Duration(d.IntN(3)) * 3 * time.Second}
	lanes, asks := d.IntN(3), time.Duration(d.IntN(4))*time.Minute
	setup := func(p *process) {
		p.llm.fail = faults(seed)
		p.llm.window = int64(d.IntN(2) * 200)
		p.settings = troupe.Settings{AskFor: asks, Policy: settings}
		p.deps = func(dep *session.Deps) {
			dep.Tools, dep.Profiles = shells(), inherits{p}
			dep.Governor = governor.New(governor.Options{Max: func(string) int { return lanes }, Now: time.Now,
				After: p.pool.After})
		}
	}
	p := h.start(moods(seed), setup)
	if d.IntN(2) == 0 {
		p.beginAs(caps, careful)
	} else {
		p.begin(caps)
	}
	all := []*process{p}
	for range 3 + d.IntN(12) {
		pass(time.Duration(d.IntN(8000)) * time.Millisecond)
		if d.IntN(8) == 0 {
			p.pool.Close()
			p = h.adopt(moods(seed), d.IntN(3) > 0, setup)
			all = append(all, p)
			continue
		}
		meddle(p, d)
	}
	p.stop(h.root, troupe.Stop{Now: d.IntN(2) == 0, Tree: true, By: "the test"})
	p.end()
	h.checkTree()
	checkPrefix(t, all...)
	met["restarts"] += len(all) - 1
	for _, s := range h.tree() {
		met["sessions"]++
		for _, e := range h.events(s.ID) {
			met[string(e.Body.Kind())]++
		}
	}
}

// meddle has somebody say something to somebody.
func meddle(p *process, d *rand.Rand) {
	tree := p.tree()
	to := tree[d.IntN(len(tree))].ID
	for _, s := range tree {
		if s.Waiting == troupe.WaitApproval && d.IntN(3) > 0 {
			respond(p, d, s.ID)
			return
		}
	}
	switch d.IntN(8) {
	case 0, 1:
		p.send(prompt(to, "a word"), prompt(to, "and another"))
	case 2:
		p.stop(to, troupe.Stop{Now: d.IntN(2) == 0, Tree: d.IntN(2) == 0, By: "somebody"})
	case 3:
		p.send(troupe.Mail{To: to, Kind: troupe.MailCompact})
	case 4:
		p.send(troupe.Mail{To: to, Kind: troupe.MailModel, Model: []string{"llm/one", "llm/two"}[d.IntN(2)]})
	case 5:
		p.send(troupe.Mail{To: to, Kind: troupe.MailNotice, Blocks: []troupe.Block{troupe.Text("something has " +
			"changed")}})
	case 6:
		p.hub.Move(p.root, to, nil, nil)
	case 7:
		respond(p, d, to)
	}
}

// respond answers the latest request of a session, if it had one; perhaps with a rule.
func respond(p *process, d *rand.Rand, to troupe.SessionID) {
	opened, _ := p.requests(to)
	if len(opened) == 0 {
		return
	}
	q := opened[len(opened)-1]
	answer := allow(to, q.Reply, q.Call, troupe.Allow)
	if q.Decision.Grant == "" || d.IntN(2) == 0 {
		p.send(answer)
		return
	}
	rule := troupe.Rule{Effect: troupe.Allow, Text: q.Decision.Grant, Source: "somebody"}
	p.send(troupe.Mail{To: p.root, Kind: troupe.MailGrant, Rule: &rule}, answer)
}

// TestLateLeave: a governor may let a call go in the moment in which it is given up, even when
// its session has moved to another model or has ended since. The leave is given back.
func TestLateLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		slow := &slowGovernor{}
		p := h.start(plays{"main": {call("Agent:&X", "Agent:&Y"), say("I wait")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { d.Governor = slow }
		}).begin(troupe.Caps{MaxDepth: 1})
		pass(5 * time.Second) // X and Y wait to be let go
		x, y := h.called("X").ID, h.called("Y").ID
		p.stop(x, troupe.Stop{Now: true})
		p.send(troupe.Mail{To: y, Kind: troupe.MailModel, Model: "llm/two"})
		p.stop(y, troupe.Stop{Now: true})
		pass(time.Second)
		if inside, waiting := slow.let(); inside != 0 || waiting < 2 {
			t.Errorf("%d calls are under way and %d wait", inside, waiting)
		}
		p.end()
		if inside, _ := slow.let(); inside != 0 {
			t.Errorf("%d calls were let go and never came back", inside)
		}
		h.checkTree()
	})
}

// slowGovernor lets two calls go, and everybody else when it is told to, whether or not they
// have given up. From then on it lets everybody go.
type slowGovernor struct {
	mu        sync.Mutex
	n, inside int
	free      bool
	waiting   []func()
}

func (g *slowGovernor) Enter(_ string, ready func()) (bool, func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n++; g.n <= 2 || g.free {
		g.inside++
		return true, func() {}
	}
	g.waiting = append(g.waiting, ready)
	return false, func() {}
}

func (g *slowGovernor) Leave(string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
}

func (g *slowGovernor) let() (inside, waiting int) {
	g.mu.Lock()
	all := g.waiting
	inside, g.waiting, g.free = g.inside, nil, true
	g.inside += len(all)
	g.mu.Unlock()
	for _, ready := range all {
		ready()
	}
	return inside, len(all)
}
