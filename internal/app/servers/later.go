package servers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/tool"
)

// later is what servers offer by now that said, while they ran, that their tools have changed. What agents are offered
// stays as it was at their birth: what came is called by name, what went is an error. It ends with the tree: a server
// that is started again begins anew.
type later struct {
	mu   sync.Mutex
	now  map[served]mcp.List
	told map[troupe.SessionID]map[served]mcp.List // what each session was told last
}

// served is a server as one owner has it.
type served struct {
	owner mcp.Owner
	name  string
}

// changed is told of a server's new list. It does not block.
func (l *later) changed(t mcp.Target, list mcp.List) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil {
		l.now = map[served]mcp.List{}
	}
	l.now[served{t.Owner, t.Entry.Name}] = list
}

// list is what a server offers by now, if it told that this has changed.
func (l *later) list(s Server, id troupe.SessionID) (mcp.List, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, ok := l.now[served{ownerOf(s, id), s.Name}]
	return list, ok
}

// tell notes what a session is told of a server, and returns what it was told before.
func (l *later) tell(s Server, id troupe.SessionID, born, now mcp.List) (before mcp.List) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := served{ownerOf(s, id), s.Name}
	before, ok := l.told[id][key]
	if !ok {
		before = born
	}
	if l.told == nil {
		l.told = map[troupe.SessionID]map[served]mcp.List{}
	}
	if l.told[id] == nil {
		l.told[id] = map[served]mcp.List{}
	}
	l.told[id][key] = now
	return before
}

// forget is told that an agent has ended, and with it the servers that were its own.
func (l *later) forget(id troupe.SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	its := func(of served, _ mcp.List) bool { return of.owner == mcp.Owner(id) }
	maps.DeleteFunc(l.now, its)
	if maps.DeleteFunc(l.told[id], its); len(l.told[id]) == 0 {
		delete(l.told, id)
	}
}

func ownerOf(s Server, id troupe.SessionID) mcp.Owner {
	if s.Scope == ScopeAgent {
		return mcp.Owner(id)
	}
	return ""
}

// News implements session.TreeTools.
func (t *Tree) News(id troupe.SessionID, p troupe.Profile) string {
	k := t.r.Known(t.cwd)
	if k == nil || k.played != nil {
		return ""
	}
	var b strings.Builder
	for _, s := range t.serversOf(k, &p) {
		now, ok := t.later.list(s, id)
		if !ok {
			continue
		}
		born, _ := k.List(s.Entry)
		b.WriteString(newsOf(s.Name, t.later.tell(s, id, born, now), now, func(name string) bool {
			return slices.Contains(p.Tools, name) || slices.Contains(p.Deferred, name) ||
				slices.Contains(p.Deferred, entry.Head(s.Name)+"*")
		}))
	}
	return strings.TrimSpace(b.String())
}

// mostNews is how many tools of a kind one notice names.
const mostNews = 30

// newsOf says what became of the tools of a server that an agent may use; "" if nothing did.
func newsOf(server string, before, now mcp.List, has func(name string) bool) string {
	old, cur := toolsByName(server, before), toolsByName(server, now)
	var added, changed, gone []string
	for _, name := range entry.ToolNames(server, namesOf(now)) {
		was, known := old[name]
		switch is := cur[name]; {
		case !has(name):
		case !known:
			added = append(added, "- "+name+": "+firstLine(is.Description))
		case string(was.Schema) != string(is.Schema):
			changed = append(changed, name)
		}
	}
	for _, name := range entry.ToolNames(server, namesOf(before)) {
		if _, still := cur[name]; !still && has(name) {
			gone = append(gone, name)
		}
	}
	var b strings.Builder
	say := func(head, sep string, list []string) {
		if more := len(list) - mostNews; more > 0 {
			list = append(slices.Clip(list[:mostNews]), fmt.Sprintf("and %d more", more))
		}
		if len(list) > 0 {
			b.WriteString(head + sep + strings.Join(list, sep) + "\n")
		}
	}
	say("New tools of the MCP server "+server+". ToolSearch tells what they take, CallMcpTool calls them:", "\n", added)
	say("These tools of the MCP server "+server+" take another input now, which ToolSearch tells; "+
		"CallMcpTool calls them:", " ", changed)
	say("The MCP server "+server+" has taken these tools back; they can be called no more:", " ", gone)
	return b.String()
}

