package worktree

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// conflicts are those that git found, one for each file.
func (m *merging) conflicts(o *outcome) []Conflict {
	var all []Conflict
	for _, name := range o.names() {
		c := m.conflict(o, name)
		for _, end := range o.aside {
			c.Path = strings.TrimSuffix(c.Path, end)
		}
		if !slices.ContainsFunc(all, func(other Conflict) bool { return other.Path == c.Path }) {
			all = append(all, c)
		}
	}
	return all
}

// conflict words what git could not merge.
func (m *merging) conflict(o *outcome, name string) Conflict {
	c := Conflict{Path: filepath.Join(m.in.Folder, name)}
	c.Ours, c.Theirs = m.names(c.Path)
	c.Over = m.came[c.Path].anywhere
	for _, p := range o.pieces[name] {
		if p.hunk != nil {
			c.Hunks = append(c.Hunks, *p.hunk)
		}
	}
	stages, staged := o.stages[name]
	for _, end := range o.aside { // under which git has the other side of a link beside a file
		other := o.stages[name+end]
		if plain, is := strings.CutSuffix(name, end); is {
			other = o.stages[plain]
		}
		for i := range stages {
			stages[i] = cmp.Or(stages[i], other[i])
		}
	}
	base, ours, theirs := stages[0], stages[1], stages[2]
	switch {
	case len(c.Hunks) == 1:
		c.Why = "both sides changed it in one place"
	case len(c.Hunks) > 1:
		c.Why = "both sides changed it in several places"
	case !staged:
		c.Why = "it belongs to another file that conflicts"
	case ours.mode == modeRepo || theirs.mode == modeRepo:
		c.Why = "one side has another repository there"
	case base.id != "" && ours.id == "" && theirs.id != "":
		c.Why = "deleted here, changed by " + m.p.ws.Name
	case base.id != "" && theirs.id == "" && ours.id != "":
		c.Why = "changed here, deleted by " + m.p.ws.Name
	case ours.id == "" || theirs.id == "":
		c.Why = "one side moved it, or has a folder in its place"
	case ours.mode != theirs.mode && (ours.mode == modeLink || theirs.mode == modeLink):
		c.Why = "a link on one side, a file on the other"
	case ours.mode == modeLink:
		c.Why = "both sides changed where the link leads"
	case slices.Contains(o.notes[name], "CONFLICT (binary)"):
		c.Why = "both sides changed it, and it is not text"
	default:
		c.Why = "both sides changed it"
	}
	return c
}
