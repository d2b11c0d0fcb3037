package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

func profile(kind string, maxTurns int) troupe.Profile {
	return troupe.Profile{
		Type: kind, Prompt: "You are " + kind + ".", Tools: []string{"Agent", "Edit", "Read"},
		Model: "sim/one", Mode: troupe.ModeBypass, Limits: troupe.Limits{MaxTurns: maxTurns},
	}
}

// profiles resolves children: some types are unknown.
type profiles struct{ w *world }

func (p profiles) Resolve(_ troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	if sp.Type == "unknown" {
		return troupe.Profile{}, fmt.Errorf("there is no agent type %q", sp.Type)
	}
	out := profile("worker", 8)
	out.Mode = ""
	return out, nil
}

// models is a model that does what the seed says.
type models struct{ p *process }

func (m models) Provider(string) (model.Provider, string, error) { return m, "one", nil }

func (m models) Cost(_ string, u troupe.Usage) (troupe.Money, bool) {
	return troupe.Price{Input: troupe.Dollar, Output: troupe.Dollar}.Cost(u), true
}

func (m models) MaxOutput(string) int { return 1000 }

func (m models) Window(string) int64 { return 0 }

func (m models) Name() string { return "sim" }

func (m models) Encoder() string { return "sim/1" }

func (m models) EncodeHead(h model.Head) ([]byte, error) { return json.Marshal(h) }

func (m models) EncodeMessage(msg troupe.Message) ([]byte, error) { return json.Marshal(msg) }

// Stream checks the prefix rule and then draws a reply or a fault.
func (m models) Stream(ctx context.Context, r model.Request, _ func(model.Delta)) (troupe.Reply, error) {
	w := m.p.w
	body := append(bytes.Clone(r.Head), bytes.Join(r.Messages, nil)...)
	if !m.p.zombie {
		if before := w.sent[r.Agent.Session]; !bytes.HasPrefix(body, before) {
			w.fault = fmt.Errorf("session %s: request for reply %d does not begin with the one before", r.Agent.Session, r.Agent.Reply)
		}
		w.sent[r.Agent.Session] = body
	}
	if ctx.Err() != nil {
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultInterrupted, Message: "stopped"}
	}
	usage := troupe.Usage{Input: int64(len(body)), Output: int64(w.rng.IntN(100))}
	switch n := w.rng.IntN(100); {
	case n < 8:
		w.res.Faults++
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultRetry, Message: "overloaded", Usage: usage, RetryAfter: time.Duration(w.rng.IntN(3)) * time.Second}
	case n < 9:
		w.res.Faults++
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultBad, Message: "bad luck"}
	}
	reply := troupe.Reply{Stop: troupe.StopEndTurn, Usage: usage, Model: "one", Blocks: []troupe.Block{troupe.Text("so it is")}}
	if w.rng.IntN(100) < 15 {
		return reply, nil
	}
	reply.Stop = troupe.StopToolUse
	for range 1 + w.rng.IntN(5) {
		reply.Blocks = append(reply.Blocks, troupe.Block{Type: troupe.CallBlock, Call: w.drawCall()})
	}
	return reply, nil
}

func (w *world) drawCall() *troupe.Call {
	switch n := w.rng.IntN(12); {
	case n < 4:
		return &troupe.Call{Name: "Read", Input: "{}"}
	case n < 6:
		return &troupe.Call{Name: "Edit", Input: "{}"}
	case n < 7:
		return &troupe.Call{Name: "Nothing", Input: "{}"}
	case n < 8:
		return &troupe.Call{Name: "Edit", Input: "broken"}
	default:
		names := []string{"", "", "", "Twin", "a/b", "unknown"}
		return &troupe.Call{Name: "Agent", Input: names[w.rng.IntN(len(names))]}
	}
}

// tools holds a reading tool, one with effects, and births.
type tools struct{ p *process }

func (t tools) Specs(names []string) []troupe.Tool {
	out := make([]troupe.Tool, len(names))
	for i, n := range names {
		out[i] = troupe.Tool{Name: n}
	}
	return out
}

func (t tools) Schedule(name string) turn.Schedule {
	switch name {
	case "Agent":
		return turn.Birth
	case "Edit":
		return turn.Alone
	default:
		return turn.Parallel
	}
}

func (t tools) Intent(name, input string) (troupe.Intent, bool, error) {
	if name != "Agent" {
		return nil, false, nil
	}
	sp := troupe.Spawn{Description: "part of it", Prompt: "do a part", Type: "worker"}
	switch input {
	case "unknown":
		sp.Type = "unknown"
	default:
		sp.Name = input
	}
	return sp, true, nil
}

func (t tools) Runner(name string) (tool.Runner, bool) {
	return runner{t.p, name}, name == "Read" || name == "Edit"
}

type runner struct {
	p    *process
	name string
}

func (r runner) Spec() troupe.Tool { return troupe.Tool{Name: r.name} }

func (r runner) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	if input == "broken" {
		return nil, &tool.InputError{Tool: r.name, Problem: "the input is not a JSON object"}
	}
	return r, nil
}

func (r runner) Access() troupe.Access {
	if r.name == "Edit" {
		return troupe.Access{Class: troupe.ClassEdit, Writes: []string{"/sim/file"}}
	}
	return troupe.Access{Class: troupe.ClassRead, Reads: []string{"/sim/file"}}
}

func (r runner) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	w := r.p.w
	if ctx.Err() != nil {
		return tool.Errorf("stopped"), nil
	}
	if r.name == "Edit" {
		w.res.Effects++
		w.effects[env.OutputDir+"/"+env.CallID]++
	}
	return tool.Output{Blocks: []troupe.Block{troupe.Text("done")}}, nil
}
