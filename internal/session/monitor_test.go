package session_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// watcher is a monitor that runs what a test says.
type watcher struct {
	run func(ctx context.Context, line func(string))
}

func (w watcher) Prepare(tool.Env, string) (tool.Prepared, error) { return w, nil }
func (w watcher) Access() troupe.Access                           { return troupe.Access{Class: troupe.ClassRead} }
func (w watcher) Background() (string, bool)                      { return "watch", true }
func (w watcher) Monitors() bool                                  { return true }

func (w watcher) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	w.run(ctx, env.Line)
	return tool.Output{Blocks: []troupe.Block{troupe.Text("(Ended.)")}}, ctx.Err()
}

// monitoring gives a process a monitor in the place of Bash.
func monitoring(run func(ctx context.Context, line func(string))) func(*process) {
	return func(p *process) {
		p.deps = func(d *session.Deps) {
			d.Tools = d.Tools.Map(func(t tool.Descriptor) tool.Descriptor {
				if t.Name == "Bash" {
					t.Runner = watcher{run}
				}
				return t
			})
		}
	}
}

// every says a numbered line again and again.
func every(d time.Duration, n int) func(ctx context.Context, line func(string)) {
	return func(ctx context.Context, line func(string)) {
		for i := range n {
			line(fmt.Sprint(i))
			t := time.NewTimer(d)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return
			}
		}
	}
}

type heard struct {
	troupe.Heard

	sent, read time.Time
}

// heard lists what the root was told of its monitors.
func (h *home) heard() (out []heard) {
	for _, e := range h.events(h.root) {
		if b, ok := e.Body.(troupe.MailDelivered); ok {
			for _, m := range b.Mail {
				if m.Heard != nil {
					out = append(out, heard{*m.Heard, m.SentAt, e.At})
				}
			}
		}
	}
	return out
}

// monitored begins a monitor, and says after that only that it was told.
func monitored(r model.Request) troupe.Reply {
	if r.Agent.Reply == 1 {
		return call("Bash:watch")
	}
	return say("told")
}

// TestMonitorTells: the first lines are told at once, what follows ten seconds later at the earliest and then together,
// every line once and in order, and the end behind all of them.
func TestMonitorTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		began := time.Now()
		h.start(monitored, monitoring(every(time.Second, 34))).begin(troupe.Caps{}).end()
		told := h.heard()
		if len(told) != 5 {
			t.Fatalf("told %d times: %+v", len(told), told)
		}
		if took := told[0].sent.Sub(began); took > 3*time.Second {
			t.Errorf("the first line is told after %v", took)
		}
		var lines []string
		for i, m := range told {
			lines = append(lines, m.Lines...)
			if i > 0 && i < len(told)-1 && m.sent.Sub(told[i-1].sent) < turn.HeardEvery {
				t.Errorf("told at %v and again at %v", told[i-1].sent, m.sent)
			}
			if m.Left > 0 || !m.Until.IsZero() {
				t.Errorf("%+v is held back", m)
			}
		}
		if !slices.IsSortedFunc(lines, func(a, b string) int { return len(a) - len(b) }) || len(lines) != 34 ||
			lines[33] != "33" {
			t.Errorf("told %q", lines)
		}
		if s := h.get(h.root); s.Status != troupe.Completed || len(h.ends(h.root)) != 1 || s.Run != 5 {
			t.Errorf("%s in run %d, ends %+v", s.Status, s.Run, h.ends(h.root))
		}
		h.checkTree()
	})
}

// TestMonitorHeldBack: one that never falls silent has its agent told sixty times an hour and not more, and says so; no
// line is lost from the count.
func TestMonitorHeldBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		h := newHome(t)
		h.start(monitored, monitoring(every(2*time.Second, n))).begin(troupe.Caps{}).end()
		told, all, paused := h.heard(), 0, 0
		for i, m := range told {
			all += len(m.Lines) + m.Left
			if i >= 60 && i < len(told)-1 && m.sent.Sub(told[i-60].sent) < time.Hour {
				t.Errorf("told for the 61st time within an hour at %v", m.sent)
			}
			if !m.Until.IsZero() {
				paused++
				if i+1 < len(told)-1 && told[i+1].sent.Before(m.Until) {
					t.Errorf("told before %v", m.Until)
				}
			}
		}
		if all != n || paused < 2 || len(told) > 3*60+1 {
			t.Errorf("told %d times of %d lines of %d, held back %d times", len(told), all, n, paused)
		}
	})
}

