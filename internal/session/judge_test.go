package session_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// slowJudge takes ten seconds for a call, and says what it was told to by the call's input.
type slowJudge struct {
	says  map[string]troupe.Judgement
	takes time.Duration // 0: ten seconds
	mu    sync.Mutex
	asked []string
}

func (j *slowJudge) Judge(ctx context.Context, q session.Judging) (troupe.Judgement, error) {
	j.mu.Lock()
	j.asked = append(j.asked, q.Call.Name+":"+q.Call.Input)
	j.mu.Unlock()
	select {
	case <-time.After(cmp.Or(j.takes, 10*time.Second)):
	case <-ctx.Done():
	}
	said := j.says[q.Call.Input]
	if said.By = "the hook"; said.Why == "broken" {
		return said, errors.New("no such program")
	}
	return said, nil
}

func (j *slowJudge) times(call string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.asked {
		if c == call {
			n++
		}
	}
	return n
}

func judgedBy(j *slowJudge, asks time.Duration) func(*process) {
	return func(p *process) {
		p.deps = func(d *session.Deps) {
			d.Judge, d.Profiles = j, inherits{p}
			p.settings.AskFor = asks
		}
	}
}

func (h *home) kinds(id troupe.SessionID, k troupe.Kind) (out []troupe.Event) {
	for _, e := range h.events(id) {
		if e.Body.Kind() == k {
			out = append(out, e)
		}
	}
	return out
}

// TestJudge: what a judge says counts between the rules, in every mode, and is logged once.
func TestJudge(t *testing.T) {
	t.Parallel()
	says := func(e troupe.Effect, why string) map[string]troupe.Judgement {
		return map[string]troupe.Judgement{"a": {Effect: e, Why: why}}
	}
	for name, tt := range map[string]struct {
		call   string
		mode   troupe.Mode
		says   map[string]troupe.Judgement
		asks   time.Duration
		result string
		opens  int
	}{
		"no": {call: "Edit:a", mode: troupe.ModeBypass, says: says(troupe.Deny, "not today"),
			result: "the hook denies it: not today"},
		"no to a read": {call: "Read:a", mode: troupe.ModeBypass, says: says(troupe.Deny, ""),
			result: "the hook denies it"},
		"yes": {call: "Edit:a", mode: troupe.ModeDefault, says: says(troupe.Allow, ""), result: "did a"},
		"yes in plan": {call: "Edit:a", mode: troupe.ModePlan, says: says(troupe.Allow, ""),
			result: "permission denied"},
		"nothing to say": {call: "Edit:a", mode: troupe.ModeBypass, result: "did a"},
		"ask, alone": {call: "Edit:a", mode: troupe.ModeBypass, says: says(troupe.Ask, "sure?"),
			result: "the hook asks before it: sure?; this run cannot ask"},
		"ask, in company": {call: "Edit:a", mode: troupe.ModeBypass, says: says(troupe.Ask, "sure?"), asks: time.Minute,
			result: "there was no answer in time", opens: 1},
		"it fails": {call: "Edit:a", mode: troupe.ModeBypass, says: says(troupe.Allow, "broken"),
			result: "could not be judged: no such program"},
		"it fails, in company": {call: "Edit:a", mode: troupe.ModeBypass, says: says(troupe.Allow, "broken"),
			asks: time.Minute, result: "could not be judged: no such program"},
		"of an intent": {call: "TaskOutput:a", mode: troupe.ModeBypass, says: says(troupe.Deny, "secret"),
			result: "the hook denies it: secret"},
		"of a birth": {call: "Agent:a", mode: troupe.ModeBypass, says: says(troupe.Deny, "too many"),
			result: "the hook denies it: too many"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			j := &slowJudge{says: tt.says}
			h.start(plays{"main": {call(tt.call), say("ok")}}.reply, judgedBy(j, tt.asks)).
				beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
					b.Authority.Mode, b.Profile.Mode = tt.mode,
						tt.mode
				}).end()
			t.Log(name)
			wants(t, h.result(h.root, 1, 0), tt.result)
			opened, _ := h.requests(h.root)
			asked := 1
			if tt.mode == troupe.ModePlan {
				asked = 0 // the rules deny it
			}
			if n := len(h.kinds(h.root, troupe.KindToolJudged)); n != asked || j.times(tt.call) != asked ||
				len(opened) != tt.opens {
				t.Errorf("%s: judged %d times, asked the judge %d, opened %d", name, n, j.times(tt.call), len(opened))
			}
			h.checkTree()
		})
	}
}

