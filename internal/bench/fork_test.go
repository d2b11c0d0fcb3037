package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/anthropic"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/agent"
)

// BenchmarkForks has a session with a megabyte behind it start agents in one reply, through the real engine and the
// real encoder: a hundred forks, or ten agents that are told as much in their prompts. It says what they take in memory
// while all wait for their model, and how long each one's first request is in coming.
func BenchmarkForks(b *testing.B) {
	for name, start := range map[string]struct {
		agents int
		call   string
	}{
		"fork": {100, `{"description":"part %d","prompt":"Do part %d.","fork":true}`},
		"cold": {10, `{"description":"part %d","prompt":"Do part %d. ` +
			strings.Repeat("What was said before this. ", 1<<20/27) + `","run_in_background":true}`},
	} {
		for _, disk := range []bool{false, true} {
			if disk {
				name += "/sqlite"
			}
			b.Run(name, func(b *testing.B) {
				var took time.Duration
				var held, history uint64
				for b.Loop() {
					f := &forking{disk: disk, turns: 250, agents: start.agents, call: start.call,
						all:     make(chan struct{}),
						release: make(chan struct{})}
					f.session(b)
					took += f.took
					held += f.held
					history = f.history
				}
				per := float64(b.N) * float64(start.agents)
				b.ReportMetric(took.Seconds()*1000/per, "ms/first-request")
				b.ReportMetric(float64(held)/per/(1<<10), "KB/agent")
				b.ReportMetric(float64(history)/(1<<20), "MB-history")
			})
		}
	}
}

// forking is a model whose main agent reads for so many turns and then starts agents, which wait until all are there.
type forking struct {
	*encoding
	disk          bool // its store is a database
	turns, agents int
	call          string // what each is started with, with its number twice
	all, release  chan struct{}

	mu      sync.Mutex
	begun   time.Time
	before  uint64
	there   int
	took    time.Duration
	held    uint64
	history uint64
}

// heap is what is held once all that is not has been collected.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // weak pointers and finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (f *forking) session(b *testing.B) {
	const root = "00000000root"
	f.encoding = &encoding{real: anthropic.New(anthropic.Options{}), turns: f.turns}
	ctx := b.Context()
	var st store.Store = memstore.New(memstore.Options{}).Open()
	if f.disk {
		db, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "troupe.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		st = db
	}
	if _, err := st.Register(ctx, troupe.Owner{ID: "bench"}); err != nil {
		b.Fatal(err)
	}
	pool := session.NewPool(ctx)
	defer pool.Close()
	tools := append(agent.Tools(), tool.Descriptor{
		ToolFacts: troupe.ToolFacts{Name: "Read", Schedule: troupe.Parallel}, Description: "reads", Runner: reading{},
	})
	hub := session.New(session.Deps{
		Store: st, Owner: "bench", Models: f, Tools: tool.NewSet(tools...), Profiles: f, Sched: pool,
		Now:         time.Now,
		Environment: func(string) session.Surroundings { return session.Surroundings{Place: "nowhere"} },
		OutputDir:   func(troupe.SessionID) string { return "/out" },
	})
	err := hub.Begin(ctx, fleet.Birth{
		Root: root, ID: root, Cwd: "/ws", Caps: &troupe.Caps{MaxDepth: 1},
		Settings: &troupe.Settings{Policy: troupe.Policy{MaxAttempts: 1, MaxDenials: 1}},
		Prompt:   []troupe.Block{troupe.Text("go")},
		Profile: troupe.Profile{Type: "main", Prompt: "You read.", Tools: []string{"Agent", "Read"}, Model: mainModel,
			Mode: troupe.ModeBypass},
		Authority: troupe.Authority{Mode: troupe.ModeBypass},
	})
	if err != nil {
		b.Fatal(err)
	}
	<-f.all
	f.took = time.Since(f.begun)
	f.held = heap() - min(f.before, heap())
	close(f.release)
	if err := hub.Wait(ctx, root); err != nil {
		b.Fatal(err)
	}
}

// EncodeMessage implements model.Provider.
func (f *forking) EncodeMessage(m troupe.Message) ([]byte, error) { return f.real.EncodeMessage(m) }

// Provider implements session.Models.
func (f *forking) Provider(string) (model.Provider, string, error) { return f, "any", nil }

// Open implements session.Profiles.
func (f *forking) Open([]byte) (session.Roles, error) { return f, nil }

// Resolve implements session.Roles.
func (f *forking) Resolve(troupe.Session, troupe.Spawn) (troupe.Profile, error) {
	return troupe.Profile{Type: "worker", Prompt: "You work.", Tools: []string{"Read"}, Model: mainModel}, nil
}

// Fork implements session.Roles.
func (f *forking) Fork(of troupe.Profile, _ troupe.Spawn) troupe.Profile {
	of.Beginning, of.Mode = troupe.Beginning{Fork: true}, ""
	return of
}

// Stream implements model.Provider.
func (f *forking) Stream(_ context.Context, r model.Request, _ func(model.Delta)) (troupe.Reply, error) {
	out := troupe.Reply{Stop: troupe.StopToolUse}
	add := func(name, input string) {
		out.Blocks = append(out.Blocks, troupe.Block{Type: troupe.CallBlock,
			Call: &troupe.Call{Name: name, Input: input}})
	}
	switch {
	case r.Agent.Path != "main":
		f.mu.Lock()
		if f.there++; f.there == f.agents {
			close(f.all)
		}
		f.mu.Unlock()
		<-f.release
		return troupe.Reply{Stop: troupe.StopEndTurn, Blocks: []troupe.Block{troupe.Text("Done.")}}, nil
	case r.Agent.Reply < f.turns:
		add("Read", fmt.Sprintf(`{"file_path":"/ws/%04d"}`, r.Agent.Reply))
		out.Blocks = append([]troupe.Block{troupe.Text(strings.Repeat("I read on. ", 200))}, out.Blocks...)
	case r.Agent.Reply == f.turns:
		for i := range f.agents {
			add("Agent", fmt.Sprintf(f.call, i, i))
		}
		for _, m := range r.Messages {
			f.history += uint64(len(m))
		}
		f.before = heap()
		f.begun = time.Now()
	default:
		return troupe.Reply{Stop: troupe.StopEndTurn, Blocks: []troupe.Block{troupe.Text("I wait.")}}, nil
	}
	return out, nil
}
