package gate

import (
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// matchesCall reports whether a deny or ask rule covers the call. In doubt it does.
func matchesCall(r *rule.Rule, c *call) bool {
	if c.via != nil && r.Kind == rule.KindTool && r.Tool != "" && r.NamesTool(c.via) {
		return true // no allow rule about the one tool gives what the other does
	}
	switch r.Kind {
	case rule.KindTool:
		return r.Tool == "" || r.NamesTool(c.facts) || c.isCommand() && (len(r.Paths) > 0 && matchesNamed(r, c) ||
			r.EveryEdit() && redirects(c))
	case rule.KindCommand:
		return c.isCommand() && matchesCommand(r, c)
	case rule.KindName:
		return (c.tool == r.Tool || r.IsLike(c.facts) || c.agent != "" && c.facts.Argument != troupe.SkillArgument &&
			c.facts.Argument != troupe.ReceiverArgument &&
			r.Facts.Argument == troupe.AgentArgument) && (r.NamesOne(c.agent) || c.agent == "")
	case rule.KindPath:
		return matchesPaths(r, c)
	case rule.KindDomain:
		return strings.EqualFold(r.Tool, c.tool) && (c.url == "" || c.host.Unsure || r.Host.Match(c.host)) ||
			c.url != "" && r.Host.Match(c.host)
	default:
		return false
	}
}

// matchesPaths reports whether a path rule, as deny or ask, covers one of the call's paths. A
// rule about reading holds for whatever reads (Edit reads what it changes), one about
// writing for whatever writes.
func matchesPaths(r *rule.Rule, c *call) bool {
	edits := r.Edits()
	own := strings.EqualFold(r.Tool, c.tool) || r.IsLike(c.facts) || edits && rule.EditsFiles(c.facts)
	if own && (c.unclear || len(c.paths) == 0) {
		return true
	}
	for i := range c.paths {
		p := &c.paths[i]
		about := own || edits && p.write || r.Tool == rule.ToolRead && (!p.write || rule.EditsFiles(c.facts) &&
			!c.facts.Overwrites)
		if about && r.Matches(c.at, p.name, true, true) {
			return true
		}
	}
	return c.isCommand() && matchesNamed(r, c)
}

// allowsAll reports whether an allow rule covers the call whatever its paths.
func allowsAll(r *rule.Rule, c *call) bool {
	switch r.Kind {
	case rule.KindTool:
		return r.AllowsTool(c.facts)
	case rule.KindName:
		return (c.tool == r.Tool || r.IsLike(c.facts)) && c.agent != "" && r.NamesOne(c.agent)
	case rule.KindDomain:
		return c.tool == r.Tool && c.url != "" && !c.host.Unsure && !c.host.User && !c.host.Tells &&
			r.Host.Match(c.host)
	default:
		return false
	}
}

// allowsPath reports whether an allow rule covers one path of the call.
func allowsPath(r *rule.Rule, c *call, p *callPath) bool {
	if r.Kind == rule.KindTool {
		return r.AllowsTool(c.facts) && len(p.guards) == 0
	}
	if r.Kind != rule.KindPath || r.Tool != c.tool && !r.IsLike(c.facts) {
		return false
	}
	if p.write {
		return r.Edits() && matchesFile(r, c, p.name, p.guards) // leave to read is not leave to write
	}
	return r.Matches(c.at, p.name, false, false)
}
