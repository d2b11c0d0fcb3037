package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/governor"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestTimeInAnyState: the time of a session ends in whatever it is doing, and what it had said by then is
// its result.
func TestTimeInAnyState(t *testing.T) {
	t.Parallel()
	const limit = 10500 * time.Millisecond
	slow := func(reply int) func(*process) {
		return func(p *process) {
			p.llm.takes = func(r model.Request) time.Duration {
				if r.Agent.Reply == reply {
					return 5 * time.Minute
				}
				return time.Second
			}
		}
	}
	failing := func(after int) func(*process) {
		return func(p *process) {
			p.llm.fail = func(r model.Request) *model.Error {
				if r.Agent.Reply > after {
					return &model.Error{Fault: troupe.FaultRetry, Message: "overloaded", RetryAfter: time.Hour}
				}
				return nil
			}
		}
	}
	tests := map[string]struct {
		setup func(*process)
		first string // what main does
		send  func(*process)
		words bool // it has said something before
	}{
		"the first model call":  {setup: slow(1)},
		"a later one":           {setup: slow(2), first: "Read:a", words: true},
		"a retry's wait":        {setup: failing(0)},
		"a later retry's wait":  {setup: failing(1), first: "Read:a", words: true},
		"a judgement":           {setup: judgedBy(&slowJudge{takes: time.Hour}, 0), first: "Read:a", words: true},
		"a judgement of agents": {setup: judgedBy(&slowJudge{takes: time.Hour}, 0), first: "Agent:X", words: true},
		"a summary": {setup: slow(2), first: "Edit:a", words: true, send: func(p *process) {
			pass(1500 * time.Millisecond)
			p.send(troupe.Mail{To: p.root, Kind: troupe.MailCompact})
		}},
		"the provider's queue": {setup: func(p *process) {
			p.deps = func(d *session.Deps) {
				g := governor.New(governor.Options{Max: func(string) int { return 1 }, Now: time.Now,
					After: p.pool.After})
				g.Enter("llm", func() {})
				d.Governor = g
			}
		}},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			first := call(tt.first)
			first.Blocks = append([]troupe.Block{troupe.Text("so far")}, first.Blocks...)
			p := h.start(plays{"main": {first, say("done")}, "main/X": reads(100)}.reply, tt.setup).
				beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) { b.Profile.Limits.MaxTime = limit })
			if tt.send != nil {
				tt.send(p)
			}
			p.end()
			s := h.get(h.root)
			if s.Status != troupe.Failed || s.Cause != troupe.CauseLimit || s.EndedAt.Sub(s.StartedAt) != limit {
				t.Errorf("%s: %s (%s) after %s: %s", name, s.Status, s.Cause, s.EndedAt.Sub(s.StartedAt), s.Error)
			}
			if (s.Result == "so far") != tt.words {
				t.Errorf("%s: its result is %q", name, s.Result)
			}
			h.checkTree()
		})
	}
}

// TestTimeOfEach: a sub-agent's own time ends in its first model call too, in front and in the background.
func TestTimeOfEach(t *testing.T) {
	t.Parallel()
	for _, and := range []string{"", "&"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("Agent:" + and + "X"), say("ok")}, "main/X": reads(2)}.reply,
				func(p *process) {
					p.llm.takes = func(r model.Request) time.Duration {
						if r.Agent.Path == "main/X" {
							return 5 * time.Minute
						}
						return time.Second
					}
					p.deps = func(d *session.Deps) { d.Profiles = timed{p, 3 * time.Second} }
				}).begin(troupe.Caps{MaxDepth: 1}).end()
			for _, s := range p.tree() {
				if took := s.EndedAt.Sub(s.StartedAt); s.Parent != "" &&
					(s.Cause != troupe.CauseLimit || took != 3*time.Second) {
					t.Errorf("%q ended as %s (%s) after %s: %s", s.Name, s.Status, s.Cause, took, s.Error)
				}
			}
			h.checkTree()
		})
	}
}

// timed gives each sub-agent so much time.
type timed struct {
	*process
	limit time.Duration
}

func (p timed) Open([]byte) (session.Roles, error) { return p, nil }

func (p timed) Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	out, err := p.process.Resolve(parent, sp)
	out.Limits.MaxTime = p.limit
	return out, err
}
