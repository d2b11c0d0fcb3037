package session_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
)

// once answers the first request of each session with calls and every later one with text.
func once(calls ...string) func(model.Request) troupe.Reply {
	return func(r model.Request) troupe.Reply {
		if r.Agent.Type == "main" && r.Agent.Reply == 1 {
			return call(calls...)
		}
		return say("done by " + r.Agent.Path)
	}
}

// TestReadsGoTogetherEffectsInOrder: the clock is virtual, so what ran side by side can be
// told from what took.
func TestReadsGoTogetherEffectsInOrder(t *testing.T) {
	t.Parallel()
	for want, calls := range map[time.Duration][]string{
		3 * time.Second: {"Read:a", "Read:b", "Read:c"},
		5 * time.Second: {"Edit:a", "Edit:b", "Read:c", "Read:d"},
		6 * time.Second: {"Read:a", "Edit:b", "Read:c", "Edit:d"},
		4 * time.Second: {"Agent:", "Agent:", "Agent:", "Read:after"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			start := time.Now()
			h.start(once(calls...)).begin(troupe.Caps{MaxDepth: 1}).end()
			if got := time.Since(start); got != want {
				t.Errorf("%v took %v, want %v", calls, got, want)
			}
			if s := h.get(h.root); s.Status != troupe.Completed || s.Tally.ToolUses != len(calls) {
				t.Errorf("%v ended as %s with %d tool uses: %s", calls, s.Status, s.Tally.ToolUses, s.Error)
			}
		})
	}
}

// TestQueue: more agents than slots wait for one, and all of them finish.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		calls := make([]string, 7)
		for i := range calls {
			calls[i] = "Agent:"
		}
		p := h.start(once(calls...)).begin(troupe.Caps{MaxDepth: 1, MaxActive: 2}).end()
		if p.llm.peak > 2 {
			t.Errorf("%d agents were at work at once under a cap of 2", p.llm.peak)
		}
		for _, s := range h.tree() {
			if s.Status != troupe.Completed {
				t.Errorf("%s ended as %s: %s", s.Name, s.Status, s.Error)
			}
		}
		if n := len(h.tree()); n != 8 {
			t.Errorf("%d sessions, want 8", n)
		}
	})
}

// TestBackoff: an overloaded model is asked again later, with the same bytes, and what the
// failed calls cost is on the bill.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		tries := 0
		start := time.Now()
		p := h.start(once("Read:a"), func(p *process) {
			p.llm.fail = func(model.Request) *model.Error {
				if tries++; tries <= 2 {
					return &model.Error{Fault: troupe.FaultRetry, Message: "overloaded", RetryAfter: time.Minute,
						Usage: troupe.Usage{Input: 5}}
				}
				return nil
			}
		}).begin(troupe.Caps{}).end()
		if took := time.Since(start); took < 2*time.Minute || took > 2*time.Minute+10*time.Second {
			t.Errorf("took %v; the provider asked for two minutes of pause", took)
		}
		if s := h.get(h.root); s.Status != troupe.Completed || s.Tally.Usage.Input != 12 {
			t.Errorf("ended as %s with %+v", s.Status, s.Tally)
		}
		for i := 1; i < 3; i++ {
			if fmt.Sprint(p.llm.requests[i].Messages) != fmt.Sprint(p.llm.requests[0].Messages) {
				t.Errorf("attempt %d was sent other bytes", i+1)
			}
		}
	})
}

// TestEncodeOnce: a turn encodes what is new in it, however long the history is.
func TestEncodeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(func(r model.Request) troupe.Reply {
			if r.Agent.Reply < 40 {
				return call(fmt.Sprintf("Read:%d", r.Agent.Reply))
			}
			return say("enough")
		}).begin(troupe.Caps{}).end()
		for msg, n := range p.llm.encoded {
			if n != 1 {
				t.Errorf("encoded %d times: %s", n, msg)
			}
		}
		for i, r := range p.llm.requests {
			if r.Fresh > 2 || len(r.Messages) != 2*i+1 {
				t.Errorf("request %d has %d messages, %d of them fresh", i, len(r.Messages), r.Fresh)
			}
		}
	})
}

