package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

// Prompt asks a server for the text of one of its prompts: its own words, those that it has for a model among them.
func (s *Servers) Prompt(ctx context.Context, t Target, name string, args map[string]string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, bound(t.Entry.Timeout, usualStart))
	defer cancel()
	c, err := s.connect(ctx, t)
	if err != nil {
		return "", err
	}
	r, err := c.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", c.failure(ctx, err, "the prompt")
	}
	var parts []string
	for _, m := range r.Messages {
		p := pieceOf(m.Content)
		if p.Media != "" {
			p.Text = "(" + p.Media + ", which is left out)"
		}
		if m.Role == "assistant" {
			p.Text = "(as an answer:) " + p.Text
		}
		parts = append(parts, p.Text)
	}
	return troupe.Escape(strings.Join(parts, "\n\n")), nil
}
