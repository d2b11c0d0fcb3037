package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
)

// sleep puts the tree away here.
func (p *process) sleep(within time.Duration) (session.Interrupted, error) {
	p.t.Helper()
	you := troupe.You(troupe.SurfaceCommand)
	return p.hub.Sleep(p.t.Context(), session.Bedtime{Root: p.root, Expect: p.lease(), Within: within, Nobody: "nobody",
		Caller: &you, Before: func(context.Context) {}, Then: func(context.Context) {}})
}

// logged are the kinds of events in a log.
func (h *home) logged(id troupe.SessionID) (out []troupe.Kind) {
	h.t.Helper()
	for _, e := range h.events(id) {
		out = append(out, e.Body.Kind())
	}
	return out
}

// TestSleepLetsAReplyCome: what was begun has its time to come to its end, nothing begins meanwhile, and the run goes
// on with it when the tree is woken, in another process: the same requests as without sleep.
func TestSleepLetsAReplyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reply := func(r model.Request) troupe.Reply {
			if len(r.Messages) < 3 {
				return call("Sh:one")
			}
			return say("done")
		}
		whole := newHome(t).start(reply).begin(troupe.Caps{}).end()
		h := newHome(t)
		p := h.start(reply).begin(troupe.Caps{})
		pass(500 * time.Millisecond) // the reply is half there
		cut, err := p.sleep(time.Minute)
		if err != nil || cut.Models > 0 || len(cut.Calls) > 0 {
			t.Fatalf("put away: %+v, %v", cut, err)
		}
		if err := p.hub.Wait(t.Context(), h.root); !errors.Is(err, troupe.ErrAsleep) {
			t.Errorf("who waits for it: %v", err)
		}
		p.pool.Close()
		if s := h.get(h.root); s.AsleepAt.IsZero() || len(p.llm.requests) != 1 {
			t.Errorf("it is %+v after %d requests", s, len(p.llm.requests))
		}
		pass(240 * time.Hour)
		q := h.start(reply)
		if err := q.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease()}); !errors.Is(err,
			troupe.ErrAsleep) {
			t.Errorf("gone on with: %v", err)
		}
		if err := q.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease(), Wake: true}); err != nil {
			t.Fatal(err)
		}
		q.end()
		got := slices.Concat(p.llm.requests, q.llm.requests)
		if len(got) != len(whole.llm.requests) {
			t.Fatalf("%d requests, and %d without sleep", len(got), len(whole.llm.requests))
		}
		for i := range got {
			if !slices.EqualFunc(got[i].Messages, whole.llm.requests[i].Messages, slices.Equal) {
				t.Errorf("request %d is another one", i)
			}
		}
		if s := h.get(h.root); s.Status != troupe.Completed || !s.AsleepAt.IsZero() {
			t.Errorf("it ended as %+v", s)
		}
	})
}

// TestSleepAtOnce cuts off what does not come to its end in time, and asks for it again.
func TestSleepAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		slow := func(p *process) { p.llm.takes = func(model.Request) time.Duration { return time.Hour } }
		p := h.start(func(model.Request) troupe.Reply { return say("done") }, slow).begin(troupe.Caps{})
		pass(time.Second)
		cut, err := p.sleep(3 * time.Second)
		if err != nil || cut.Models != 1 {
			t.Fatalf("put away: %+v, %v", cut, err)
		}
		p.pool.Close()
		if k := h.logged(h.root); !slices.Equal(k[len(k)-2:], []troupe.Kind{troupe.KindModelFailed, troupe.KindSlept}) {
			t.Errorf("its log is %v", k)
		}
		q := h.start(func(model.Request) troupe.Reply { return say("done") })
		if _, err := q.sleep(0); !errors.Is(err, troupe.ErrAsleep) {
			t.Errorf("put away again: %v", err)
		}
		if err := q.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease(), Wake: true}); err != nil {
			t.Fatal(err)
		}
		q.end()
		if s := h.get(h.root); s.Status != troupe.Completed {
			t.Errorf("it ended as %+v", s)
		}
	})
}

// TestSleepLeftBehind puts away what a killed process left, with a request that waits: it waits for as long as before
// once the tree is woken, and mail that came meanwhile is read then.
func TestSleepLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reply := func(r model.Request) troupe.Reply {
			if len(r.Messages) < 3 {
				return call("Edit:x")
			}
			return say("done")
		}
		h := newHome(t)
		p := h.start(reply, asking).beginAs(troupe.Caps{}, careful)
		pass(time.Minute) // it asks
		p.pool.Close()
		q := h.start(reply, asking)
		if _, err := q.sleep(0); err != nil {
			t.Fatal(err)
		}
		if q.hub.Knows(h.root) {
			t.Error("a tree that was put away is in hand")
		}
		q.pool.Close()
		h.leave(allow(h.root, 1, 0, troupe.Allow))
		var until time.Time
		h.view(func(r store.Reader) error {
			open, err := r.Requests(store.RequestFilter{Root: h.root})
			until = open[0].Until
			return err
		})
		pass(48 * time.Hour)
		w := h.start(reply, asking)
		if err := w.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease(), Wake: true}); err != nil {
			t.Fatal(err)
		}
		w.end()
		_, answered := h.requests(h.root)
		if len(answered) != 1 || answered[0].Effect != troupe.Allow {
			t.Errorf("what was asked came to %+v", answered)
		}
		h.view(func(r store.Reader) error {
			all, err := r.Requests(store.RequestFilter{Root: h.root})
			if got := all[0].Until.Sub(until); got != 48*time.Hour {
				t.Errorf("the request waited for %v longer", got)
			}
			return err
		})
	})
}

