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

// wished is a person's wish for a fork.
func wished(of troupe.SessionID, title, words string) troupe.Mail {
	return troupe.Mail{To: of, Kind: troupe.MailFork, OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Title: title}},
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
// that, and ends with the reason before. Where the log is there its parent's words, which may be many, are not made
// bytes.
func TestSummarizedForkNeedsNoParent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ summed, lost bool }{{false, true}, {true, true}, {true, false}} {
		summed := tt.summed
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
				if tt.lost {
					p.deps = func(d *session.Deps) { d.Store = withoutLog{d.Store, h.root} }
				}
			}).end()
			s := h.get(a)
			if (s.Status == troupe.Completed) != summed {
				t.Errorf("%+v: it is %s: %s", tt, s.Status, s.Error)
			}
			for m := range q.llm.encoded {
				if summed && strings.Contains(m, troupe.ForkPlaceholder) {
					t.Errorf("%+v: its parent's conversation is made bytes: %s", tt, m)
				}
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

// TestQuestionsAboutForks: what forks are expected to cost counts the conversation that they go on from, at each turn,
// and what a person is asked calls them forks.
func TestQuestionsAboutForks(t *testing.T) {
	t.Parallel()
	fork := call("Agent:%A", "Agent:%B")
	fork.Usage.Input = 1_000_000
	// An agent of the usual size costs 8.75; the conversation 125 to write, and 10 at each of a dozen turns.
	const each, conversation = 8_750_000, 125_000_000 + 2*12*10_000_000
	want := troupe.Money(2*each + conversation)
	for name, tt := range map[string]struct {
		main   troupe.Reply
		above  troupe.Money
		asks   time.Duration
		change func(*fleet.Birth)
		asked  troupe.RequestKind // "": no question
		why    string             // they are refused
	}{
		"agents":           {main: call("Agent:&A", "Agent:&B"), above: 2 * each},
		"forks":            {main: fork, above: want},
		"forks, too dear":  {main: fork, above: want - 1, why: "expected to cost about " + want.String()},
		"asked about cost": {main: fork, above: 1, asks: time.Minute, asked: troupe.RequestCost},
		"asked ahead":      {main: fork, asks: time.Minute, asked: troupe.RequestBackground, change: careful},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {tt.main, say("ok")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Models = priced{p.llm, usual} }
				p.settings.AskFor = tt.asks
			}).beginAs(troupe.Caps{MaxDepth: 1, AskAbove: tt.above}, func(b *fleet.Birth) {
				if tt.change != nil {
					tt.change(b)
				}
			})
			pass(10 * time.Second)
			var asked []troupe.RequestOpened
			for _, e := range h.events(h.root) {
				if b, ok := e.Body.(troupe.RequestOpened); ok {
					asked = append(asked, b)
				}
			}
			switch {
			case tt.asked == "" && len(asked) > 0, tt.asked != "" &&
				(len(asked) != 2 || asked[0].RequestBody.Kind != tt.asked):
				t.Errorf("%s: asked %+v", name, asked)
			case tt.asked != "" && !strings.Contains(asked[0].Action+asked[1].Action, "\nfork: helper"):
				t.Errorf("%s: asked about:\n%s\n%s", name, asked[0].Action, asked[1].Action)
			}
			if n := len(h.tree()); tt.asked == "" && (n == 3) != (tt.why == "") {
				t.Errorf("%s: %d sessions", name, n)
			}
			if tt.why != "" {
				wants(t, h.result(h.root, 1, 0), tt.why)
			}
			p.stop(h.root, troupe.Stop{Now: true, Tree: true})
			p.end()
			h.checkTree()
		})
	}
}
