package session_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
)

// behind is a store with somebody who comes in right behind a commit, before the process that
// made it has gone on, or right before one that is about to be made.
type behind struct {
	store.Store
	first, then atomic.Pointer[func()]
}

func (b *behind) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	if first := b.first.Swap(nil); first != nil {
		(*first)()
	}
	err := b.Store.Update(ctx, root, fn)
	if err != nil {
		return err
	}
	if then := b.then.Swap(nil); then != nil { // it may write in turn
		(*then)()
	}
	return nil
}

// TestMailRightBehind: a session can be written to as soon as it is committed, while whoever
// gave birth to it, or took it over, has not yet given it its actor.
func TestMailRightBehind(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"begin", "birth", "adopt"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			gap := &behind{}
			watched := func(p *process) {
				p.deps = func(d *session.Deps) { gap.Store = d.Store; d.Store = gap }
			}
			reply := plays{"main": {call("Agent:X"), say("ok")}}.reply
			var p *process
			to := h.root
			word := func() { p.send(prompt(to, "by the way")) }
			switch what {
			case "begin":
				p = h.start(reply, watched)
				gap.then.Store(&word)
				p.begin(troupe.Caps{MaxDepth: 1})
			case "birth":
				p = h.start(reply, watched).begin(troupe.Caps{MaxDepth: 1})
				to = troupe.ChildID(h.root, troupe.Coord{Reply: 1})
				pass(500 * time.Millisecond)
				gap.then.Store(&word)
			case "adopt":
				first := h.start(reply).begin(troupe.Caps{MaxDepth: 1})
				pass(500 * time.Millisecond)
				first.pool.Close()
				p = h.start(reply, watched)
				gap.then.Store(&word)
				if err := p.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease()}); err != nil {
					t.Error(err)
				}
			}
			p.end()
			wants(t, string(body(p.llm.of(to)[0])), "by the way")
			h.checkTree()
		})
	}
}

// TestTakenOver: a process from which a tree was taken over can neither send mail in it, nor
// wake one of its sessions, nor go on with any.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		reply := plays{"main": {call("Agent:X"), say("ok")}}.reply
		old := h.start(reply).begin(troupe.Caps{MaxDepth: 1})
		pass(time.Minute) // all have ended
		x := h.called("X").ID
		young := h.adopt(reply, true)
		_, err := old.hub.Send(t.Context(), h.root, func(store.Tx) ([]troupe.Mail, error) {
			m := prompt(x, "psst")
			m.ID, m.Root = "late", h.root
			return []troupe.Mail{m}, nil
		})
		if !errors.Is(err, troupe.ErrFenced) {
			t.Errorf("mail from the process before: %v", err)
		}
		young.send(prompt(x, "go on"))
		young.end()
		old.pool.Close()
		if s := h.get(x); s.Run != 2 || s.Status != troupe.Completed {
			t.Errorf("X is %s in run %d", s.Status, s.Run)
		}
		h.checkTree()
	})
}

// TestTwoAdopt: of two processes that take over one tree, one gets it and the other is told.
func TestTwoAdopt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		reply := plays{"main": reads(3)}.reply
		first := h.start(reply).begin(troupe.Caps{})
		pass(1500 * time.Millisecond)
		first.pool.Close()
		lease := h.lease()
		a, b := h.start(reply), h.start(reply)
		ad := session.Adoption{Root: h.root, Expect: lease}
		if err := errors.Join(a.hub.Adopt(t.Context(), ad)); err != nil {
			t.Error(err)
		}
		if err := b.hub.Adopt(t.Context(), ad); !errors.Is(err, troupe.ErrFenced) {
			t.Errorf("the second was told %v", err)
		}
		b.pool.Close()
		a.end()
		h.checkTree()
	})
}

// counted counts the commands that are at work.
func counted(running *atomic.Int32) tool.Set {
	return shells().Map(func(d tool.Descriptor) tool.Descriptor {
		if d.Name == "Bash" {
			d.Runner = countedCommand{running}
		}
		return d
	})
}

type countedCommand struct{ running *atomic.Int32 }

func (c countedCommand) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	return countedRun{command{input}, c.running}, nil
}

type countedRun struct {
	command
	running *atomic.Int32
}

func (c countedRun) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	c.running.Add(1)
	defer c.running.Add(-1)
	return c.command.Run(ctx, env)
}

// TestOneTreeLost: a process from which one tree is taken goes on with its others, ends what it
// had under way for that one, and may take it back.
func TestOneTreeLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		var running atomic.Int32
		shell := func(p *process) { p.deps = func(d *session.Deps) { d.Tools = counted(&running) } }
		p := h.start(plays{"main": {call("Agent:&X", "Bash:&1h"), call("Read:a"), call("Read:b"), say("ok")}}.reply,
			shell).begin(troupe.Caps{MaxDepth: 1})
		other := troupe.SessionID("0000000other")
		err := p.hub.Begin(t.Context(), fleet.Birth{
			Root: other, ID: other, Cwd: "/ws", Caps: &troupe.Caps{}, Profile: role("main"),
			Authority: troupe.Authority{Mode: troupe.ModeBypass}, Prompt: []troupe.Block{troupe.Text("go")},
		})
		if err != nil {
			t.Fatal(err)
		}
		pass(3500 * time.Millisecond) // both are in the middle of it
		q := h.adopt(plays{}.reply, false, shell)
		if err := p.hub.Wait(t.Context(), h.root); !errors.Is(err, troupe.ErrFenced) {
			t.Errorf("who waits for the tree that was taken is told %v", err)
		}
		synctest.Wait()
		if n := running.Load(); n != 1 {
			t.Errorf("%d commands are at work, and only the other tree is to have one", n)
		}
		if err := p.hub.Wait(t.Context(), other); err != nil {
			t.Errorf("and for the other: %v", err)
		}
		if s := h.get(other); s.Status != troupe.Completed {
			t.Errorf("the other tree is %s", s.Status)
		}
		q.end()
		if err := p.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease(), Idle: true}); err != nil {
			t.Fatal(err)
		}
		p.send(prompt(h.root, "and now?"))
		p.end()
		if s := h.get(h.root); s.Status != troupe.Completed || len(h.called("X").ID) == 0 {
			t.Errorf("the tree that was taken back is %s", s.Status)
		}
		h.checkTree()
	})
}

