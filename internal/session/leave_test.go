package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// forgetful is a model that takes no time and remembers nothing.
type forgetful struct{ instant }

func (f forgetful) Provider(string) (model.Provider, string, error) { return f, "one", nil }

func (forgetful) EncodeMessage(m troupe.Message) ([]byte, error) { return []byte(m.Role), nil }

// passing hosts so many trees one after the other: each is begun, has a child and a kind of its own,
// is left and deleted.
func (p *process) passing(n int) {
	p.t.Helper()
	for range n {
		p.stops++
		root := troupe.SessionID(fmt.Sprintf("%012d", p.stops))
		main := role("main")
		main.Prompt = fmt.Sprintf("you are number %d", p.stops)
		err := p.hub.Begin(p.t.Context(), fleet.Birth{
			Root: root, ID: root, Cwd: "/ws/" + string(root), Caps: &troupe.Caps{MaxDepth: 1}, Settings: &p.settings,
			Profile:   main,
			Authority: troupe.Authority{Mode: troupe.ModeBypass}, Prompt: []troupe.Block{troupe.Text("go")},
		})
		if err == nil {
			err = p.hub.Leave(p.t.Context(), root)
		}
		if err == nil {
			err = p.db.Open().Update(p.t.Context(), root, func(tx store.Tx) error { return tx.DeleteTree(root) })
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

func (h *home) startPassing() *process {
	return h.start(func(r model.Request) troupe.Reply {
		if r.Agent.Path == "main" && r.Agent.Reply == 1 {
			return call("Agent:X")
		}
		return say("done")
	}, func(p *process) {
		p.deps = func(d *session.Deps) { d.Models = forgetful{instant{p.llm}} }
	})
}

// TestNothingStaysOfTrees: a hub that has hosted many trees, and left them, holds none of them; what
// it keeps for those to come is bounded.
func TestNothingStaysOfTrees(t *testing.T) {
	t.Parallel()
	p := newHome(t).startPassing()
	p.passing(2000)
	trees, kinds, folders := p.hub.Kept()
	if trees != 0 || kinds > 600 || folders > 300 {
		t.Errorf("after 2000 trees the hub holds %d, %d kinds of sessions and %d folders", trees, kinds, folders)
	}
	p.pool.Close()
}

// BenchmarkTrees hosts 100,000 trees one after the other: the memory does not grow.
func BenchmarkTrees(b *testing.B) {
	for b.Loop() {
		p := newHome(b).startPassing()
		p.passing(1000)
		first := heapAlloc()
		p.passing(99_000)
		last := heapAlloc()
		b.ReportMetric(float64(first)/1e6, "MB-after-1000")
		b.ReportMetric(float64(last)/1e6, "MB-after-100000")
		if last > first+1<<20 {
			b.Errorf("%d bytes are in use after 1,000 trees and %d after 100,000", first, last)
		}
		p.pool.Close()
	}
}

// TestLeaveWaitsForMail: a tree is not left while mail to it is on its way, and mail that comes
// after waits in the home for who takes the tree up next.
func TestLeaveWaitsForMail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		gap := &behind{}
		p := h.start(plays{"main": {say("ok"), say("and that"), say("and the rest")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) { gap.Store = d.Store; d.Store = gap }
		}).begin(troupe.Caps{})
		pass(time.Minute) // it is over
		left := make(chan error, 1)
		meanwhile := func() {
			go func() { left <- p.hub.Leave(t.Context(), h.root) }()
			synctest.Wait()
		}
		gap.then.Store(&meanwhile)
		p.send(prompt(h.root, "one more thing"))
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		if s := h.get(h.root); s.Run != 2 || !s.Status.Ended() {
			t.Errorf("the tree was left in run %d, %s", s.Run, s.Status)
		}
		if p.hub.Knows(h.root) {
			t.Error("it is still hosted")
		}
		here, err := p.hub.Send(t.Context(), h.root, func(store.Tx) ([]troupe.Mail,
			error) {
			panic("it is not hosted")
		})
		if here || err != nil {
			t.Errorf("mail to it is taken here: %v %v", here, err)
		}
		late := prompt(h.root, "too late")
		late.ID, late.Root, late.SentAt = "late", h.root, time.Now()
		if err := h.db.Open().Update(t.Context(), h.root, func(tx store.Tx) error {
			_,
				err := tx.Send(late)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if s := h.get(h.root); s.Run != 2 {
			t.Error("a tree that was left goes on")
		}
		p.pool.Close()
		h.adopt(plays{"main": {say("ok"), say("and that"), say("and the rest")}}.reply, true).end()
		if s := h.get(h.root); s.Run != 3 || s.Result != "and the rest" {
			t.Errorf("what took the tree up is in run %d and said %q", s.Run, s.Result)
		}
		h.checkTree()
	})
}
