// Package script is a provider whose words come from a file: a YAML list of replies,
// matched by who asks, which reply it is and what was said last. docs/script-model.md is
// its manual. It lets people test their own agents without a key, and everything but the
// words is real: requests pass through the same contract as any provider's.
//
// A reply depends on the request alone, so a process that goes on where another was killed
// gets the reply the other would have got. What is kept in memory is a hash per message, to
// hold every session to the prefix rule; it is bounded. A Provider is safe for concurrent
// use and starts no goroutines.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

const (
	name    = "script"
	encoder = "script/1"
	// maxSessions is how many sessions' last requests are remembered.
	maxSessions = 20_000
)

// Provider answers from a script.
type Provider struct {
	file   file
	prefix *model.PrefixChecker
}

var _ model.Provider = (*Provider)(nil)

// New reads a script. Path is for messages; each error says its line.
func New(path string, data []byte) (*Provider, error) {
	f, err := parse(path, data)
	if err != nil {
		return nil, &troupe.UserError{
			Problem: err.Error(),
			Hint:    "`troupe docs script-model` describes the form of a script.",
			Code:    troupe.ExitUsage, Err: err,
		}
	}
	return &Provider{file: f, prefix: model.NewPrefixChecker(maxSessions)}, nil
}

// Name implements model.Provider.
func (p *Provider) Name() string { return name }

// Encoder implements model.Provider.
func (p *Provider) Encoder() string { return encoder }

// Info is what the script says its model costs. Priced is false if it says nothing.
func (p *Provider) Info() model.Info { return p.file.info }

// prefixKey is new for each generation: its first request need not follow the one before.
func prefixKey(r model.Request) string {
	return fmt.Sprintf("%s, generation %d, with %s", r.Agent.Session, r.Generation, r.Model)
}

// EncodeHead implements model.Provider.
func (p *Provider) EncodeHead(h model.Head) ([]byte, error) {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"schema,omitempty"`
	}
	head := struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens,omitempty"`
		Tools     []tool `json:"tools,omitempty"`
		System    string `json:"system,omitempty"`
		Effort    string `json:"effort,omitempty"`
	}{Model: h.Model, MaxTokens: h.MaxTokens, System: h.System, Effort: string(h.Effort)}
	for _, t := range h.Tools {
		head.Tools = append(head.Tools, tool(t))
	}
	b, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode for the script model: %w", err)
	}
	return b, nil
}

// EncodeMessage implements model.Provider.
func (p *Provider) EncodeMessage(m troupe.Message) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode for the script model: %w", err)
	}
	return b, nil
}

// Stream implements model.Provider.
func (p *Provider) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	if err := p.prefix.Check(prefixKey(r), r.Head, r.Messages); err != nil {
		return troupe.Reply{}, p.bad(r, err.Error(), err)
	}
	said := &lastWords{messages: r.Messages}
	e, err := p.choose(r, max(r.Agent.Attempt, 1), said)
	if err != nil {
		return troupe.Reply{}, p.bad(r, err.Error(), nil)
	}
	if said.err != nil {
		return troupe.Reply{}, p.bad(r, "the last message cannot be read: "+said.err.Error(), said.err)
	}
	used := e.usage(r)
	if err := wait(ctx, e.delay); err != nil {
		return troupe.Reply{}, interrupted(ctx, nil, troupe.Usage{})
	}
	if e.fault != nil && e.silent() {
		return troupe.Reply{}, e.failure(p.file.path, nil, troupe.Usage{})
	}
	shown, err := e.play(ctx, r.Agent.Reply, sink)
	if err != nil {
		return troupe.Reply{}, interrupted(ctx, shown, used)
	}
	if e.fault != nil {
		return troupe.Reply{}, e.failure(p.file.path, shown, used)
	}
	id := p.file.model
	if id == "" {
		id = r.Model
	}
	return troupe.Reply{Blocks: shown, Stop: e.stopReason(), Usage: used, Model: name + "/" + id,
		RequestID: fmt.Sprintf("line-%d", e.line)}, nil
}

// bad is an error of the script, or of who asks it; trying again does not help.
func (p *Provider) bad(r model.Request, what string, err error) error {
	return &model.Error{
		Fault: troupe.FaultBad, Err: err,
		Message: fmt.Sprintf("script %s, %s, reply %d: %s", p.file.path, who(r.Agent), r.Agent.Reply, what),
	}
}

func who(a model.Agent) string {
	s := fmt.Sprintf("agent %q", a.Type)
	if a.Name != "" && a.Name != a.Type {
		s += fmt.Sprintf(" named %q", a.Name)
	}
	return s
}

func interrupted(ctx context.Context, partial []troupe.Block, u troupe.Usage) error {
	return &model.Error{Fault: troupe.FaultInterrupted, Message: "the model call was interrupted", Partial: partial,
		Usage: u, Err: ctx.Err()}
}

func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastWords is what was said to an agent since it last spoke: the text of its mail and of
// its tools' results. It is decoded when first asked for.
type lastWords struct {
	messages [][]byte
	done     bool
	text     string
	err      error
}

func (l *lastWords) get() string {
	if l.done {
		return l.text
	}
	l.done = true
	var parts []string
	for i := len(l.messages) - 1; i >= 0; i-- {
		var m troupe.Message
		if err := json.Unmarshal(l.messages[i], &m); err != nil {
			l.err = errors.Join(l.err, err)
			break
		}
		if m.Role == troupe.Assistant {
			break
		}
		parts = append([]string{wordsOf(m.Blocks)}, parts...)
	}
	l.text = strings.Join(parts, "\n")
	return l.text
}

func wordsOf(blocks []troupe.Block) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != "":
			parts = append(parts, b.Text)
		case b.Result != nil:
			parts = append(parts, wordsOf(b.Result.Blocks))
		}
	}
	return strings.Join(parts, "\n")
}
