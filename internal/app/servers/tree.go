package servers

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/tool"
)

// Tree is the servers of one hosted tree: which agents have which of them, and the connections, which all agents of
// the tree share. Servers that an agent's definition brings belong to each such agent alone, and are ended with it.
type Tree struct {
	r      *Registry
	cwd    string
	static tool.Set
	wrap   func([]tool.Descriptor) []tool.Descriptor // what a replay does to tools; nil: nothing
	refs   func(kind string) Refs

	mu   sync.Mutex
	pool *mcp.Servers // made by the first call
	sets map[string]tool.Set
	over bool

	later later
}

// Refs are the servers of a type of agents.
type Refs struct {
	// Named are those that its definition names; nil: it names none, and has all. Source is its file.
	Named  []entry.Ref
	Source string
	// Former are those that it brought in itself when agents of it were born, and does not any more.
	Former []Server
}

// Open makes the servers of a tree. refs are those of a type of agents.
func (r *Registry) Open(cwd string, static tool.Set, refs func(kind string) Refs,
	wrap func([]tool.Descriptor) []tool.Descriptor) *Tree {
	return &Tree{r: r, cwd: cwd, static: static, refs: refs, wrap: wrap, sets: map[string]tool.Set{}}
}

// Tools implements session.TreeTools.
func (t *Tree) Tools(p *troupe.Profile) tool.Set {
	k := t.r.Known(t.cwd)
	if k == nil {
		return t.static
	}
	have := t.serversOf(k, p)
	key := p.Type
	for i := range have {
		key += "\n" + have[i].Name
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	set, ok := t.sets[key]
	if !ok {
		more := t.descriptors(k, have)
		if t.wrap != nil {
			more = t.wrap(more)
		}
		set = t.static.With(more...)
		t.sets[key] = set
	}
	return set
}

// serversOf are the servers of an agent with this profile: those that its type has, and of the others that hold in
// the folder, or that its type brought in once, those whose tools it was born with.
func (t *Tree) serversOf(k *Known, p *troupe.Profile) []Server {
	refs := t.refs(p.Type)
	have, _ := k.Of(refs.Named, refs.Source) // what is missing was said at the birth
	var others []Server
	if refs.Named != nil {
		others, _ = k.Of(nil, "")
	}
	for _, s := range refs.Former {
		more, _ := k.Of([]entry.Ref{{Name: s.Name, Inline: &s.Entry}}, s.Source)
		others = append(others, more...)
	}
	for _, s := range others {
		head := entry.Head(s.Name)
		born := func(name string) bool { return strings.HasPrefix(name, head) }
		if (slices.ContainsFunc(p.Tools, born) || slices.ContainsFunc(p.Deferred, born)) &&
			!slices.ContainsFunc(have, func(h Server) bool { return entry.Head(h.Name) == head }) {
			have = append(have, s)
		}
	}
	return have
}

// Ended implements session.TreeTools.
func (t *Tree) Ended(id troupe.SessionID) {
	t.later.forget(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pool != nil {
		t.pool.End(mcp.Owner(id))
	}
}

// Close implements session.TreeTools.
func (t *Tree) Close() {
	t.mu.Lock()
	t.over = true
	pool := t.pool
	t.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
	t.r.mu.Lock()
	delete(t.r.trees, t)
	t.r.mu.Unlock()
}

// servers are the connections. They are nil once the tree is left.
func (t *Tree) servers() *mcp.Servers {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	if t.pool == nil {
		t.pool = t.r.pool(t.r.ctx, t.later.changed)
		t.r.mu.Lock()
		t.r.trees[t] = true
		t.r.mu.Unlock()
	}
	return t.pool
}

// States says how the connections of the tree are.
func (t *Tree) States() []mcp.State {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pool == nil {
		return nil
	}
	return t.pool.States()
}

// Of are the servers that an agent has: those that its definition names, all that hold in the folder if it names
// none. missing says which of those that it names are not to be had, and why.
func (k *Known) Of(refs []entry.Ref, source string) (have []Server, missing []string) {
	if refs == nil {
		return slices.DeleteFunc(slices.Clone(k.Servers), func(s Server) bool { return s.Why != "" }), nil
	}
	for _, ref := range refs {
		s := Server{Scope: ScopeAgent, Source: source}
		if ref.Inline != nil {
			s.Entry, s.Why = *ref.Inline, cmp.Or(ref.Bad, k.keepsOut(*ref.Inline))
		} else {
			i := slices.IndexFunc(k.Servers, func(s Server) bool {
				return s.Why == "" &&
					entry.Alike(s.Name, ref.Name)
			})
			if i < 0 {
				i = slices.IndexFunc(k.Servers, func(s Server) bool { return entry.Alike(s.Name, ref.Name) })
			}
			if i < 0 && k.played != nil {
				continue
			}
			if i < 0 {
				missing = append(missing, ref.Name+" (no server of this name is configured here)")
				continue
			}
			s = k.Servers[i]
		}
		if _, why := k.List(s.Entry); s.Why != "" || why != "" {
			missing = append(missing, s.Name+" ("+cmp.Or(s.Why, why)+")")
			continue
		}
		have = append(have, s)
	}
	return have, missing
}

// Facts are what is known of the tools of servers, for a profile to choose from.
func (k *Known) Facts(have []Server) (out []troupe.ToolFacts) {
	for _, s := range have {
		l, _ := k.List(s.Entry)
		for _, name := range entry.ToolNames(s.Name, namesOf(l)) {
			out = append(out, factsOf(name))
		}
		if l.Changes {
			out = append(out, factsOf(entry.Head(s.Name)+"*"))
		}
		if l.Resources && !slices.ContainsFunc(out, func(f troupe.ToolFacts) bool { return f.Name == readResource }) {
			out = append(out, factsOf(listResources), factsOf(readResource))
		}
	}
	return out
}

func namesOf(l mcp.List) []string {
	names := make([]string, len(l.Tools))
	for i, t := range l.Tools {
		names[i] = t.Name
	}
	return names
}

// factsOf is what the gate knows of each tool of a server: that it may do anything, whatever the server says.
func factsOf(name string) troupe.ToolFacts {
	return troupe.ToolFacts{Name: name, Class: troupe.ClassExec, Schedule: troupe.Alone}
}

// descriptors are the tools of servers.
func (t *Tree) descriptors(k *Known, have []Server) (out []tool.Descriptor) {
	for _, s := range have {
		l, _ := k.List(s.Entry)
		for i, name := range entry.ToolNames(s.Name, namesOf(l)) {
			d := tool.Descriptor{ToolFacts: factsOf(name), Description: l.Tools[i].Description,
				Schema: l.Tools[i].Schema}
			out = append(out, d.With(runner{tree: t, server: s, tool: l.Tools[i].Name, name: name}))
		}
	}
	return append(out, t.ownTools(k, have, out)...)
}
