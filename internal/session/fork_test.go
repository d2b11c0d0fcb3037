package session_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
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
				if r.Generation != 1 {
					t.Errorf("%s: a request of generation %d", name, r.Generation)
				}
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
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
			Uses: &troupe.SkillUse{Name: "do"}, Forked: &troupe.Forked{Title: "beside"},
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

// wished is a person's wish for a fork.
func wished(of troupe.SessionID, title, words string) troupe.Mail {
	return troupe.Mail{To: of, Kind: troupe.MailFork, Forked: &troupe.Forked{Title: title},
		Blocks: []troupe.Block{troupe.Text(words)}}
}

// TestForkThatTheLogForgot: where a fork is that the log of its parent does not know, another one that a person wants
// has the coordinates behind it, and its own words.
func TestForkThatTheLogForgot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {say("ok")}}.reply).begin(troupe.Caps{MaxDepth: 1})
		pass(10 * time.Second)
		err := h.db.Open().Update(t.Context(), h.root, func(tx store.Tx) error {
			_, err := fleet.Spawn(tx, "owner1", time.Now(), []fleet.Birth{{Root: h.root, Parent: h.root, Title: "old",
				Depth: 1, Profile: role("main"), Prompt: []troupe.Block{troupe.Text("of old")}}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		p.send(wished(h.root, "new", "do it beside"))
		pass(10 * time.Second)
		p.end()
		fork := h.called("New")
		if want := (troupe.Coord{Call: 1}); fork.Coord != want || fork.Status != troupe.Completed {
			t.Errorf("it is at %+v and %s", fork.Coord, fork.Status)
		}
		if r := p.llm.of(fork.ID); len(r) == 0 || !bytes.Contains(body(r[0]), []byte("do it beside")) {
			t.Error("the words of the person were not said to it")
		}
		if n := len(p.llm.of(troupe.ChildID(h.root, troupe.Coord{}))); n != 0 {
			t.Errorf("the fork that was there was set to work %d times", n)
		}
	})
}

// busyStore fails to be looked at as long as it is busy.
type busyStore struct {
	store.Store
	busy *atomic.Bool
}

var errBusy = errors.New("the store is busy")

func (b busyStore) View(ctx context.Context, fn func(store.Reader) error) error {
	if b.busy.Load() {
		return errBusy
	}
	return b.Store.View(ctx, fn)
}

// TestForkOfABusyStore: what cannot be read for a while is no reason that a person is refused a fork for: their words
// stay in the mailbox, and a call for one has no result that says so.
func TestForkOfABusyStore(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]bool{"a person's": false, "a call's": true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			var busy atomic.Bool
			script := plays{"main": {say("ok"), call("Agent:%New"), say("ok")}}.reply
			p := h.start(script, func(p *process) {
				p.deps = func(d *session.Deps) { d.Store = busyStore{d.Store, &busy} }
			}).begin(troupe.Caps{MaxDepth: 1})
			pass(10 * time.Second)
			busy.Store(true)
			if calls {
				p.send(prompt(h.root, "fork"))
			} else {
				p.send(wished(h.root, "new", "help as New"))
			}
			pass(10 * time.Second)
			if err := p.hub.Wait(t.Context(), h.root); !errors.Is(err, errBusy) {
				t.Fatalf("%s: it goes on with %v", name, err)
			}
			p.pool.Close()
			busy.Store(false)
			q := h.adopt(script, true)
			pass(10 * time.Second)
			q.end()
			fork := h.called("New")
			if r := q.llm.of(fork.ID); len(r) == 0 || !bytes.Contains(body(r[0]), []byte("help as New")) {
				t.Errorf("%s: the fork was not told what to do", name)
			}
			h.checkTree()
		})
	}
}

