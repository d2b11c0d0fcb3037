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
	if len(s.Tools)+len(s.Without) == 0 {
		return d, nil
	}
	own := d
	d.Tools, d.Without, d.Starts = slices.Clone(d.Tools), slices.Clone(d.Without), slices.Clone(own.Starts)
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
