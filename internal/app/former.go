package app

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/profile"
)

// formerServer is an MCP server that the definition of a type brought in itself once, and does not any more: agents
// that were born then have it for life.
type formerServer struct {
	Kind   string        `json:"kind"`
	Source string        `json:"source"`
	Scope  profile.Scope `json:"scope,omitempty"`
	Server entry.Entry   `json:"server"`
}

// broughtIn are the servers that definitions of these bring in themselves.
func broughtIn(types profile.Set) (out []formerServer) {
	for _, d := range append(types.List(), types.Main()) {
		for _, r := range d.Servers.Named() {
			if r.Inline != nil && r.Bad == "" {
				out = append(out, formerServer{Kind: d.Name, Source: d.Source, Scope: d.Scope, Server: *r.Inline})
			}
		}
	}
	return out
}

// remember takes over what earlier runs of the tree have defined and this one does not: types that its agents were told
// of, and tools of servers and of the client that agents were born with. What a project brought counts only while that
// is trusted, and what runs a file of the folder not at all: nothing has protected that since no definition names it.
func (p *profiles) remember(before definitions, trusted bool) {
	why := func(f formerServer) string {
		if f.Scope == profile.ScopeProject && !trusted {
			return "its definition has changed, and the folder is not trusted"
		}
		if files := f.inline().Scripts(p.Cwd); len(files) > 0 {
			return "its definition has changed, and does not protect " + files[0] + " any more, which it runs"
		}
		return ""
	}
	p.Types = p.Types.Or(before.Types.Refusing(func(d profile.Definition, server entry.Entry) string {
		return why(formerServer{Source: d.Source, Scope: d.Scope, Server: server})
	}))
	p.Clients = before.Clients
	now := broughtIn(p.Types)
	for _, f := range append(broughtIn(before.Types), before.Former...) { // the newest first
		same := func(o formerServer) bool {
			return strings.EqualFold(o.Kind, f.Kind) && entry.Alike(o.Server.Name, f.Server.Name)
		}
		if why(f) == "" && !slices.ContainsFunc(now, same) && !slices.ContainsFunc(p.Former, same) {
			p.Former = append(p.Former, f)
		}
	}
}

// refs are the servers of agents of a type, by its definition as it is now and as it was.
func (p *profiles) refs(kind string) (out servers.Refs) {
	d := p.definition(kind)
	out.Named, out.Source = d.Servers.Named(), d.Source
	for _, f := range p.Former {
		if strings.EqualFold(f.Kind, kind) {
			out.Former = append(out.Former, f.inline())
		}
	}
	return out
}

func (f formerServer) inline() servers.Server {
	return servers.Server{Entry: f.Server, Scope: servers.ScopeAgent, Source: f.Source}
}
