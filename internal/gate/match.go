package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// speaksOf reports whether a deny or ask rule covers the call. In doubt it does.
func (r *Rule) speaksOf(c *call) bool {
	switch r.kind {
	case kindTool:
		return r.tool == "" || r.namesTool(c.facts) || len(r.pats) > 0 && c.isCommand() && r.touchesNamed(c)
	case kindCommand:
		return c.isCommand() && r.forbids(c)
	case kindName:
		return (c.tool == r.tool || c.agent != "" && c.facts.Argument != troupe.SkillArgument && r.facts.Argument == troupe.AgentArgument) && (r.namesOne(c.agent) || c.agent == "")
	case kindPath:
		return r.touches(c)
	case kindDomain:
		return strings.EqualFold(r.tool, c.tool) && (c.url == "" || c.host.unsure || r.host.match(c.host)) ||
			c.url != "" && r.host.match(c.host)
	default:
		return false
	}
}

// namesTool compares without regard to case: a deny rule for "bash" means Bash.
func (r *Rule) namesTool(tool *troupe.ToolFacts) bool {
	if r.glob {
		ok, err := path.Match(strings.ToLower(r.tool), strings.ToLower(tool.Name))
		return ok || err != nil
	}
	return strings.EqualFold(r.tool, tool.Name) || r.family(tool) || serverCovers(strings.ToLower(r.tool), strings.ToLower(tool.Name))
}

// serverCovers: the rule names an MCP server, and the tool is one of its.
func serverCovers(rule, tool string) bool {
	return strings.HasPrefix(rule, mcpPrefix) && strings.HasPrefix(tool, strings.TrimSuffix(rule, "__")+"__")
}

func (r *Rule) namesOne(name string) bool {
	return slices.ContainsFunc(r.names, func(n string) bool { return strings.EqualFold(n, name) })
}

// edits: it is a rule about writing files.
func (r *Rule) edits() bool {
	return editsFiles(r.facts)
}

// touches reports whether a path rule, as deny or ask, covers one of the call's paths. A
// rule about reading holds for whatever reads (Edit reads what it changes), one about
// writing for whatever writes.
func (r *Rule) touches(c *call) bool {
	edits := r.edits()
	own := strings.EqualFold(r.tool, c.tool) || r.family(c.facts) || edits && editsFiles(c.facts)
	if own && (c.unclear || len(c.paths) == 0) {
		return true
	}
	for i := range c.paths {
		p := &c.paths[i]
		about := own || edits && p.write || r.tool == toolRead && (!p.write || editsFiles(c.facts) && !c.facts.Overwrites)
		if about && r.matches(c.at, p.name, true, true) {
			return true
		}
	}
	return c.isCommand() && r.touchesNamed(c)
}

// allowsTool reports whether an allow rule means every use of a tool.
func (r *Rule) allowsTool(tool *troupe.ToolFacts) bool {
	if r.kind != kindTool {
		return false
	}
	if r.glob {
		ok, err := path.Match(r.tool, tool.Name)
		return ok && err == nil
	}
	return r.tool == tool.Name || r.family(tool) || serverCovers(r.tool, tool.Name)
}

// allowsAll reports whether an allow rule covers the call whatever its paths.
func (r *Rule) allowsAll(c *call) bool {
	switch r.kind {
	case kindTool:
		return r.allowsTool(c.facts)
	case kindName:
		return c.tool == r.tool && c.agent != "" && r.namesOne(c.agent)
	case kindDomain:
		return c.tool == r.tool && c.url != "" && !c.host.unsure && !c.host.user && !c.host.tells && r.host.match(c.host)
	default:
		return false
	}
}

// allowsPath reports whether an allow rule covers one path of the call.
func (r *Rule) allowsPath(c *call, p *callPath) bool {
	if r.kind == kindTool {
		return r.allowsTool(c.facts) && len(p.guards) == 0
	}
	if r.kind != kindPath || r.tool != c.tool && !r.family(c.facts) {
		return false
	}
	if p.write {
		return r.edits() && r.coversFile(c, p.name, p.guards) // leave to read is not leave to write
	}
	return r.matches(c.at, p.name, false, false)
}

// family reports whether the rule holds for a tool because it is like the rule's own.
func (r *Rule) family(tool *troupe.ToolFacts) bool { return tool.Like != "" && r.tool == tool.Like }
