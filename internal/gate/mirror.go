package gate

import (
	"path"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Named is the path by which rules name a place in a folder that was made for a session: that of the same place in the
// tree which the first of works was made from, each one from what the next was. A repository's own folder is another
// one in each tree, and keeps its path.
func Named(name string, works ...troupe.Workspace) string {
	for _, w := range works {
		if w.Kind.Made() && troupe.Within(name, w.Top) && !troupe.Within(name, path.Join(w.Top, ".git")) {
			name = w.Caller(name)
		}
	}
	return name
}

// Mirror is a line of authority down to a session that works in a folder of its own: what rules say of places in the
// trees that it was made from, one from the other, they say of the same places in the folder too, and the other way
// round.
func Mirror(line []Layer, w troupe.Workspace, home string, of ...string) []Layer {
	if !w.Kind.Made() {
		return line
	}
	at := rule.Places{Project: w.Folder, Home: home}
	mirror := func(rules []rule.Rule) []rule.Rule {
		out := slices.Clip(rules)
		for i := range rules {
			for _, tree := range of {
				if r, ok := rules[i].Mirror(at, tree, w.Top); ok {
					out = append(out, r)
				}
			}
		}
		return out
	}
	line = slices.Clone(line)
	for i := range line {
		line[i].Managed, line[i].Rules = mirror(line[i].Managed), mirror(line[i].Rules)
		line[i].Writes = mirror(line[i].Writes)
	}
	return line
}