// TestMonitorOfTheBusy: an agent that is in the middle of a long reply finds two pieces of mail at the most, not a
// heap.
func TestMonitorOfTheBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(monitored, monitoring(every(time.Second, 200)))
		p.llm.takes = func(r model.Request) time.Duration {
			return min(time.Duration(r.Agent.Reply-1)*time.Minute, time.Minute)
		}
		p.begin(troupe.Caps{}).end()
		told := h.heard()
		all := 0
		for _, m := range told {
			all += len(m.Lines) + m.Left
		}
		if all != 200 {
			t.Errorf("told of %d lines of 200", all)
		}
		// What waited for it, and what came since that was sent.
		for i := 2; i < len(told)-1; i++ {
			if told[i].read.Sub(told[i-2].read) < 50*time.Second {
				t.Errorf("it reads of its monitor at %v, %v and %v", told[i-2].read, told[i-1].read, told[i].read)
			}
		}
		if len(told) > 8 {
			t.Errorf("told %d times", len(told))
		}
	})
}

// TestMonitorsEndTogether: of many monitors that end one soon after the other the first is told at once, and the others
// together, as often as lines are; one that a call waits for is told to that at once.
func TestMonitorsEndTogether(t *testing.T) {
	t.Parallel()
	const n = 20
	for name, tt := range map[string]struct {
		apart time.Duration
		runs  int
	}{"at once": {0, 2}, "a second apart": {time.Second, 4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t)
				var began atomic.Int64
				many := func(r model.Request) troupe.Reply {
					if r.Agent.Reply == 1 {
						return call(slices.Repeat([]string{"Bash:watch"}, n)...)
					}
					return say("told")
				}
				h.start(many, monitoring(func(context.Context, func(string)) {
					pass(time.Minute + time.Duration(began.Add(1))*tt.apart)
				})).begin(troupe.Caps{}).end()
				if ends, s := h.ends(h.root), h.get(h.root); len(ends) != n || s.Run != tt.runs ||
					s.Status != troupe.Completed {
					t.Errorf("told of %d ends, in %d runs, %s", len(ends), s.Run, s.Status)
				}
				h.checkTree()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		ends := []time.Duration{time.Minute, time.Minute + 5*time.Second}
		var began atomic.Int64
		h.start(func(r model.Request) troupe.Reply {
			switch r.Agent.Reply {
			case 1:
				return call("Bash:watch", "Bash:watch")
			case 3:
				return call("TaskOutput:b1.0", "TaskOutput:b1.1") // of which one has ended: either may have begun first
			}
			return say("told")
		}, monitoring(func(context.Context, func(string)) { pass(ends[began.Add(1)-1]) })).begin(troupe.Caps{}).end()
		var waited, ended time.Time
		for _, e := range h.events(h.root) {
			switch b := e.Body.(type) {
			case troupe.ToolFinished:
				if b.Outcome != nil {
					waited = e.At
				}
			case troupe.MailDelivered:
				if b.Mail[0].Ended != nil {
					ended = e.At
				}
			}
		}
		if took := waited.Sub(ended); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("the first end is told at %v, and the call waits until %v", ended, waited)
		}
	})
}

// TestMonitorEnds: with the process, which its agent hears of; where no reply is left to an agent that nobody watches;
// and with a stop of the tree, after which no line sets it to work.
func TestMonitorEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(monitored, monitoring(every(time.Second, 1000))).begin(troupe.Caps{})
		pass(30 * time.Second)
		p.pool.Close()
		before := len(h.heard())
		h.adopt(monitored, true, monitoring(nil)).end()
		ends := h.ends(h.root)
		if len(ends) != 1 || ends[0].Kind != troupe.TaskMonitor || ends[0].Status != troupe.Cancelled {
			t.Errorf("told of the end as %+v", ends)
		}
		if after := h.heard(); len(after) > before+1 || len(after) < 2 {
			t.Errorf("told %d times, before the restart %d", len(after), before)
		}
		h.checkTree()
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		began := time.Now()
		h.start(monitored, monitoring(every(time.Second, 100_000))).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
			b.Profile.Limits.MaxTurns = 4
		}).end()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it goes on for %v", took)
		}
		if s := h.get(h.root); s.Tally.Turns != 4 || len(h.ends(h.root)) != 1 {
			t.Errorf("%d turns, ends %+v", s.Tally.Turns, h.ends(h.root))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(monitored, monitoring(every(time.Second, 100_000))).begin(troupe.Caps{})
		pass(15*time.Second + 500*time.Millisecond)
		turns := h.get(h.root).Tally.Turns
		p.stop(h.root, troupe.Stop{Now: true, Tree: true, By: "you"})
		p.end()
		if s := h.get(h.root); s.Tally.Turns != turns {
			t.Errorf("%d turns, and %d when it was stopped", s.Tally.Turns, turns)
		}
	})
}