// TestForkThatDoesNotFit: where what a fork goes on from is too long to be sent, its summary is made of its parent's
// conversation and of its own.
func TestForkThatDoesNotFit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main": {call("Read:a"), call("Agent:%A!"), call("Read:later"), say("ok")}, "main/A": {say("done")},
		}.reply, func(p *process) {
			p.llm.fail = func(r model.Request) *model.Error {
				if r.Agent.Path == "main" || !bytes.Contains(body(r), []byte("You are a fork")) ||
					bytes.Contains(body(r), []byte("what was said so far")) {
					return nil
				}
				return &model.Error{Fault: troupe.FaultTooLong, Message: "prompt is too long"}
			}
		}).begin(troupe.Caps{MaxDepth: 1}).end()
		a := h.called("A")
		if a.Status != troupe.Completed || len(h.compactions(a.ID)) != 1 {
			t.Fatalf("it is %s after %d summaries: %s", a.Status, len(h.compactions(a.ID)), a.Error)
		}
		for _, r := range p.llm.of(a.ID) {
			if summing(r) {
				wants(t, string(body(r)), "USER: go", "YOU CALLED Read: a", "did a", "YOU CALLED Agent", "help as A")
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}

// withoutLog is a store in which the beginning of a log cannot be read, as forks read it.
type withoutLog struct {
	store.Store
	of troupe.SessionID
}

type readerWithout struct {
	store.Reader
	of troupe.SessionID
}

type txWithout struct {
	store.Tx
	of troupe.SessionID
}

func (w withoutLog) View(ctx context.Context, fn func(store.Reader) error) error {
	return w.Store.View(ctx, func(r store.Reader) error { return fn(readerWithout{r, w.of}) })
}

func (w withoutLog) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	return w.Store.Update(ctx, root, func(tx store.Tx) error { return fn(txWithout{tx, w.of}) })
}

func (r readerWithout) Events(id troupe.SessionID, after int64, most int) ([]troupe.Event, error) {
	if id == r.of && most > 0 {
		return nil, troupe.ErrDamaged
	}
	return r.Reader.Events(id, after, most)
}

func (x txWithout) Events(id troupe.SessionID, after int64, most int) ([]troupe.Event, error) {
	if id == x.of && most > 0 {
		return nil, troupe.ErrDamaged
	}
	return x.Tx.Events(id, after, most)
}

// TestSummarizedForkNeedsNoParent: after a restart a fork goes on without its parent's log once a summary stands for
// that, and ends with the reason before.
func TestSummarizedForkNeedsNoParent(t *testing.T) {
	t.Parallel()
	for _, summed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			script := plays{
				"main": {call("Agent:%A!"), say("ok")}, "main/A": append(reads(3), say("done")),
			}.reply
			p := h.start(script).begin(troupe.Caps{MaxDepth: 1})
			pass(2500 * time.Millisecond)
			a := h.called("A").ID
			if summed {
				p.send(troupe.Mail{To: a, Kind: troupe.MailCompact})
				pass(3 * time.Second)
			}
			p.pool.Close()
			if n := len(h.compactions(a)); (n == 1) != summed {
				t.Fatalf("%d summaries", n)
			}
			q := h.adopt(script, false, func(p *process) {
				p.deps = func(d *session.Deps) { d.Store = withoutLog{d.Store, h.root} }
			}).end()
			s := h.get(a)
			if (s.Status == troupe.Completed) != summed {
				t.Errorf("summarized %v: it is %s: %s", summed, s.Status, s.Error)
			}
			if !summed {
				wants(t, s.Error, "goes on from cannot be read")
			}
			h.checkTree()
			checkPrefix(t, p, q)
		})
	}
}

// named are models that encode their own names.
type named struct{ *llm }

func (n named) Provider(full string) (model.Provider, string, error) {
	return n.llm, strings.TrimPrefix(full, "llm/"), nil
}

// TestForkMovesToAnotherModel: what forks of a reply share is sent as another model is to have it, too.
func TestForkMovesToAnotherModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main": {call("Read:a"), call("Agent:%A", "Agent:%B"), say("I wait")}, "": reads(3),
		}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { d.Models = named{p.llm} }
		}).begin(troupe.Caps{MaxDepth: 1})
		pass(4500 * time.Millisecond)
		for _, name := range []string{"A", "B"} {
			p.send(troupe.Mail{To: h.called(name).ID, Kind: troupe.MailModel, Model: "llm/two"})
		}
		p.end()
		for _, name := range []string{"A", "B"} {
			all := p.llm.of(h.called(name).ID)
			first, last := all[0], all[len(all)-1]
			if first.Model != "one" || last.Model != "two" {
				t.Fatalf("%s was asked of %s and %s", name, first.Model, last.Model)
			}
			if !bytes.HasPrefix(bytes.Join(last.Messages, nil), bytes.Join(first.Messages, nil)) {
				t.Errorf("%s: the other model was not sent what its parent had said", name)
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}
