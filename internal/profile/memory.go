package profile

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// memoryTools are what a memory is read and written with. An agent whose definition lets it have no more than reading
// has them for its memory alone.
func memoryTools() []string { return []string{"Edit", "Read", "Write"} }

// memory reads how far a memory reaches. In doubt there is none.
func (b *builder) memory(f front.Field, twice bool) {
	before := b.def.Memory
	b.def.Memory = ""
	scope := troupe.MemoryScope(strings.ToLower(b.text(f)))
	switch {
	case scope == "" || scope == "none" || scope == "false":
	case !slices.Contains(troupe.MemoryScopes(), scope):
		b.problem(b.at.problem(f.Line, "there is no memory %q, so these agents have none; there are %v", scope,
			troupe.MemoryScopes()))
	case twice && before != scope:
		b.problem(b.at.problem(f.Line, "it says something else than the line before, so these agents have no memory"))
	default:
		b.def.Memory = scope
	}
}

// forMemory: agents of this type have a tool that their definition does not name, for their memory alone. One that
// has no tools, or plans, or takes the place of one that only reads has none for it either.
func (d Definition) forMemory(tool string) bool {
	return d.Memory != "" && len(d.Tools) > 0 && d.Mode != troupe.ModePlan && !d.Reads &&
		slices.Contains(memoryTools(), tool)
}

// remembering finds the memory of a definition, and notes which tools are for that alone. Without a memory it is a
// definition without one.
func (d Definition) remembering(at Place, p *troupe.Profile) Definition {
	if d.Memory == "" {
		return d
	}
	if at.Memory == nil {
		d.Memory = ""
		return d
	}
	m, err := at.Memory(d)
	if err != nil {
		p.Notes = append(p.Notes, "its definition gives it a memory ("+string(d.Memory)+"), and it has none: "+
			err.Error())
		d.Memory = ""
		return d
	}
	for _, tool := range at.Offer {
		if !d.All && !slices.Contains(d.Tools, tool.Name) && d.forMemory(tool.Name) && d.has(tool) {
			m.Only = append(m.Only, tool.Name)
		}
	}
	m.Only = sorted(m.Only)
	p.Memory = m
	return d
}

// notNamed are the tools of a memory that a birth leaves out: what it narrows is narrowed for the memory too.
func notNamed(words []string, known []troupe.ToolFacts) []string {
	list := readTools(front.Value{Kind: front.List, List: words}, known)
	if list.all {
		return nil
	}
	return slices.DeleteFunc(memoryTools(), func(tool string) bool { return slices.Contains(list.names, tool) })
}
