// Package workflow is a provider that follows a list of agents instead of thinking: it is the model of a session
// whose prompt is a workflow. Each step is a call of Agent; what its end brings decides which steps come next. So a
// workflow has no loop, log, gate or bill of its own: it is resumed, stopped, watched and limited as every session is,
// and a step may have whatever a call of Agent may have. docs/workflows.md is its manual.
//
// A reply depends on the request alone: the prompt holds the workflow as it was when it began, and the conversation
// what has become of its steps. A Provider keeps nothing and is safe for concurrent use.
package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

const (
	name    = "workflow"
	encoder = "workflow/1"
	// prefix stands before the model that the agents of a workflow have unless they name another.
	prefix = name + "/"
)

// Over is the full name of the model that follows a workflow whose agents have the model full.
func Over(full string) string { return prefix + full }

// Under is the model that agents inherit from one with the model full: what a workflow's agents have, or itself.
func Under(full string) string { return strings.TrimPrefix(full, prefix) }

// Follows reports whether a model's full name is that of one that follows a workflow.
func Follows(full string) bool { return strings.HasPrefix(full, prefix) }

// Moved is the model of a session with the model from that is to have the model to: a workflow is still followed, and
// its next agents have that one.
func Moved(from, to string) string {
	if Follows(from) && !Follows(to) {
		return Over(to)
	}
	return to
}

// Provider follows workflows.
type Provider struct{}

var _ model.Provider = Provider{}

// Name implements model.Provider.
func (Provider) Name() string { return name }

// Encoder implements model.Provider.
func (Provider) Encoder() string { return encoder }

// EncodeHead implements model.Provider. Nothing of the head counts.
func (Provider) EncodeHead(h model.Head) ([]byte, error) {
	return json.Marshal(struct { //nolint:wrapcheck // two texts
		Model  string `json:"model"`
		System string `json:"system"`
	}{h.Model, h.System})
}

// EncodeMessage implements model.Provider.
func (Provider) EncodeMessage(m troupe.Message) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode for a workflow: %w", err)
	}
	return b, nil
}

// Stream implements model.Provider.
func (Provider) Stream(_ context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	fail := func(err error) (troupe.Reply, error) {
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultBad, Message: err.Error(), Err: err}
	}
	t, err := read(r.Messages)
	if err != nil {
		return fail(err)
	}
	words, ready, err := t.next()
	if err != nil {
		return fail(err)
	}
	out := troupe.Reply{Stop: troupe.StopEndTurn, Model: prefix + r.Model,
		Blocks: []troupe.Block{troupe.Text(words)}}
	for i, s := range ready {
		input, err := t.input(s)
		if err != nil {
			return fail(err)
		}
		out.Stop = troupe.StopToolUse
		out.Blocks = append(out.Blocks, troupe.Block{Type: troupe.CallBlock,
			Call: &troupe.Call{Reply: r.Agent.Reply, Index: i, Name: agentTool, Input: input}})
	}
	if sink != nil {
		sink(model.Delta{Text: words})
	}
	return out, nil
}