// TestStop: a stop ends what is under way in the whole tree, gives every call its result,
// and what it stopped can go on.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{500, 1500, 2500, 3500} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			reply := func(r model.Request) troupe.Reply {
				switch {
				case r.Agent.Type == "main" && r.Agent.Reply == 1:
					return call("Read:x", "Agent:", "Agent:", "Agent:", "Edit:y")
				case r.Agent.Type == "helper" && r.Agent.Reply == 1:
					return call("Edit:z")
				}
				return say("done")
			}
			p := h.start(reply).begin(troupe.Caps{MaxDepth: 1, MaxActive: 2})
			<-time.After(after * time.Millisecond) // virtual
			p.stop(h.root, troupe.Stop{Now: true, Tree: true})
			p.end()
			for _, s := range h.tree() {
				if s.Status != troupe.Cancelled || s.Cause != troupe.CauseInterrupt {
					t.Errorf("after %d ms: %q ended as %s (%s)", after, s.Name, s.Status, s.Cause)
				}
			}
			q := h.start(reply)
			if err := q.hub.Adopt(t.Context(), session.Adoption{Root: h.root, Expect: h.lease()}); err != nil {
				t.Fatal(err)
			}
			q.end()
			if s := h.get(h.root); s.Status != troupe.Completed || s.Run != 2 {
				t.Errorf("after %d ms: resumed, it ended as %s in run %d: %s", after, s.Status, s.Run, s.Error)
			}
		})
	}
}

// TestStopKeepsWhatWasSaid: an interrupted reply's words and cost stay in the log.
func TestStopKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(once()).begin(troupe.Caps{})
		<-time.After(500 * time.Millisecond) // virtual
		p.stop(h.root, troupe.Stop{Now: true, Tree: true})
		p.end()
		for _, e := range h.events(h.root) {
			if f, ok := e.Body.(troupe.ModelFailed); ok {
				if f.Partial != "half a wo" || f.Usage.Input != 3 || f.Fault != troupe.FaultInterrupted {
					t.Errorf("logged %+v", f)
				}
				return
			}
		}
		t.Error("the interrupted call is not in the log")
	})
}

// TestNewGeneration: after a restart the same bytes are sent again; a changed encoder or
// another model begins a new generation, and says why.
func TestNewGeneration(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		version string
		events  []troupe.Body
		gen     int
		because bool
	}{
		"nothing changed": {"llm/1", nil, 1, false},
		"another encoder": {"llm/2", nil, 2, true},
		"another model":   {"llm/1", []troupe.Body{troupe.ModelChanged{Model: "llm/two", Why: "--model"}}, 2, false},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			first := h.start(once("Read:a")).begin(troupe.Caps{}).end()
			second := h.start(once(), func(p *process) { p.llm.version = tt.version })
			err := second.hub.Adopt(t.Context(), session.Adoption{
				Root: h.root, Expect: h.lease(), Prompt: []troupe.Block{troupe.Text("and now?")}, MailID: "m",
				Events: tt.events,
			})
			if err != nil {
				t.Fatal(err)
			}
			second.end()
			var last troupe.CallSealed
			for _, e := range h.events(h.root) {
				if b, ok := e.Body.(troupe.CallSealed); ok {
					last = b
				}
			}
			if last.Generation != tt.gen || (last.Because != "") != tt.because {
				t.Errorf("%s: the last seal is of generation %d, because %q", name, last.Generation, last.Because)
			}
			before, after := first.llm.requests[len(first.llm.requests)-1], second.llm.requests[0]
			if tt.gen == 1 && !bytes.HasPrefix(body(after), body(before)) {
				t.Errorf("%s: the request after the restart does not begin with the one before", name)
			}
		})
	}
}

func body(r model.Request) []byte { return slices.Concat(r.Head, bytes.Join(r.Messages, nil)) }

// TestWaitingHoldsNoGoroutine: agents that wait for a model cost one goroutine each (the
// call itself), agents that queue and a parent that waits for children none. It does not run
// beside others, whose goroutines it would count.
func TestWaitingHoldsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		calls := make([]string, 400)
		for i := range calls {
			calls[i] = "Agent:"
		}
		p := h.start(once(calls...))
		before := runtime.NumGoroutine()
		p.begin(troupe.Caps{MaxDepth: 1, MaxActive: 20})
		<-time.After(1500 * time.Millisecond) // virtual: main waits, 20 call the model, 380 queue
		synctest.Wait()
		p.llm.mu.Lock()
		busy := p.llm.busy
		p.llm.mu.Unlock()
		if busy != 20 {
			t.Fatalf("%d model calls are under way, want 20", busy)
		}
		const kept = 64 // that a pool keeps for the next burst
		if n := runtime.NumGoroutine() - before; n > 20+kept+5 {
			t.Errorf("%d goroutines more than before, 20 are needed and %d may be kept", n, kept)
		}
		p.end()
	})
}
