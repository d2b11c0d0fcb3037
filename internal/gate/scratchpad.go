package gate

import (
	"cmp"
	"path"
	"slices"

	"github.com/troupe-dev/troupe"
)

// writesScratchpad: all that the call does is to change files in the folder that the agents of its tree share. Links
// in their names count by where they lead. A command never is that by its words: the kernel leaves it the folder,
// whatever else it does.
//
// It is no answer to a deny or an ask rule. A mode in which nothing is changed leaves it open: what lies there is for
// other agents to read, and changes nothing that a person has.
func writesScratchpad(c *call) bool {
	return c.pad != "" && !c.isCommand() && c.url == "" && c.class == troupe.ClassEdit && len(c.paths) > 0 &&
		!c.unclear && !slices.ContainsFunc(c.paths, func(p callPath) bool { return !inScratchpad(c, p.name) })
}

// inScratchpad: it lies in the folder, and is not the folder itself.
func inScratchpad(c *call, name string) bool {
	return c.pad != "" && name != c.pad && troupe.Within(name, c.pad)
}

// OfOther says of a path that it is for the agents of another tree, which nothing that an agent does reads or writes,
// and "" if it is not. The scratchpad is that of its own tree; "" if it has none.
func OfOther(scratchpad, name string) (why string) {
	if scratchpad != "" && !troupe.Within(name, scratchpad) && troupe.Within(name, path.Dir(scratchpad)) {
		return "it is for the agents of another session"
	}
	return ""
}

// Closed is a test for paths that no answer opens: what settings close, and what is of other trees.
func Closed(scratchpad string, closed func(name string) (why string)) func(name string) (why string) {
	if scratchpad == "" {
		return closed
	}
	return func(name string) string {
		why := OfOther(scratchpad, name)
		if closed == nil {
			return why
		}
		return cmp.Or(why, closed(name))
	}
}

// notOfOthers is a test for hidden paths, and for those of other trees.
func notOfOthers(scratchpad string, hidden func(name string) (string, bool)) func(name string) (string, bool) {
	if scratchpad == "" {
		return hidden
	}
	return func(name string) (string, bool) {
		if why := OfOther(scratchpad, name); why != "" || hidden == nil {
			return why, why != ""
		}
		return hidden(name)
	}
}
