package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/anthropic"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/tool"
)

// BenchmarkEncoding runs a session of a thousand turns through the real engine and the real
// encoder, without a network or a disk, and compares a hundred turns near its beginning with
// its last hundred: time per turn, and how many bytes and messages are encoded for one. The
// second figures of each pair must not be larger than the first.
func BenchmarkEncoding(b *testing.B) {
	const turns, span = 1000, 100
	var early, late spanCost
	for b.Loop() {
		m := &encoding{real: anthropic.New(anthropic.Options{}), turns: turns, at: make([]mark, turns+1)}
		m.session(b)
		early = early.plus(m.at[100], m.at[100+span])
		late = late.plus(m.at[turns-span], m.at[turns])
	}
	per := float64(b.N * span)
	b.ReportMetric(float64(early.time.Microseconds())/per, "early-µs/turn")
	b.ReportMetric(float64(late.time.Microseconds())/per, "late-µs/turn")
	b.ReportMetric(float64(early.bytes)/per, "early-B/turn")
	b.ReportMetric(float64(late.bytes)/per, "late-B/turn")
	b.ReportMetric(float64(early.messages)/per, "early-messages/turn")
	b.ReportMetric(float64(late.messages)/per, "late-messages/turn")
}

// mark is how much had been encoded when a turn was asked for.
type mark struct {
	when            time.Time
	bytes, messages int
}

type spanCost struct {
	time            time.Duration
	bytes, messages int
}

func (c spanCost) plus(from, to mark) spanCost {
	return spanCost{c.time + to.when.Sub(from.when), c.bytes + to.bytes - from.bytes,
		c.messages + to.messages - from.messages}
}

// encoding is a provider whose replies come at once, and that counts what it encodes. One
// session uses it, so only one goroutine at a time does.
type encoding struct {
	real  *anthropic.Provider
	turns int
	sum   mark
	at    []mark
}

func (m *encoding) session(b *testing.B) {
	const root = "00000000root"
	ctx, st := b.Context(), memstore.New(memstore.Options{}).Open()
	if _, err := st.Register(ctx, troupe.Owner{ID: "bench"}); err != nil {
		b.Fatal(err)
	}
	pool := session.NewPool(ctx)
	defer pool.Close()
	hub := session.New(session.Deps{
		Store: st, Owner: "bench", Models: m, Tools: tool.NewSet(tool.Descriptor{
			ToolFacts: troupe.ToolFacts{Name: "Read", Schedule: troupe.Parallel}, Description: "reads",
			Runner: reading{},
		}), Profiles: m, Sched: pool, Now: time.Now,
		Environment: func(string) session.Surroundings { return session.Surroundings{Place: "nowhere"} },
		OutputDir:   func(troupe.SessionID) string { return "/out" },
	})
	err := hub.Begin(ctx, fleet.Birth{
		Root: root, ID: root, Cwd: "/ws", Caps: &troupe.Caps{},
		Settings: &troupe.Settings{Policy: troupe.Policy{MaxAttempts: 1, MaxDenials: 1}},
		Prompt:   []troupe.Block{troupe.Text("go")},
		Profile: troupe.Profile{Type: "main", Prompt: "You read.", Tools: []string{"Read"}, Model: mainModel,
			Mode: troupe.ModeBypass},
		Authority: troupe.Authority{Mode: troupe.ModeBypass},
	})
	if err == nil {
		err = hub.Wait(ctx, root)
	}
	if err != nil {
		b.Fatal(err)
	}
	if m.at[m.turns].when.IsZero() {
		b.Fatalf("the session ended before its %d turns", m.turns)
	}
}

// EncodeMessage implements model.Provider.
func (m *encoding) EncodeMessage(msg troupe.Message) ([]byte, error) {
	out, err := m.real.EncodeMessage(msg)
	m.sum.bytes += len(out)
	m.sum.messages++
	return out, err
}

// Stream implements model.Provider.
func (m *encoding) Stream(_ context.Context, r model.Request, _ func(model.Delta)) (troupe.Reply, error) {
	m.sum.when = time.Now()
	m.at[r.Agent.Reply] = m.sum
	if r.Agent.Reply == m.turns {
		return troupe.Reply{Stop: troupe.StopEndTurn, Blocks: []troupe.Block{troupe.Text("Done.")}}, nil
	}
	return troupe.Reply{Stop: troupe.StopToolUse, Blocks: []troupe.Block{
		troupe.Text("I read on."),
		{Type: troupe.CallBlock, Call: &troupe.Call{Name: "Read",
			Input: fmt.Sprintf(`{"file_path":"/ws/%04d"}`, r.Agent.Reply)}},
	}}, nil
}

func (m *encoding) Name() string { return m.real.Name() }

func (m *encoding) Encoder() string { return m.real.Encoder() }

func (m *encoding) EncodeHead(h model.Head) ([]byte, error) { return m.real.EncodeHead(h) }

// Provider and the rest stand in for what surrounds the engine.
func (m *encoding) Provider(string) (model.Provider, string, error) { return m, "any", nil }

func (m *encoding) Cost(string, troupe.Usage) (troupe.Money, bool) { return 0, true }

func (m *encoding) MaxOutput(string) int { return 1000 }

func (m *encoding) Effort(string, troupe.Effort) troupe.Effort { return "" }

func (m *encoding) Window(string) int64 { return 0 }

func (m *encoding) Open([]byte) (session.Roles, error) { return m, nil }

func (m *encoding) Resolve(troupe.Session, troupe.Spawn) (troupe.Profile, error) {
	return troupe.Profile{}, troupe.ErrNotFound
}

func (m *encoding) Describe(troupe.Vocabulary, func(string) bool, int) string { return "" }

func (m *encoding) Workers(func(string) bool) string { return "" }

// reading is a tool whose every result is two kilobytes.
type reading struct{}

func (reading) Prepare(tool.Env, string) (tool.Prepared, error) { return reading{}, nil }

func (reading) Access() troupe.Access { return troupe.Access{Class: troupe.ClassRead} }

func (reading) Run(context.Context, tool.Env) (tool.Output, error) {
	return tool.Output{Blocks: []troupe.Block{troupe.Text(strings.Repeat("0123456789abcdef", 128))}}, nil
}

func (m *encoding) Fork(of troupe.Profile, _ troupe.Spawn) troupe.Profile { return of }
