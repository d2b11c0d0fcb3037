package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// StepMemory stands before the table: the session has the tool for its memory alone.
const StepMemory troupe.Step = "memory"

// writesMemory: all that the call does is to change files in the memory of the session that calls. Links in their names
// count by where they lead. A command never is that, whatever it names.
//
// It is no answer to a deny or an ask rule, and a mode in which nothing is changed holds for a memory too: the
// session's own, and that of each agent above it.
func writesMemory(c *call) bool {
	return c.memory != nil && !c.isCommand() && c.url == "" && c.class == troupe.ClassEdit && len(c.paths) > 0 &&
		!c.unclear && !slices.ContainsFunc(c.paths, func(p callPath) bool {
		return !c.memory.Holds(p.name) || !isNote(c.memory.Folder, p.name)
	})
}

// isNote reports whether a file of a memory holds notes and nothing that a program or an agent takes for more: it is
// Markdown, in no hidden folder, and no file of instructions.
func isNote(folder, file string) bool {
	rel := strings.ToLower(strings.TrimPrefix(path.Clean(file), folder))
	switch base := path.Base(rel); base {
	case "claude.md", "agents.md", "skill.md":
		return false
	default:
		return strings.HasSuffix(base, ".md") && !strings.HasSuffix(base, ".local.md") && !strings.Contains(rel, "/.")
	}
}

// ownMemory: it lies in a memory that is kept with Troupe's own data, which nothing else that an agent does may read.
func ownMemory(c *call, name string) bool {
	return c.memory != nil && c.memory.Scope == troupe.MemoryLocal && !c.isCommand() && c.memory.Holds(name)
}

// notForMemory says why the last session of the chain may not do this with a tool that it has for its memory alone; ""
// if it may.
func (q *Query) notForMemory() string {
	l := &q.Chain[len(q.Chain)-1]
	if l.Memory == nil || !slices.Contains(l.Memory.Only, q.Tool) {
		return ""
	}
	a := &q.Access
	elsewhere := func(name string) bool { return !path.IsAbs(name) || !l.Memory.Shows(name) }
	if a.Command == "" && a.URL == "" && len(a.Reads)+len(a.Writes) > 0 && !slices.ContainsFunc(a.Reads, elsewhere) &&
		!slices.ContainsFunc(a.Writes, elsewhere) {
		return ""
	}
	return fmt.Sprintf("%s has %s for its memory alone (%s): its definition does not name the tool", nameOf(l.Agent),
		q.Tool, l.Memory.Folder)
}
