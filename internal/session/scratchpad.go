package session

import (
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
)

// withScratchpad has the folder that the agents of the tree share be there for a call that could write it, and tells a
// command of it. Where it cannot be made a command runs without, and a tool that writes there says so itself.
func (c *candidate) withScratchpad(j *judged) (pad string) {
	writes := slices.ContainsFunc(j.access.Writes, func(path string) bool { return troupe.Within(path, c.pad) })
	if c.pad == "" || c.h.d.Replay != nil || j.access.Command == "" && !writes {
		return ""
	}
	if err := c.h.d.Scratchpads.Make(c.self.Root); err != nil {
		c.h.d.Log.Warn("make the scratchpad", "session", c.self.Root, "err", err)
		return ""
	}
	if j.access.Command != "" {
		j.env.Environ = append(slices.Clip(j.env.Environ), troupe.ScratchpadVariable+"="+c.pad)
	}
	return c.pad
}

// withoutOthers leaves the scratchpads of other trees out of what tools find that walk folders, beside what in leaves
// out.
func (c *candidate) withoutOthers(in func(folder string) func(name string) bool) func(string) func(string) bool {
	if c.pad == "" {
		return in
	}
	return func(folder string) func(string) bool {
		var more func(name string) bool
		if in != nil {
			more = in(folder)
		}
		if folder != filepath.Dir(c.pad) {
			return more
		}
		return func(name string) bool { return name != filepath.Base(c.pad) || more != nil && more(name) }
	}
}

// padTold is the scratchpad of the tree, for those that are told of it: a coordinator and all agents below a main
// agent. A fork knows what the agent knows that it is a fork of.
func padTold(h *Hub, root troupe.SessionID, depth int, p *troupe.Profile) string {
	if p.Fork {
		depth--
	}
	if depth <= 0 && !p.Coordinates {
		return ""
	}
	return scratchpadOf(h, root)
}
