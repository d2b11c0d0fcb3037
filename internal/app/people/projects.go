package people

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// mostProjects is how many a user may have: all of them are looked at with each call.
const mostProjects = 100

// checkProjects refuses what can be no rights in folders.
func checkProjects(all troupe.Projects) error {
	for _, p := range all {
		switch {
		case !filepath.IsAbs(p.Folder) || filepath.Clean(p.Folder) != p.Folder:
			return wrong(fmt.Sprintf("the project %.200q is no folder by its whole name", p.Folder))
		case p.Right != troupe.RightNone && !slices.Contains(troupe.UserRights(), p.Right):
			return wrong(fmt.Sprintf("there is no right %q in a project; there are viewer, operator and admin, and "+
				"none", p.Right))
		}
	}
	return nil
}

// with are projects after a change, by their folders.
func with(projects, change troupe.Projects) (troupe.Projects, error) {
	out := slices.Clone(projects)
	for _, p := range change {
		out = slices.DeleteFunc(out, func(q troupe.Project) bool { return q.Folder == p.Folder })
		if p.Right != troupe.RightNone {
			out = append(out, p)
		}
	}
	if len(out) > mostProjects {
		return nil, wrong(fmt.Sprintf("a user has %d projects at the most", mostProjects))
	}
	slices.SortFunc(out, func(a, b troupe.Project) int { return strings.Compare(a.Folder, b.Folder) })
	return out, nil
}
