package servers

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// Played are the servers that agents of a recorded run had, as far as the names of their tools tell. None is started
// or reached. tools are those of all its agents, also those that were had by name alone; those types of agent that had
// them so are in byName.
func (r *Registry) Played(cwd string, tools []string, byName map[string]bool) {
	k := &Known{played: map[string]mcp.List{}, byName: byName}
	for _, name := range tools {
		rest, ok := strings.CutPrefix(name, "mcp__")
		server, own, parted := strings.Cut(rest, "__")
		if !ok || !parted {
			continue
		}
		l := k.played[server]
		if own == "*" {
			l.Changes = true
		} else if own == resourcesName {
			l.Resources = true
		} else if !slices.ContainsFunc(l.Tools, func(t mcp.Tool) bool { return t.Name == own }) {
			l.Tools = append(l.Tools, mcp.Tool{Name: own, Schema: []byte(`{"type":"object"}`)})
		}
		k.played[server] = l
	}
	for server := range k.played {
		k.Servers = append(k.Servers, Server{Entry: entry.Entry{Name: server, Type: entry.Stdio}})
	}
	slices.SortFunc(k.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[cwd] = k
}
