package session_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// asking has somebody there for an hour, and a tree that asks before it edits.
func asking(p *process) {
	p.settings.AskFor = time.Hour
}

func careful(b *fleet.Birth) { b.Authority.Mode, b.Profile.Mode = troupe.ModeDefault, "" }

// careful children work in their parent's mode.
type inherits struct{ *process }

func (r inherits) Open([]byte) (session.Roles, error) { return r, nil }

func (inherits) Resolve(troupe.Session, troupe.Spawn) (troupe.Profile, error) {
	p := role("helper")
	p.Mode = ""
	return p, nil
}

func allow(to troupe.SessionID, reply, call int, effect troupe.Effect) troupe.Mail {
	return troupe.Mail{To: to, Kind: troupe.MailAnswer, Answer: &troupe.Answer{
		Coord: troupe.Coord{Reply: reply, Call: call}, By: "somebody", Effect: effect, Note: "so it be",
	}}
}

// requests lists what a session asked and what became of it.
func (h *home) requests(id troupe.SessionID) (opened []troupe.RequestOpened, answered []troupe.RequestAnswered) {
	for _, e := range h.events(id) {
		switch b := e.Body.(type) {
		case troupe.RequestOpened:
			opened = append(opened, b)
		case troupe.RequestAnswered:
			answered = append(answered, b)
		}
	}
	return opened, answered
}

// leave puts mail into the home as a process does that runs nothing.
func (h *home) leave(m troupe.Mail) {
	h.t.Helper()
	m.ID, m.Root, m.SentAt = "left", h.root, time.Now()
	err := h.db.Open().Update(h.t.Context(), h.root, func(tx store.Tx) error {
		_, err := tx.Send(m)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestRequest: a call that needs a yes waits for it in the log, over a restart too; it runs
// once it has it, and is denied if it gets a no, if nobody answers in time, and at once if
// nobody is there.
func TestRequest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer troupe.Effect
		down   bool // the process goes away while the request is open
		alone  bool // whoever was there has gone with it
		twice  bool
		left   time.Duration // the answer is left in the home while it is away, and it comes back this much later
		took   time.Duration
		result string
	}{
		"allowed":                 {answer: troupe.Allow, took: time.Minute, result: "did a"},
		"denied":                  {answer: troupe.Deny, took: time.Minute, result: "denied by somebody: so it be"},
		"answered twice":          {answer: troupe.Allow, twice: true, took: time.Minute, result: "did a"},
		"in time by nobody":       {took: time.Hour, result: "there was no answer in time"},
		"allowed after a restart": {answer: troupe.Allow, down: true, took: time.Minute, result: "did a"},
		"in time after a restart": {down: true, took: time.Hour, result: "there was no answer in time"},
		"nobody is there any more": {down: true, alone: true, took: 30 * time.Second,
			result: "this run cannot ask for permission"},
		"answered while it was away": {answer: troupe.Allow, down: true, left: time.Minute, took: 90 * time.Second,
			result: "did a"},
		"answered while it was away, and alone since": {answer: troupe.Allow, down: true, alone: true,
			left: time.Minute, took: 90 * time.Second, result: "did a"},
		"answered in time, and back too late": {answer: troupe.Allow, down: true, left: 2 * time.Hour,
			took: 2*time.Hour + 30*time.Second, result: "did a"},
		"denied after it was alone": {answer: troupe.Deny, down: true, took: time.Minute,
			result: "denied by somebody"},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			reply := plays{"main": {call("Edit:a"), say("ok")}}.reply
			p := h.start(reply, asking).beginAs(troupe.Caps{}, careful)
			pass(time.Second)
			asked := time.Now()
			pass(30 * time.Second)
			if s := h.get(h.root); s.Waiting != troupe.WaitApproval || !s.Until.Equal(asked.Add(time.Hour)) {
				t.Errorf("%s: it is %s %s until %s", name, s.Status, s.Waiting, s.Until)
			}
			if tt.down {
				p.pool.Close()
				who := asking
				if tt.alone {
					who = func(*process) {}
				}
				if tt.left > 0 {
					h.leave(allow(h.root, 1, 0, tt.answer))
					pass(tt.left)
				}
				p = h.adopt(reply, true, who)
			}
			if tt.answer != "" && tt.left == 0 {
				pass(30 * time.Second)
				p.send(allow(h.root, 1, 0, tt.answer), allow(h.root, 7, 3, troupe.Allow))
				if tt.twice {
					p.send(allow(h.root, 1, 0, troupe.Deny))
				}
			}
			p.end()
			opened, answered := h.requests(h.root)
			if len(opened) != 1 || len(answered) != 1 || opened[0].Tool != "Edit" || opened[0].Action == "" {
				t.Errorf("%s: asked %+v, answered %+v", name, opened, answered)
			}
			wants(t, h.result(h.root, 1, 0), tt.result)
			if got := h.result(h.root, 1, 0); strings.Contains(got, "by nobody") {
				t.Errorf("%s: it names a person where none answered: %s", name, got)
			}
			for _, e := range h.events(h.root) {
				if b, ok := e.Body.(troupe.ToolFinished); ok && e.At.Sub(asked).Truncate(10*time.Second) != tt.took {
					t.Errorf("%s: the result %v came after %s", name, b.Result.Blocks, e.At.Sub(asked))
				}
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// TestGrant: a rule that is granted to the tree holds for siblings: for what they have asked
// already, and for what they would ask next.
func TestGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Agent:A", "Agent:B"), say("ok")},
			"": {call("Edit:a"), call("Edit:b"), say("edited")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				p.settings.AskFor = time.Hour
				d.Profiles = inherits{p}
			}
		}).beginAs(troupe.Caps{MaxDepth: 1}, careful)
		pass(10 * time.Second)
		a, b := h.called("A").ID, h.called("B").ID
		opened, _ := h.requests(a)
		if len(opened) != 1 || opened[0].Decision.Grant == "" {
			t.Errorf("A has asked %+v", opened)
			return
		}
		rule := troupe.Rule{Effect: troupe.Allow, Text: opened[0].Decision.Grant, Source: "somebody"}
		p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant, Rule: &rule}, allow(a, 1, 0, troupe.Allow))
		p.end()
		for _, id := range []troupe.SessionID{a, b} {
			opened, answered := h.requests(id)
			if len(opened) != 1 || len(answered) != 1 || answered[0].Effect != troupe.Allow {
				t.Errorf("asked %+v, answered %+v", opened, answered)
			}
			wants(t, h.result(id, 1, 0), "did a")
			wants(t, h.result(id, 2, 0), "did b")
		}
		if took := h.get(h.root).EndedAt.Sub(h.get(h.root).StartedAt); took > time.Minute {
			t.Errorf("B waited for its own answer: it took %s", took)
		}
		h.checkTree()
	})
}

// TestStopEndsRequests: a session that waits for an answer can be stopped.
func TestStopEndsRequests(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("Edit:a", "Read:b")}}.reply, asking).beginAs(troupe.Caps{}, careful)
			pass(10 * time.Second)
			p.stop(h.root, troupe.Stop{Now: now})
			p.end()
			if s := h.get(h.root); s.Status != troupe.Cancelled || s.EndedAt.Sub(s.StartedAt) > time.Minute {
				t.Errorf("now %v: it ended as %s after %s", now, s.Status, s.EndedAt.Sub(s.StartedAt))
			}
			h.checkTree()
		})
	}
}
