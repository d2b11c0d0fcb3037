package session_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
)

// cached is a model whose provider has a price for its cache.
type cached struct {
	*llm
	none bool // no price is known
}

func (c cached) Cost(_ string, u troupe.Usage) (troupe.Money, bool) {
	return troupe.Money(u.Input*100 + u.CacheWrite*125 + u.CacheRead*10), !c.none
}

// sent is when each agent's first call was made, since the first one of all children.
type sent struct {
	mu    sync.Mutex
	first time.Time
	at    map[string]time.Duration
}

func (s *sent) note(r model.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Agent.Path == "main" || r.Agent.Reply > 1 {
		return
	}
	if s.at == nil {
		s.first, s.at = time.Now(), map[string]time.Duration{}
	}
	if _, ok := s.at[r.Agent.Path]; !ok {
		s.at[r.Agent.Path] = time.Since(s.first)
	}
}

// after counts the agents whose first call was made so long after the first of all.
func (s *sent) after(d time.Duration) (n int) {
	for _, at := range s.at {
		if at == d {
			n++
		}
	}
	return n
}

// TestColdPrefix: of sessions that begin alike one goes first and the others follow its first byte, if that saves
// enough;
// forks of a parent that was just read wait for nobody; a first call that fails, or does not begin, holds nobody up.
func TestColdPrefix(t *testing.T) {
	t.Parallel()
	agents, forks := call("Agent:A", "Agent:B", "Agent:C"), call("Agent:%A", "Agent:%B", "Agent:%C")
	for name, tt := range map[string]struct {
		main  []troupe.Reply
		above troupe.Money
		none  bool
		fails bool
		takes time.Duration // the first child's first call
		at    map[time.Duration]int
	}{
		"they follow": {main: []troupe.Reply{agents, say("ok")}, above: 1,
			at: map[time.Duration]int{0: 1, time.Second: 2}},
		"too little": {main: []troupe.Reply{agents, say("ok")}, above: 1e9, at: map[time.Duration]int{0: 3}},
		"never":      {main: []troupe.Reply{agents, say("ok")}, at: map[time.Duration]int{0: 3}},
		"no price": {main: []troupe.Reply{agents, say("ok")}, above: 1, none: true,
			at: map[time.Duration]int{0: 3}},
		"the first fails": {main: []troupe.Reply{agents, say("ok")}, above: 1, fails: true,
			at: map[time.Duration]int{0: 1, time.Second: 2}},
		"it does not begin": {main: []troupe.Reply{agents, say("ok")}, above: 1, takes: time.Minute,
			at: map[time.Duration]int{0: 1, 20 * time.Second: 2}},
		"forks of a warm parent": {main: []troupe.Reply{forks, say("ok")}, above: 1, at: map[time.Duration]int{0: 3}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, s := newHome(t), new(sent)
			p := h.start(plays{"main": tt.main}.reply, func(p *process) {
				p.settings.Policy.WaitAbove = tt.above
				first := true
				p.llm.takes = func(r model.Request) time.Duration {
					s.note(r)
					if tt.takes > 0 && r.Agent.Path != "main" && first {
						first = false
						return tt.takes
					}
					return time.Second
				}
				p.llm.fail = func(r model.Request) *model.Error {
					if tt.fails && r.Agent.Path != "main" && first {
						first = false
						return &model.Error{Fault: troupe.FaultRetry, Message: "busy"}
					}
					return nil
				}
				p.deps = func(d *session.Deps) { d.Models = cached{p.llm, tt.none} }
			}).begin(troupe.Caps{MaxDepth: 1}).end()
			for d, n := range tt.at {
				if got := s.after(d); got != n {
					t.Errorf("%s: %d agents were heard of after %v, want %d: %v", name, got, d, n, s.at)
				}
			}
			for _, r := range p.llm.requests {
				if strings.Count(string(body(r)), "help") == 0 && r.Agent.Path != "main" {
					t.Errorf("%s: %s was not told what to do", name, r.Agent.Path)
				}
			}
			h.checkTree()
		})
	}
}

// TestForksOfAColdParent: forks that people make of a conversation which the provider has long forgotten follow the
// first
// of them.
func TestForksOfAColdParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := newHome(t), new(sent)
		p := h.start(plays{"main": {say("ok")}}.reply, func(p *process) {
			p.settings.Policy.WaitAbove = 1
			p.llm.takes = func(r model.Request) time.Duration { s.note(r); return time.Second }
			p.deps = func(d *session.Deps) { d.Models = cached{llm: p.llm} }
		}).begin(troupe.Caps{MaxDepth: 1})
		pass(10 * time.Minute)
		fork := troupe.Mail{To: h.root, Kind: troupe.MailFork, Forked: &troupe.Forked{Title: "beside"},
			Blocks: []troupe.Block{troupe.Text("do it")}}
		p.send(fork, fork, fork)
		pass(time.Minute)
		p.end()
		if s.after(0) != 1 || s.after(time.Second) != 2 {
			t.Errorf("heard of after: %v", s.at)
		}
		if main := h.get(h.root); main.Run != 1 {
			t.Errorf("the end of a person's fork woke its parent: run %d", main.Run)
		}
		requests := p.llm.of(h.tree()[1].ID)
		wants(t, string(body(requests[0])), "You are a fork", "do it")
		h.checkTree()
		checkPrefix(t, p)
	})
}
