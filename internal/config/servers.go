package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// MCP is what one file of settings says of MCP servers.
type MCP struct {
	// Servers is the object of servers by their names, as it is written; nil if there is none.
	Servers json.RawMessage
	// Disabled are servers of .mcp.json that are not used, and Denied servers of any origin. Allowed are the only
	// ones that are; nil: all. Only a managed file's Allowed counts.
	Disabled, Denied, Allowed []string
}

// ServerSource is a file of settings that brings MCP servers.
type ServerSource struct {
	Source
	Servers json.RawMessage
}

// Servers are the MCP servers that settings bring, the weakest file first. Without trust a project brings none.
func (a All) Servers(trusted bool) []ServerSource {
	var out []ServerSource
	for i := range a.layers {
		if l := &a.layers[i]; l.counts(trusted) && l.settings.MCP.Servers != nil {
			out = append(out, ServerSource{l.Source, l.settings.MCP.Servers})
		}
	}
	return out
}

// ServerLimits says which MCP servers are not to be used. What forbids counts whoever wrote it.
type ServerLimits struct {
	disabled, denied map[string]string // by name: the file
	allowed          []string
	only             string // the file that Allowed stands in; "" for none
}

// ServerLimits collects them.
func (a All) ServerLimits() ServerLimits {
	out := ServerLimits{disabled: map[string]string{}, denied: map[string]string{}}
	for i := range a.layers {
		l := &a.layers[i]
		for _, name := range l.settings.MCP.Disabled {
			out.disabled[folded(name)] = l.Path
		}
		for _, name := range l.settings.MCP.Denied {
			out.denied[folded(name)] = l.Path
		}
		if l.Scope == ScopeManaged && l.settings.MCP.Allowed != nil {
			if out.only != "" { // two administrators: what both allow
				out.allowed = slices.DeleteFunc(out.allowed, func(name string) bool {
					return !slices.Contains(l.settings.MCP.Allowed, name)
				})
				continue
			}
			out.allowed, out.only = slices.Clone(l.settings.MCP.Allowed), l.Path
		}
	}
	return out
}

// Forbids names the setting that keeps a server from being used, and its file; "" if none does. shared: it stands in
// a project's .mcp.json.
func (l ServerLimits) Forbids(name string, shared bool) (setting, file string) {
	if file, ok := l.denied[folded(name)]; ok {
		return "deniedMcpServers", file
	}
	if file, ok := l.disabled[folded(name)]; ok && shared {
		return "disabledMcpjsonServers", file
	}
	if l.only != "" && !slices.Contains(l.allowed, name) {
		return "allowedMcpServers", l.only
	}
	return "", ""
}

// folded is a name as what forbids compares it: without regard to case. What allows compares it as it is written.
func folded(name string) string {
	return strings.ToLower(name)
}

func (p *parser) servers(n node, to *MCP) {
	if !p.want(n, kindObject, "an object of servers by their names") {
		return
	}
	if err := json.NewDecoder(bytes.NewReader(p.data[n.at:])).Decode(&to.Servers); err != nil {
		p.fail(n.at, "this is not JSON: "+err.Error())
	}
}

// serverNames reads a list of servers: names, or objects with a serverName.
func (p *parser) serverNames(n node, to *[]string) {
	if !p.want(n, kindArray, "a list of servers") {
		return
	}
	for _, item := range n.items {
		name := ""
		if item.kind == kindString {
			name = item.text
		}
		for _, m := range item.members {
			if m.key == "serverName" && m.value.kind == kindString {
				name = m.value.text
			}
		}
		if name == "" {
			p.warn(item.at, p.key, quote(p.key)+" has something that names no server, which is left out; only "+
				`{"serverName": "…"} is understood here`)
			continue
		}
		*to = append(*to, name)
	}
}
