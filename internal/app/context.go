package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Context is what the next model call of a session sends, by where it comes from.
func (a sessions) Context(ctx context.Context, id troupe.SessionID) (wire.Context, error) {
	s, err := a.Find(ctx, string(id), "")
	if err != nil {
		return wire.Context{}, err
	}
	events, err := a.app.trees.events(ctx, s.ID, 0, 0)
	if err != nil {
		return wire.Context{}, err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return wire.Context{}, fmt.Errorf("read session %s: %w", s.ID, err)
	}
	parts := []troupe.ContextPart{{Kind: troupe.ContextSystem, Count: 1, Bytes: int64(len(st.Profile.Prompt))}}
	offered, err := a.offered(ctx, st.Session.Root, st.Profile)
	if err != nil {
		return wire.Context{}, err
	}
	inherited, err := a.inherited(ctx, st.Fork, events)
	if err != nil {
		return wire.Context{}, err
	}
	out := wire.Context{Session: s, Window: a.app.models.Window(st.Session.Model), Tokens: st.Context(),
		Parts: slices.Concat(parts, offered, inherited, turn.Contents(events))}
	for _, p := range out.Parts {
		out.Bytes += p.Bytes
	}
	if st.Session.Tally.Turns == 0 { // no provider has counted yet
		out.Tokens = out.Bytes / estimated
	}
	for i := range out.Parts {
		if p := &out.Parts[i]; out.Bytes > 0 {
			p.Tokens = int64(float64(out.Tokens) * float64(p.Bytes) / float64(out.Bytes))
		}
	}
	return out, nil
}

// inherited is what a fork's calls send of its parent's conversation; a summary has taken that away.
func (a sessions) inherited(ctx context.Context, at *troupe.Fork, own []troupe.Event) ([]troupe.ContextPart, error) {
	if at == nil ||
		slices.ContainsFunc(own, func(e troupe.Event) bool { return e.Body.Kind() == troupe.KindCompacted }) {
		return nil, nil
	}
	events, err := a.app.trees.events(ctx, at.Session, 0, int(at.Seq))
	if err != nil {
		return nil, err
	}
	all := troupe.ContextPart{Kind: troupe.ContextParent}
	for _, p := range turn.Contents(events) {
		all.Count, all.Bytes = all.Count+p.Count, all.Bytes+p.Bytes
	}
	return []troupe.ContextPart{all}, nil
}

// estimated bytes are a token, where no provider has counted.
const estimated = 4

// offered are the tools that a session is told of, those of each MCP server together.
func (a sessions) offered(ctx context.Context, root troupe.SessionID, p troupe.Profile) ([]troupe.ContextPart, error) {
	var tools []troupe.Tool
	err := a.app.trees.store.View(ctx, func(r store.Reader) error {
		body, err := r.Document(root, p.Offer)
		if errors.Is(err, troupe.ErrNotFound) { // an old log names none, and one can be lost with a damaged database
			return nil
		}
		if err == nil {
			err = json.Unmarshal(body, &tools)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tools that session %s is offered: %w", root, err)
	}
	var out []troupe.ContextPart
	for _, t := range tools {
		rest, of := strings.CutPrefix(t.Name, rule.MCPPrefix)
		server, _, _ := strings.Cut(rest, "__")
		if !of {
			server = ""
		}
		i := slices.IndexFunc(out, func(p troupe.ContextPart) bool { return p.Name == server })
		if i < 0 {
			i, out = len(out), append(out, troupe.ContextPart{Kind: troupe.ContextTools, Name: server})
		}
		out[i].Count++
		out[i].Bytes += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return out, nil
}

// spared is what agents that are not told instructions have saved by that; nil if there are none.
func (a sessions) spared(ctx context.Context, root []troupe.Event, agents []wire.Session) (*wire.Spared, error) {
	var told int64
	for _, p := range turn.Contents(root) {
		if p.Kind == troupe.ContextInstructions {
			told += p.Bytes
		}
	}
	out := wire.Spared{}
	for _, s := range agents {
		if told == 0 || s.Depth == 0 {
			continue
		}
		first, err := a.app.trees.events(ctx, s.ID, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(first) == 0 {
			continue // its log was lost
		}
		if b, ok := first[0].Body.(troupe.Created); ok && b.Profile.OmitInstructions && s.Turns > 0 {
			out.Agents++
			out.Calls += s.Turns
			out.Tokens += told / estimated * int64(s.Turns)
		}
	}
	if out.Agents == 0 {
		return nil, nil
	}
	return &out, nil
}
