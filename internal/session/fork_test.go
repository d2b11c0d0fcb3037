package session_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// replyMessage is the message that a request holds behind its first n.
func replyMessage(t testing.TB, r model.Request, n int) []byte {
	t.Helper()
	if len(r.Messages) <= n {
		t.Fatalf("a request has %d messages, and not the one behind %d", len(r.Messages), n)
	}
	return r.Messages[n]
}

// forksOf checks that the first requests of forks of a session's nth reply begin with what the session was sent for it
// and answered, and that they are the same up to what each is to do.
func forksOf(t testing.TB, p *process, parent troupe.SessionID, reply int, names ...string) {
	t.Helper()
	sent := p.llm.of(parent)
	before, after := sent[reply-1], sent[reply]
	var common []byte
	for _, name := range names {
		r := p.llm.of(p.called(name).ID)[0]
		if !bytes.HasPrefix(body(r), body(before)) {
			t.Errorf("what %s is sent does not begin with what its parent was", name)
		}
		n := len(before.Messages)
		if got, want := replyMessage(t, r, n), replyMessage(t, after, n); !bytes.Equal(got, want) {
			t.Errorf("%s has another reply of its parent's:\n got %s\nwant %s", name, got, want)
		}
		if r.Fresh != 2 {
			t.Errorf("%s: %d messages are new to the model, not 2", name, r.Fresh)
		}
		if r.Agent.Origin != parent {
			t.Errorf("%s begins with the conversation of %s, not %s", name, r.Agent.Origin, parent)
		}
		upTo, _, ok := bytes.Cut(body(r), []byte("help as "+name))
		if !ok {
			t.Errorf("%s is not told what to do", name)
		}
		if common == nil {
			common = upTo
		}
		if !bytes.Equal(common, upTo) {
			t.Errorf("%s is not sent what the other forks are, up to what it is to do", name)
		}
	}
	if n := bytes.Count(common, []byte(troupe.ForkPlaceholder)); n != bytes.Count(common, []byte(`"type":"call"`))-
		bytes.Count(body(before), []byte(`"type":"call"`)) {
		t.Errorf("%d calls of the reply have the placeholder", n)
	}
}

// TestForksShareBytes: forks of one reply are sent what their parent was and answered, to the byte, and differ in
// nothing but what each is to do.
func TestForksShareBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main":   {call("Read:a"), call("Agent:%A", "Read:b", "Agent:%B!", "Agent:%C"), say("I wait")},
			"main/A": reads(2),
		}.reply).begin(troupe.Caps{MaxDepth: 2}).end()
		forksOf(t, p, h.root, 2, "A", "B", "C")
		wants(t, h.result(h.root, 2, 0), "started in the background")
		wants(t, h.result(h.root, 2, 2), "done by main/B") // it was waited for
		for _, name := range []string{"A", "B", "C"} {
			s := h.called(name)
			if s.Type != troupe.ForkAgent || s.Status != troupe.Completed {
				t.Errorf("%s is a %s and %s", name, s.Type, s.Status)
			}
			for _, r := range p.llm.of(s.ID) {
				if r.Generation != 1 || r.Agent.Origin != h.root {
					t.Errorf("%s: a request of generation %d, from %s", name, r.Generation, r.Agent.Origin)
				}
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}

// TestForksKeepApart: what one fork is sent behind what all share is in no other one's requests, however many messages
// they share.
func TestForksKeepApart(t *testing.T) {
	t.Parallel()
	for shared := range 6 {
		synctest.Test(t, func(t *testing.T) {
			main := slices.Repeat([]troupe.Reply{call("Read:a")}, shared+1)
			p := newHome(t).start(plays{
				"main":   append(main, call("Agent:%A", "Agent:%B"), say("I wait")),
				"main/A": reads(3), "main/B": reads(3),
			}.reply).begin(troupe.Caps{MaxDepth: 2}).end()
			for name, other := range map[string]string{"A": "B", "B": "A"} {
				sent := p.llm.of(p.called(name).ID)
				for i, r := range sent {
					b := string(body(r))
					if !strings.Contains(b, "help as "+name) || strings.Contains(b, "help as "+other) {
						t.Errorf("%d shared: request %d of %s has another one's words", shared, i+1, name)
					}
				}
				if len(sent) < 2 {
					t.Errorf("%d shared: %s asked %d times", shared, name, len(sent))
				}
			}
		})
	}
}

// TestForkOutlivesItsProcess: a fork whose process was killed goes on with the bytes it had sent, although its parent's
// conversation was summarized meanwhile.
func TestForkOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]time.Duration{
		"before its first reply": 500 * time.Millisecond, "later": 4 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			script := plays{
				"main":   {call("Read:a"), call("Agent:%A"), call("Read:b"), say("I wait"), say("ok")},
				"main/A": {call("Read:c"), call("Read:d"), say("done")},
			}.reply
			p := h.start(script).begin(troupe.Caps{MaxDepth: 1})
			pass(3200 * time.Millisecond) // the fork is born
			p.send(troupe.Mail{To: h.root, Kind: troupe.MailCompact})
			pass(killed)
			p.pool.Close()
			q := h.adopt(script, false).end()
			a := h.called("A")
			if a.Status != troupe.Completed || a.Result != "done" {
				t.Fatalf("%s: the fork is %s with %q", name, a.Status, a.Result)
			}
			for _, r := range q.llm.of(a.ID) {
				if r.Generation != 1 {
					t.Errorf("%s: a new generation after the restart", name)
				}
				if bytes.Contains(body(r), []byte("what was said so far")) {
					t.Errorf("%s: the fork was sent its parent's summary", name)
				}
				wants(t, string(body(r)), "did a", troupe.ForkPlaceholder, "help as A")
			}
			if len(h.kinds(h.root, troupe.KindCompacted)) != 1 {
				t.Errorf("%s: its parent was not summarized", name)
			}
			h.checkTree()
			checkPrefix(t, p, q)
		})
	}
}

