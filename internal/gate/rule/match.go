package rule

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// NamesTool compares without regard to case: a deny rule for "bash" means Bash.
func (r *Rule) NamesTool(tool *troupe.ToolFacts) bool {
	if r.Glob {
		ok, err := path.Match(strings.ToLower(r.Tool), strings.ToLower(tool.Name))
		return ok || err != nil
	}
	return strings.EqualFold(r.Tool, tool.Name) || r.IsLike(tool) || sameServer(strings.ToLower(r.Tool),
		strings.ToLower(tool.Name))
}

// sameServer: the rule names an MCP server, and the tool is one of its.
func sameServer(rule, tool string) bool {
	return strings.HasPrefix(rule, MCPPrefix) && strings.HasPrefix(tool, strings.TrimSuffix(rule, "__")+"__")
}

// NamesOne: the rule is about the type of agent, or the skill, of this name.
func (r *Rule) NamesOne(name string) bool {
	return slices.ContainsFunc(r.Names, func(n string) bool { return strings.EqualFold(n, name) })
}

// Edits: it is a rule about writing files.
func (r *Rule) Edits() bool {
	return EditsFiles(r.Facts)
}

// EveryEdit: as a deny or ask rule it is about all changes of files, by whatever makes them.
func (r *Rule) EveryEdit() bool {
	if r.Kind != KindTool || len(r.Paths) > 0 {
		return false
	}
	if r.Glob {
		return r.NamesTool(&troupe.ToolFacts{Name: ToolEdit}) || r.NamesTool(&troupe.ToolFacts{Name: ToolWrite})
	}
	return r.Tool == "" || r.Tool == ToolEdit || r.Tool == ToolWrite
}

// Covers reports whether one of the rule's paths covers a whole folder.
func (r *Rule) Covers(at Places, folder string) bool {
	return path.IsAbs(folder) && r.Matches(at, path.Clean(folder), true, true)
}

// AllowsTool reports whether an allow rule means every use of a tool.
func (r *Rule) AllowsTool(tool *troupe.ToolFacts) bool {
	if r.Kind != KindTool {
		return false
	}
	if r.Glob {
		ok, err := path.Match(r.Tool, tool.Name)
		return ok && err == nil
	}
	return r.Tool == tool.Name || r.IsLike(tool) || sameServer(r.Tool, tool.Name)
}

// IsLike reports whether the rule holds for a tool because it is like the rule's own.
func (r *Rule) IsLike(tool *troupe.ToolFacts) bool { return tool.Like != "" && r.Tool == tool.Like }

// HidesFiles: a rule that keeps files from being read, so that commands must not read them either.
func (r *Rule) HidesFiles() bool {
	return (r.Kind == KindPath || len(r.Paths) > 0) && r.Tool == ToolRead && r.Written.Effect != troupe.Allow
}

// EndsIn: the rule is about files of this name, wherever they are.
func (r *Rule) EndsIn(name string) bool {
	return slices.ContainsFunc(r.Paths, func(p Pattern) bool {
		n := len(p.Segs)
		return n > 0 && p.Segs[n-1].Kind != Any && strings.Trim(p.Segs[n-1].Text, "*") != "" &&
			p.Segs[n-1].MatchName(path.Base(name), true)
	})
}