// TestJudgingBlocksNobody: while one call is judged, others of the reply and other sessions go on, and
// what is said is read. The births of a reply go on together.
func TestJudgingBlocksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Read:a", "Read:b", "Read:c"), call("Agent:X", "Agent:Y"), say("ok")},
			"": {say("done")}}.reply,
			judgedBy(&slowJudge{}, 0)).beginAs(troupe.Caps{MaxDepth: 1}, func(*fleet.Birth) {})
		pass(5 * time.Second)
		p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant, Mode: troupe.ModeAcceptEdits})
		pass(time.Second)
		if n := len(h.kinds(h.root, troupe.KindAuthorityChanged)); n != 1 {
			t.Errorf("what was said is in the log %d times", n)
		}
		p.end()
		start, first := h.get(h.root).StartedAt, h.kinds(h.root, troupe.KindToolFinished)
		for _, e := range first[:3] {
			if took := e.At.Sub(start); took > 13*time.Second { // one reply, one judgement, one read
				t.Errorf("a read was done after %s", took)
			}
		}
		if x, y := h.called("X"), h.called("Y"); !x.CreatedAt.Equal(y.CreatedAt) {
			t.Errorf("X was born at %s, Y at %s", x.CreatedAt, y.CreatedAt)
		}
		h.checkTree()
	})
}

// TestStopWhileJudged: a stop that comes while a call is judged keeps it from beginning, and ends the
// run without waiting for the judge.
func TestStopWhileJudged(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		for _, c := range []string{"Edit:a", "Read:a", "TaskStop:a", "Agent:a"} {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t)
				p := h.start(plays{"main": {call(c), say("ok")}}.reply, judgedBy(&slowJudge{}, 0)).
					beginAs(troupe.Caps{MaxDepth: 1}, func(*fleet.Birth) {})
				pass(5 * time.Second)
				p.stop(h.root, troupe.Stop{Now: now})
				p.end()
				s := h.get(h.root)
				if s.Status != troupe.Cancelled || s.EndedAt.Sub(s.StartedAt) > 6*time.Second {
					t.Errorf("%s, now %v: it ended as %s after %s", c, now, s.Status, s.EndedAt.Sub(s.StartedAt))
				}
				if len(h.kinds(h.root, troupe.KindToolStarted)) > 0 ||
					len(h.kinds(h.root, troupe.KindToolJudged)) > 0 || len(h.tree()) > 1 {
					t.Errorf("%s, now %v: it began", c, now)
				}
				wants(t, h.result(h.root, 1, 0), "not run")
				h.checkTree()
			})
		}
	}
}

// TestCrashWhileJudged: a call that was being judged when the process went away is judged again; one
// whose judgement is in the log is not.
func TestCrashWhileJudged(t *testing.T) {
	t.Parallel()
	for after, times := range map[time.Duration]int{5 * time.Second: 2, 11500 * time.Millisecond: 1} {
		for _, c := range []string{"Edit:a", "Read:a", "Agent:a"} {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t)
				j := &slowJudge{says: map[string]troupe.Judgement{"a": {Effect: troupe.Ask}}}
				reply := plays{"main": {call(c), say("ok")}, "": {say("done")}}.reply
				p := h.start(reply, judgedBy(j, time.Hour)).beginAs(troupe.Caps{MaxDepth: 1}, func(*fleet.Birth) {})
				pass(after)
				p.pool.Close()
				p = h.adopt(reply, true, judgedBy(j, time.Hour))
				pass(20 * time.Second)
				p.send(allow(h.root, 1, 0, troupe.Allow))
				p.end()
				if n := len(h.kinds(h.root, troupe.KindToolJudged)); n != 1 || j.times(c) != times {
					t.Errorf("%s after %s: judged %d times, asked %d", c, after, n, j.times(c))
				}
				h.checkTree()
			})
		}
	}
}

// TestAuthorityChangesWhileJudged: what holds when a call begins is what counts, not what held when
// judging began.
func TestAuthorityChangesWhileJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"Edit:a", "Agent:a"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call(c), say("ok")}}.reply, judgedBy(&slowJudge{}, 0)).
				beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) { b.Profile.Mode = "" })
			pass(5 * time.Second)
			rule := troupe.Rule{Effect: troupe.Deny, Text: "Edit", Source: "ada"}
			if c == "Agent:a" {
				rule.Text = "Agent"
			}
			p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant, Rule: &rule})
			p.end()
			wants(t, h.result(h.root, 1, 0), "permission denied", "ada")
			if len(h.kinds(h.root, troupe.KindToolStarted)) > 0 {
				t.Errorf("%s began", c)
			}
			h.checkTree()
		})
	}
}
