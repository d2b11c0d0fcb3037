package session_test

import (
	"strings"
	"sync"
	"sync/atomic"
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
// enough; forks of a parent that was just read wait for nobody; a first call that fails, or does not begin, holds
// nobody up.
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
				var later atomic.Bool // the first call of a child has begun, or failed
				p.llm.takes = func(r model.Request) time.Duration {
					s.note(r)
					if tt.takes > 0 && r.Agent.Path != "main" && later.CompareAndSwap(false, true) {
						return tt.takes
					}
					return time.Second
				}
				p.llm.fail = func(r model.Request) *model.Error {
					if tt.fails && r.Agent.Path != "main" && later.CompareAndSwap(false, true) {
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

// TestForksOfAMovedParent: what a parent's last reply has warmed is warm for the model that gave it: forks of one that
// was moved to another model since follow the first of them.
func TestForksOfAMovedParent(t *testing.T) {
	t.Parallel()
	for to, later := range map[string]int{"llm/two": 2, "llm/one": 0} {
		synctest.Test(t, func(t *testing.T) {
			h, s := newHome(t), new(sent)
			p := h.start(plays{"main": {say("ok")}}.reply, func(p *process) {
				p.settings.Policy.WaitAbove = 1
				p.llm.takes = func(r model.Request) time.Duration { s.note(r); return time.Second }
				p.deps = func(d *session.Deps) { d.Models = cached{llm: p.llm} }
			}).begin(troupe.Caps{MaxDepth: 1})
			pass(10 * time.Second)
			fork := wished(h.root, "beside", "do it")
			p.send(troupe.Mail{To: h.root, Kind: troupe.MailModel, Model: to}, fork, fork, fork)
			pass(time.Minute)
			p.end()
			if s.after(0) != 3-later || s.after(time.Second) != later {
				t.Errorf("moved to %s: heard of after: %v", to, s.at)
			}
			h.checkTree()
		})
	}
}

// TestForksOfAColdParent: forks that people make of a conversation which the provider has long forgotten follow the
// first of them.
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
		fork := troupe.Mail{To: h.root, Kind: troupe.MailFork,
			OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Title: "beside"}},
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

// coldTree is a tree whose main agent starts agents, each of which begins as the others do, with the times of their
// first calls since its own first one.
func coldTree(t *testing.T, main []troupe.Reply, price func(troupe.Usage) troupe.Money,
	change func(*process)) (*process, map[string]time.Duration) {
	t.Helper()
	h, at := newHome(t), map[string]time.Duration{}
	var mu sync.Mutex
	begun := time.Now()
	p := h.start(plays{"main": main}.reply, func(p *process) {
		p.settings.Policy.WaitAbove = 1
		p.llm.takes = func(r model.Request) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := at[r.Agent.Path]; !ok {
				at[r.Agent.Path] = time.Since(begun)
			}
			return time.Second
		}
		p.deps = func(d *session.Deps) { d.Models = priced{p.llm, price} }
		change(p)
	}).begin(troupe.Caps{MaxDepth: 1})
	return p, at
}

// priced is a model with a price.
type priced struct {
	*llm
	price func(troupe.Usage) troupe.Money
}

func (m priced) Cost(_ string, u troupe.Usage) (troupe.Money, bool) { return m.price(u), true }

// usual is a provider that takes more for what it writes to its cache, and automatic one that does not.
func usual(u troupe.Usage) troupe.Money {
	return troupe.Money(u.Input*100 + u.CacheWrite*125 + u.CacheRead*10)
}

func automatic(u troupe.Usage) troupe.Money { return troupe.Money(u.Input*100 + u.CacheRead*10) }

// TestPrefixStaysWarm: what was read is warm for five minutes, and is followed again after that; where writing to the
// cache costs nothing of its own, reading from it saves all the same.
func TestPrefixStaysWarm(t *testing.T) {
	t.Parallel()
	for name, price := range map[string]func(troupe.Usage) troupe.Money{"usual": usual, "automatic": automatic} {
		for pause, follow := range map[time.Duration]time.Duration{time.Minute: 0, 6 * time.Minute: time.Second} {
			synctest.Test(t, func(t *testing.T) {
				p, at := coldTree(t, []troupe.Reply{call("Agent:A", "Agent:B"), say("ok"), call("Agent:C", "Agent:D"),
					say("ok")},
					price, func(*process) {})
				pass(10 * time.Second)
				if d := at["main/B"] - at["main/A"]; max(d, -d) != time.Second {
					t.Errorf("%s: of two that begin alike the second was heard of %v after the first", name, d)
				}
				pass(pause)
				p.send(troupe.Mail{To: p.root, Kind: troupe.MailPrompt, Blocks: []troupe.Block{troupe.Text("more")}})
				pass(10 * time.Second)
				p.end()
				if d := at["main/D"] - at["main/C"]; max(d, -d) != follow {
					t.Errorf("%s: %v later the second was heard of %v after the first, want %v", name, pause, d, follow)
				}
			})
		}
	}
}

// TestOthersDoNotWait: agents whose heads differ wait for nobody, and a first call that is stopped before it goes holds
// nobody up.
func TestOthersDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, at := coldTree(t, []troupe.Reply{call("Agent:A", "Agent:B"), say("ok")}, usual, func(p *process) {
			inner := p.deps
			p.deps = func(d *session.Deps) {
				inner(d)
				d.Profiles = various{p}
			}
		})
		p.end()
		if d := at["main/B"] - at["main/A"]; d != 0 {
			t.Errorf("one waited %v for another type", d)
		}
	})
	for _, stopped := range []string{"A", "B"} { // one of them goes first
		synctest.Test(t, func(t *testing.T) {
			gov := &closed{}
			p, at := coldTree(t, []troupe.Reply{call("Agent:A", "Agent:B"), say("ok")}, usual, func(p *process) {
				inner := p.deps
				p.deps = func(d *session.Deps) { inner(d); d.Governor = gov }
			})
			pass(5 * time.Second) // one waits for the governor, the other one for that
			p.stop(p.called(stopped).ID, troupe.Stop{Now: true})
			pass(time.Second)
			gov.open()
			p.end()
			if d := max(at["main/A"], at["main/B"]); len(at) != 2 || d > 10*time.Second {
				t.Errorf("%s was stopped before it went, and held the other one up: %v", stopped, at)
			}
		})
	}
}

// various are types of agents with other prompts.
type various struct{ *process }

func (v various) Open([]byte) (session.Roles, error) { return v, nil }

func (v various) Resolve(_ troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	return role("as " + sp.Name), nil
}

// closed is a governor that lets children go only once it is opened.
type closed struct {
	mu      sync.Mutex
	opened  bool
	calls   int
	waiting []func()
}

func (c *closed) Enter(_ string, ready func()) (bool, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls++; c.calls == 1 || c.opened {
		return true, func() {}
	}
	gone := false
	c.waiting = append(c.waiting, func() {
		if !gone {
			ready()
		}
	})
	return false, func() { c.mu.Lock(); defer c.mu.Unlock(); gone = true }
}

func (c *closed) Leave(string, error) {}

func (c *closed) open() {
	c.mu.Lock()
	c.opened = true
	all := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, ready := range all {
		ready()
	}
}
