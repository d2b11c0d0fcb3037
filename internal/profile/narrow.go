package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// narrowed is the type as a birth wants it: with fewer tools, or with words of its own where the type has none that
// others rely on. The tools of both count; none comes by the birth that the type does not have.
func (d Definition) narrowed(at Place, s troupe.Spawn) (Definition, error) {
	if s.Role != "" {
		if !strings.EqualFold(d.Name, troupe.GeneralAgent) {
			return d, fmt.Errorf("agents of type %s have a prompt of their own; leave out subagent_type, or "+
				"system_prompt",
				d.Name)
		}
		d.Prompt = s.Role
	}
	if len(s.Tools)+len(s.Without)+len(s.Subagent.Capabilities) == 0 {
		return d, nil
	}
	own := d
	d.Tools, d.Without, d.Starts = slices.Clone(d.Tools), slices.Clone(d.Without), slices.Clone(own.Starts)
	incapable, err := beyond(s.Subagent.Capabilities, at.Offer)
	if err != nil {
		return d, err
	}
	d.Without = append(d.Without, incapable...)
	b := builder{loader: &loader{tools: at.Offer}, at: origin{path: "this call"}, def: &d}
	if len(s.Tools) > 0 {
		b.toolsLine(front.Field{Key: "tools", Value: front.Value{Kind: front.List, List: s.Tools}}, true)
		d.Without = append(d.Without, notNamed(s.Tools, at.Offer)...)
	}
	if len(s.Without) > 0 {
		list := readWithout(front.Value{Kind: front.List, List: s.Without}, at.Offer)
		d.Without = append(d.Without, list.names...)
		b.toolProblems(front.Field{Key: "disallowed_tools"}, list)
		if list.all {
			return d, errors.New("disallowed_tools takes every tool away")
		}
	}
	for _, p := range b.problems {
		if !p.Note {
			return d, errors.New(p.Text)
		}
	}
	// A list may name what a star does not stand for.
	for _, tool := range at.Offer {
		if !own.has(tool) {
			d.Without = append(d.Without, tool.Name)
		}
	}
	return d, nil
}

// beyond are the tools that belong to none of some capabilities, each of which is a class of tools with those below it,
// or an MCP server; nil: there is no such bound.
func beyond(capabilities []string, offer []troupe.ToolFacts) (out []string, err error) {
	if capabilities == nil {
		return nil, nil
	}
	most, servers := troupe.Class(-1), []string{}
	for _, word := range capabilities {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "read", "read_only":
			most = max(most, troupe.ClassRead)
		case "edit":
			most = max(most, troupe.ClassEdit)
		case "exec", "full":
			most = max(most, troupe.ClassExec)
		default:
			server := strings.TrimPrefix(strings.TrimSpace(word), serverPrefix)
			if !slices.ContainsFunc(offer, func(t troupe.ToolFacts) bool { return ofServer(t, server) }) {
				return nil, fmt.Errorf("there is no capability %q; there are read, edit, exec and the names of MCP "+
					"servers", word)
			}
			servers = append(servers, server)
		}
	}
	for _, t := range offer {
		of := func(server string) bool { return ofServer(t, server) }
		if server := strings.HasPrefix(t.Name, serverPrefix); (!server && t.Class > most || server && most <
			troupe.ClassExec) && !slices.ContainsFunc(servers, of) {
			out = append(out, t.Name)
		}
	}
	return out, nil
}

// ofServer reports whether a tool is one of an MCP server.
func ofServer(t troupe.ToolFacts, server string) bool {
	return server != "" && strings.HasPrefix(t.Name, serverPrefix+server+"__")
}
