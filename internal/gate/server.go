package gate

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// isServer: it goes to an MCP server, whatever that then does.
func isServer(tool string) bool { return strings.HasPrefix(tool, rule.MCPPrefix) }

// offers reports whether the session was born with a tool, or with all that one MCP server has, or comes to have.
func (l *Layer) offers(tool string) bool {
	return slices.ContainsFunc(l.Offered, func(name string) bool {
		server, all := strings.CutSuffix(name, "*")
		return name == tool || all && isServer(name) && strings.HasPrefix(tool, server)
	})
}

// outside: the call has a server, or a client of the API, do something that this line's own commands could not. Both
// stand outside the sandbox of an agent that only reads, so no mode gives their tools to that one: a rule that names
// them can.
func (v *view) outside() bool {
	elsewhere := isServer(v.call.tool) || v.call.client && v.call.class > troupe.ClassRead
	return elsewhere && v.bound == troupe.LevelReadOnly
}