// asker is a tool that asks a person in the middle of its call, as MCP servers do.
type asker struct{ fake }

func (asker) Prepare(tool.Env, string) (tool.Prepared, error) { return asker{fake{name: "Edit"}}, nil }

func (asker) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	_, err := env.Question(ctx, "server", []troupe.Question{{Text: "Which?"}})
	return tool.Output{}, err
}

// TestSleepWaitsForNoPerson: a call that waits for a person's word, before it runs or in the middle, is no work that
// sleep lets come to its end.
func TestSleepWaitsForNoPerson(t *testing.T) {
	midway := func(p *process) {
		p.deps = func(d *session.Deps) {
			d.Tools = d.Tools.Map(func(t tool.Descriptor) tool.Descriptor {
				if t.Name == "Edit" {
					t.Runner = asker{}
				}
				return t
			})
		}
	}
	for name, with := range map[string]func(*process){"leave": asking, "midway": midway} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			as := careful
			if name == "midway" {
				as = func(*fleet.Birth) {}
			}
			p := h.start(func(model.Request) troupe.Reply { return call("Edit:x") }, asking,
				with).beginAs(troupe.Caps{},
				as)
			pass(time.Minute)
			if open, _ := h.requests(h.root); len(open) != 1 {
				t.Fatalf("%s: %d requests", name, len(open))
			}
			began := time.Now()
			if _, err := p.sleep(3 * time.Minute); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: it waited for %v", name, took)
			}
			p.pool.Close()
		})
	}
}

// TestSleepOfAnothers: a tree that another process has taken up since it was looked at is not put away.
func TestSleepOfAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reply := func(r model.Request) troupe.Reply {
			if len(r.Messages) < 3 {
				return call("Edit:x")
			}
			return say("done")
		}
		h := newHome(t)
		p := h.start(reply, asking).beginAs(troupe.Caps{}, careful)
		pass(time.Minute) // it asks
		seen := h.lease()
		p.pool.Close()
		q := h.start(reply, asking)
		if err := q.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: seen}); err != nil {
			t.Fatal(err)
		}
		late := h.start(reply, asking)
		none := func(context.Context) {}
		_, err := late.hub.Sleep(t.Context(), session.Bedtime{Root: h.root, Expect: seen, Nobody: "nobody",
			Before: none, Then: none})
		if s := h.get(h.root); !errors.Is(err, troupe.ErrFenced) || !s.AsleepAt.IsZero() {
			t.Errorf("put away: %v, asleep at %v", err, s.AsleepAt)
		}
		late.pool.Close()
		q.send(allow(h.root, 1, 0, troupe.Allow))
		q.end()
		if s := h.get(h.root); s.Status != troupe.Completed {
			t.Errorf("it ended as %+v", s)
		}
	})
}

// TestSleepThoughtBetterOf: who asked for a tree to be put away and gives up while what is under way is waited for has
// it go on as if nothing had been asked.
func TestSleepThoughtBetterOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		slow := func(p *process) { p.llm.takes = func(model.Request) time.Duration { return time.Minute } }
		p := h.start(func(model.Request) troupe.Reply { return say("done") }, slow).begin(troupe.Caps{})
		pass(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began, none := time.Now(), func(context.Context) {}
		_, err := p.hub.Sleep(ctx, session.Bedtime{Root: h.root, Expect: h.lease(), Within: 3 * time.Minute,
			Nobody: "nobody", Before: none, Then: none})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		p.end()
		if s := h.get(h.root); s.Status != troupe.Completed || !s.AsleepAt.IsZero() || len(p.llm.requests) != 1 {
			t.Errorf("it ended as %+v after %d requests", s, len(p.llm.requests))
		}
	})
}

// TestSleepEndsChecks: a model that checks a result is not waited for when the tree is put away.
func TestSleepEndsChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := newHome(t), &checks{took: time.Hour}
		p := h.start(plays{"main": {call("Agent:A"), say("ok")}, "main/A": {say("done")}}.reply, c.with).
			begin(troupe.Caps{MaxDepth: 1})
		pass(10 * time.Second)
		began := time.Now()
		if _, err := p.sleep(0); err != nil || c.asked.Load() != 1 {
			t.Errorf("%v, asked %d times", err, c.asked.Load())
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		p.pool.Close()
	})
}

// TestSendAsItFallsAsleep: mail to a tree that is put away in the moment in which it is sent is not sent here, and
// waits for who wakes it.
func TestSendAsItFallsAsleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, gap := newHome(t), &behind{}
		p := h.start(plays{"main": {call("Bash:5s"), say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { gap.Store = d.Store; d.Store = gap }
		}).begin(troupe.Caps{})
		pass(2 * time.Second)
		meanwhile := func() {
			if _, err := p.sleep(0); err != nil {
				t.Error(err)
			}
		}
		gap.first.Store(&meanwhile)
		here, err := p.hub.Send(t.Context(), h.root, func(store.Tx) ([]troupe.Mail, error) {
			return []troupe.Mail{prompt(h.root, "by the way")}, nil
		})
		if here || err != nil {
			t.Errorf("sent here: %v, %v", here, err)
		}
		p.pool.Close()
	})
}