// TestStopTwice: a stop that a parent meant stands over a restart, and whoever is on its way
// down is told again, whether or not it had heard it before.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		reply := plays{
			"main":     {call("Agent:&P"), call("Read:a"), call("SendMessage:P enough!"), say("I wait")},
			"main/P":   {call("Agent:X"), say("ok")},
			"main/P/X": {call("Bash:30s"), say("late")},
		}.reply
		shell := func(p *process) { p.deps = func(d *session.Deps) { d.Tools = shells() } }
		p := h.start(reply, shell).begin(troupe.Caps{MaxDepth: 2})
		pass(10 * time.Second)
		p.pool.Close()
		h.adopt(reply, true, shell).end()
		for _, name := range []string{"P", "X"} {
			if s := h.called(name); s.Status != troupe.Cancelled {
				t.Errorf("%q ended as %s: %s", s.Name, s.Status, s.Error)
			}
		}
		h.checkTree()
	})
}

// TestIdleWithWords: words for a root that has ended begin a run, however it is taken over.
func TestIdleWithWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		h.start(plays{}.reply).begin(troupe.Caps{}).end()
		p := h.start(plays{}.reply)
		err := p.hub.Adopt(t.Context(), session.Adoption{
			Root: h.root, Expect: h.lease(), Idle: true, Prompt: []troupe.Block{troupe.Text("and now?")}, MailID: "m",
		})
		if err != nil {
			t.Error(err)
		}
		p.end()
		if s := h.get(h.root); s.Run != 2 || s.Status != troupe.Completed {
			t.Errorf("it is %s in run %d", s.Status, s.Run)
		}
	})
}

// TestSendToGrandchild: who sends a message to an agent that somebody else started does not
// wait for its end, which is told to that one.
func TestSendToGrandchild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		z := troupe.ChildID(troupe.ChildID(h.root, troupe.Coord{Reply: 1}), troupe.Coord{Reply: 1})
		h.start(plays{
			"main":   {call("Agent:X"), call("SendMessage:" + string(z) + " more"), call("TaskOutput:"), say("ok")},
			"main/X": {call("Agent:Z"), say("ok")},
		}.reply).begin(troupe.Caps{MaxDepth: 2}).end()
		wants(t, h.result(h.root, 2, 0), "told to the agent that started it")
		x := h.called("X")
		if s := h.get(z); s.Run != 2 || x.Run != 2 || len(h.ends(x.ID)) != 2 {
			t.Errorf("Z is in run %d; X in run %d was told %+v", s.Run, x.Run, h.ends(x.ID))
		}
		h.checkTree()
	})
}

// TestStopRightBehindWords: a session that has ended is sent words, and a stop right behind them: it has
// read neither when it is woken. The stop counts, for the run that the words begin, and is logged once.
func TestStopRightBehindWords(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("Agent:X"), say("ok")}, "main/X": {say("done"), say("more")}}.reply).
				begin(troupe.Caps{MaxDepth: 1})
			pass(time.Minute) // all have ended
			x := h.called("X").ID
			p.send(prompt(x, "and that"),
				troupe.Mail{To: x, Kind: troupe.MailStop, Stop: &troupe.Stop{Run: 2, Now: now, By: "somebody"}})
			p.end()
			if s := h.get(x); s.Status != troupe.Cancelled || s.Run != 2 || len(p.llm.of(x)) != 1 {
				t.Errorf("now %v: X is %s in run %d: %s", now, s.Status, s.Run, s.Result)
			}
			var stops []troupe.Stop
			for _, e := range h.events(x) {
				b, _ := e.Body.(troupe.MailDelivered)
				for _, m := range b.Mail {
					if m.Stop != nil {
						stops = append(stops, *m.Stop)
					}
				}
			}
			if len(stops) != 1 || stops[0].Void || stops[0].By != "somebody" {
				t.Errorf("now %v: logged are the stops %+v", now, stops)
			}
			h.checkTree()
		})
	}
}

// TestQuietEnds: a tree that goes on without words has nothing to answer: that a command ended with the process
// before is read with what comes next. Where the words are to go on, it begins a run.
func TestQuietEnds(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			shell := func(p *process) { p.deps = func(d *session.Deps) { d.Tools = shells() } }
			p := h.start(plays{"main": {call("Bash:&5000s"), say("it runs")}}.reply, shell).begin(troupe.Caps{})
			pass(10 * time.Second)
			p.pool.Close()
			q := h.start(plays{"main": {say("it ended"), say("more")}}.reply, shell)
			err := q.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease(), Idle: true, Quiet: quiet})
			if err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
			want := 2
			if quiet {
				want = 1
			}
			if s := h.get(h.root); s.Run != want {
				t.Errorf("quiet %v: it is in run %d", quiet, s.Run)
			}
			q.end()
		})
	}
}
