package gate

import (
	"cmp"
	"path"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// wider is the rule that would have allowed the call and its like in the same folder; "" if there is none to
// offer. A file is asked about alone where it is protected, or where its folder holds more than one project
// does: the root of the disk, the home folder and what they lie in.
func wider(c *call) string {
	if c.facts.Argument != troupe.PathArgument || c.unclear || c.protected || c.isCommand() {
		return ""
	}
	folder := ""
	for _, p := range c.paths {
		switch {
		case p.free:
			continue
		case p.write && !rule.EditsFiles(c.facts):
			return "" // no rule can name it
		}
		if folder == "" {
			folder = p.name
			// Edit names its file first as one that it reads. The other tools that read are asked about folders.
			if p.write || rule.EditsFiles(c.facts) || c.tool == rule.ToolRead {
				folder = path.Dir(p.name)
			}
		}
		if _, below := rule.Below(folder, p.name, false); !below {
			return "" // a link that leads elsewhere
		}
	}
	if folder == "" || holdsMore(c, folder) || hasHidden(folder) {
		return ""
	}
	one := strings.TrimSuffix(ruleFor(c, cmp.Or(c.facts.Like, c.tool), folder), ")")
	return strings.TrimSuffix(one, "/") + "/**)"
}

// holdsMore: a folder that is not in the session's own holds all of the home folder, or all of the disk.
func holdsMore(c *call, folder string) bool {
	if c.isInside(folder) {
		return false
	}
	holds := func(name string) bool {
		_, below := rule.Below(folder, path.Clean(name), false)
		return path.IsAbs(name) && below
	}
	return folder == "/" || holds(c.at.Home) || holds(c.at.Project)
}
