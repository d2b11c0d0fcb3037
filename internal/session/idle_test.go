package session_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// instant is a model that does not take any time.
type instant struct{ *llm }

func (i instant) Provider(string) (model.Provider, string, error) { return i, "one", nil }

func (i instant) Stream(_ context.Context, r model.Request, _ func(model.Delta)) (troupe.Reply, error) {
	return i.reply(r), nil
}

// TestIdleCostsNothing: agents that wait for somebody hold no goroutine, and their memory is
// that of what they know. Half of them wait for an answer, half for a task of theirs. It counts
// goroutines and bytes of the whole process, so it does not run beside others.
func TestIdleCostsNothing(t *testing.T) {
	const n = 1000
	h := newHome(t)
	calls := make([]string, n/2)
	for i := range calls {
		calls[i] = fmt.Sprintf("Agent:&A%d", i)
	}
	committed := make(chan struct{}, 1)
	p := h.start(func(r model.Request) troupe.Reply {
		switch {
		case r.Agent.Path == "main" && r.Agent.Reply == 1:
			return call(calls...)
		case r.Agent.Path == "main":
			return say("I wait")
		case len(r.Agent.Path) > len("main/A999"):
			return call("Edit:a") // a grandchild asks
		}
		return call("Agent:deep") // a child waits for it
	}, func(p *process) {
		p.deps = func(d *session.Deps) {
			p.settings.AskFor = time.Hour
			d.Models, d.Profiles = instant{p.llm}, inherits{p}
			d.Notify = func(troupe.SessionID, troupe.SessionID, int64, []troupe.Event) {
				select {
				case committed <- struct{}{}:
				default:
				}
			}
		}
	})
	goroutines, heap := runtime.NumGoroutine(), heapAlloc()
	p.beginAs(troupe.Caps{MaxDepth: 2}, func(b *fleet.Birth) {
		careful(b)
		// So that nobody has to be asked before they begin.
		b.Authority.Rules = []troupe.Rule{{Effect: troupe.Allow, Text: "Edit(/any file)"}}
	})
	for waiting := 0; waiting < n; {
		<-committed
		var asking, parents []troupe.Session
		h.view(func(r store.Reader) (err error) {
			if asking, err = r.Sessions(store.Filter{Root: h.root, Waiting: troupe.WaitApproval}); err != nil {
				return err
			}
			parents, err = r.Sessions(store.Filter{Root: h.root, Waiting: troupe.WaitChildren})
			return err
		})
		waiting = len(asking) + len(parents)
	}
	const kept = 64 // that a pool keeps for the next burst
	// The last of them may be on its way to rest, and on a busy machine that takes its time.
	rest, tick := time.After(time.Minute), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	got := runtime.NumGoroutine() - goroutines
	for late := false; got > kept && !late; got = runtime.NumGoroutine() - goroutines {
		select {
		case <-tick.C:
		case <-rest:
			late = true
		}
	}
	if got > kept {
		t.Errorf("%d agents that wait hold %d goroutines; a pool may keep %d", n, got, kept)
	}
	if each := (heapAlloc() - heap) / n; each > 60<<10 {
		t.Errorf("an agent that waits takes %d bytes", each)
	} else {
		t.Logf("an agent that waits takes %d bytes, of which its log in memory is a part", each)
	}
	p.stop(h.root, troupe.Stop{Now: true, Tree: true})
	p.end()
	h.checkTree()
}

func heapAlloc() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