// TestNoForkOfAFork: a fork starts none, after its own summary too; agents of other types it may start.
func TestNoForkOfAFork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main":   {call("Agent:%A!"), say("ok")},
			"main/A": {call("Read:a"), call("Read:a"), call("Agent:%B", "Agent:X"), say("done")},
		}.reply).begin(troupe.Caps{MaxDepth: 3})
		pass(2500 * time.Millisecond)
		a := h.called("A").ID
		p.send(troupe.Mail{To: a, Kind: troupe.MailCompact})
		p.end()
		if len(h.kinds(a, troupe.KindCompacted)) != 1 {
			t.Fatal("the fork was not summarized")
		}
		wants(t, h.result(a, 3, 0), "no agent was started: a fork starts no forks of its own")
		wants(t, h.result(a, 3, 1), "done by main/A/X")
		if n := strings.Count(string(body(p.llm.of(a)[len(p.llm.of(a))-1])), troupe.ForkPlaceholder); n != 0 {
			t.Errorf("%d placeholders stand behind the summary", n)
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}

// TestForksOfManyCalls: what of a fork's first request is new to the model is told with it, after a restart too: the
// reply that it goes on from, and what follows it.
func TestForksOfManyCalls(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			calls := []string{"Agent:%A"}
			for range 24 {
				calls = append(calls, "Read:a")
			}
			script := plays{"main": {call(calls...), say("I wait")}, "main/A": {say("done")}}.reply
			p := h.start(script).begin(troupe.Caps{MaxDepth: 1})
			pass(1500 * time.Millisecond) // the fork asks for its first reply
			if killed {
				p.pool.Close()
				p = h.adopt(script, false)
			}
			p.end()
			r := p.llm.of(h.called("A").ID)
			if len(r) == 0 {
				t.Fatal("the fork was asked nothing")
			}
			// 25 calls, as many placeholders, the notice and the task.
			if last := r[len(r)-1]; last.Fresh != 2 || last.FreshBlocks != 25+25+2 {
				t.Errorf("killed %v: %d messages and %d blocks are new", killed, last.Fresh, last.FreshBlocks)
			}
			h.checkTree()
		})
	}
}

// TestForkOfAPerson: what a person said, how, and who they are stand in the log of the fork.
func TestForkOfAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {say("ok")}}.reply).begin(troupe.Caps{MaxDepth: 1})
		pass(10 * time.Second)
		typed, you := "/do it", troupe.You("")
		p.send(troupe.Mail{To: h.root, Kind: troupe.MailFork, Caller: &you, Typed: &typed,
			Uses: &troupe.SkillUse{Name: "do"}, OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Title: "beside"}},
			Blocks: []troupe.Block{troupe.Text("do it beside")}})
		pass(10 * time.Second)
		p.end()
		fork := h.called("Beside").ID
		for _, e := range h.events(fork) {
			switch b := e.Body.(type) {
			case troupe.Created:
				if b.Caller == nil || b.Caller.Name != you.Name || b.Coord != (troupe.Coord{}) {
					t.Errorf("it was born by %+v as %+v", b.Caller, b.Coord)
				}
			case troupe.MailDelivered:
				m := b.Mail[0]
				if m.Typed == nil || *m.Typed != typed || m.Uses == nil || m.Uses.Name != "do" || m.From != "" ||
					m.Caller == nil {
					t.Errorf("its prompt is %+v", m)
				}
			}
		}
		h.checkTree()
	})
}