func toolsByName(server string, l mcp.List) map[string]mcp.Tool {
	out := map[string]mcp.Tool{}
	for i, name := range entry.ToolNames(server, namesOf(l)) {
		out[name] = l.Tools[i]
	}
	return out
}

func firstLine(s string) string {
	const most = 200
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// came are the tools that servers got while they ran, for a session to find.
func (f finder) came(id troupe.SessionID) (out []tool.Descriptor) {
	for _, s := range f.have {
		list, ok := f.tree.later.list(s, id)
		if !ok {
			continue
		}
		for i, name := range entry.ToolNames(s.Name, namesOf(list)) {
			d := tool.Descriptor{ToolFacts: factsOf(name), Description: list.Tools[i].Description,
				Schema: list.Tools[i].Schema}
			out = append(out, d)
		}
	}
	return out
}

// all are the tools that a session can find: those that servers offer by now.
func (f finder) all(id troupe.SessionID) []tool.Descriptor {
	now := f.came(id)
	return append(now, slices.DeleteFunc(slices.Clone(f.tools), func(d tool.Descriptor) bool {
		return slices.ContainsFunc(now, func(n tool.Descriptor) bool { return n.Name == d.Name }) ||
			slices.ContainsFunc(f.have, func(s Server) bool {
				_, told := f.tree.later.list(s, id)
				return told && strings.HasPrefix(d.Name, entry.Head(s.Name))
			})
	})...)
}

// lateRunner is a tool that a server did not have when the session began. Whether it has it is asked of the server
// when it is called: after a restart nothing else knows.
func (f finder) lateRunner(name string) (lateRunner, bool) {
	for _, s := range f.have {
		if strings.HasPrefix(name, entry.Head(s.Name)) && f.changes[s.Name] {
			return lateRunner{runner{tree: f.tree, server: s, name: name}}, true
		}
	}
	return lateRunner{}, false
}

type lateRunner struct{ runner }

// Prepare implements tool.Runner.
func (r lateRunner) Prepare(env tool.Env, input string) (tool.Prepared, error) {
	p, err := r.runner.Prepare(env, input)
	if err != nil {
		return nil, err
	}
	c, _ := p.(call)
	c.tool = c.name
	return lateCall{c}, nil
}

type lateCall struct{ call }

// Run implements tool.Prepared.
func (c lateCall) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	list, failed := c.tree.offered(ctx, c.server, env)
	if failed != "" {
		return tool.Errorf("%s", failed), nil
	}
	names := entry.ToolNames(c.server.Name, namesOf(list))
	i := slices.Index(names, c.name)
	if i < 0 {
		text := fmt.Sprintf("The MCP server %s offers no tool %s now; nothing was called.", c.server.Name, c.name)
		if near := tool.Nearest(c.name, names); near != "" {
			text += " Did you mean " + near + "?"
		}
		return tool.Errorf("%s", text), nil
	}
	c.tool = list.Tools[i].Name
	return c.call.Run(ctx, env)
}

// offered asks a server what it offers now.
func (t *Tree) offered(ctx context.Context, s Server, env tool.Env) (list mcp.List, failed string) {
	pool, target, failed := t.reach(s, env)
	if failed != "" {
		return list, failed
	}
	list, err := pool.List(ctx, target)
	if err != nil {
		return list, fmt.Sprintf("MCP server %s: %v.", s.Name, err)
	}
	return list, ""
}

// tookBack reports whether a server has taken a tool back. What it said before is not believed alone: it may have been
// started again since.
func (c call) tookBack(ctx context.Context, env tool.Env) bool {
	gone := func(l mcp.List) bool {
		return !slices.ContainsFunc(l.Tools, func(t mcp.Tool) bool { return t.Name == c.tool })
	}
	if list, told := c.tree.later.list(c.server, env.Session); !told || !gone(list) {
		return false
	}
	list, failed := c.tree.offered(ctx, c.server, env)
	return failed == "" && gone(list)
}
