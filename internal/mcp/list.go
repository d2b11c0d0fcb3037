package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// List is what a server offers, as it is kept and told. It does not change.
type List struct {
	Tools []Tool `json:"tools"` // sorted by the names that the server has for them
	// Changes: it says when its tools change while it runs.
	Changes bool `json:"changes,omitempty"`
	// Resources and Prompts: it has some.
	Resources bool     `json:"resources,omitempty"`
	Prompts   []Prompt `json:"prompts,omitempty"`
}

// Tool is one tool of a server.
type Tool struct {
	Name        string          `json:"name"` // the server's own
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
}

// Prompt is a prompt of a server, which people use as a command.
type Prompt struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Arguments   []string `json:"arguments,omitempty"`
}

// What one server may bring: more would crowd out what a session is for.
const (
	maxTools       = 500
	maxPrompts     = 200
	maxDescription = 2000
	maxSchema      = 16 << 10
)

// List asks a server what it offers.
func (s *Servers) List(ctx context.Context, t Target) (List, error) {
	c, err := s.connect(ctx, t)
	if err != nil {
		return List{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, bound(t.Entry.Timeout, usualStart))
	defer cancel()
	l, err := list(ctx, c.session, t.Entry)
	if err != nil {
		return List{}, c.failure(ctx, err, "the list of its tools")
	}
	return l, nil
}

func list(ctx context.Context, session *mcp.ClientSession, e entry.Entry) (out List, err error) {
	out.Tools = []Tool{}
	caps := session.InitializeResult().Capabilities
	if caps == nil {
		caps = &mcp.ServerCapabilities{}
	}
	out.Resources = caps.Resources != nil
	if caps.Tools != nil {
		out.Changes = caps.Tools.ListChanged
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return List{}, fmt.Errorf("list its tools: %w", err)
			}
			if len(out.Tools) == maxTools {
				break
			}
			if t.Name != "" && len(t.Name) <= 200 && e.Has(t.Name) {
				out.Tools = append(out.Tools, toolOf(t))
			}
		}
	}
	if caps.Prompts != nil {
		for p, err := range session.Prompts(ctx, nil) {
			if err != nil || len(out.Prompts) == maxPrompts {
				break // it can do without them
			}
			out.Prompts = append(out.Prompts, promptOf(p))
		}
	}
	slices.SortStableFunc(out.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	out.Tools = slices.CompactFunc(out.Tools, func(a, b Tool) bool { return a.Name == b.Name })
	slices.SortStableFunc(out.Prompts, func(a, b Prompt) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func toolOf(t *mcp.Tool) Tool {
	out := Tool{Name: t.Name, Description: text(cmp.Or(t.Description, t.Title)), Schema: schema(t.InputSchema)}
	if len(out.Schema) > maxSchema {
		out.Schema = json.RawMessage(`{"type":"object"}`)
		out.Description += "\n(Its input schema is too large to be told.)"
	}
	return out
}

func promptOf(p *mcp.Prompt) Prompt {
	out := Prompt{Name: p.Name, Description: text(cmp.Or(p.Description, p.Title))}
	for _, a := range p.Arguments {
		out.Arguments = append(out.Arguments, a.Name)
	}
	return out
}

// text is a description as a model may be told it: bounded, without what a person would not see, and nothing in it
// looks like the runtime's own markers.
func text(s string) string {
	s = strings.Map(func(r rune) rune {
		if troupe.Unseen(r) && r != ' ' && r != '\n' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if runes := []rune(s); len(runes) > maxDescription {
		s = string(runes[:maxDescription]) + "…"
	}
	return troupe.Escape(strings.TrimSpace(s))
}

// schema is an input schema as the providers take it: an object without alternatives at its top, and always the
// same bytes.
func schema(v any) json.RawMessage {
	data, err := json.Marshal(v)
	var m map[string]any
	if err != nil || json.Unmarshal(data, &m) != nil || m == nil {
		m = map[string]any{}
	}
	for _, key := range []string{"$schema", "$id", "anyOf", "oneOf", "allOf", "not", "enum", "title"} {
		delete(m, key)
	}
	m["type"] = "object"
	if _, ok := m["properties"].(map[string]any); !ok {
		m["properties"] = map[string]any{}
	}
	if out, err := json.Marshal(m); err == nil {
		return out
	}
	return json.RawMessage(`{"type":"object","properties":{}}`)
}
