package gate

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// kept is something that a command must not read without somebody's leave.
type kept struct {
	segs []rule.Segment // from the root of the file system; what is below it is meant too
	show string
}

// mayReadHidden reports whether a command that only reads may read a file that a rule keeps
// from being read, or that is hidden without one, and does not name it so that the rule
// itself could say so. It is asked only where no kernel hides files.
func (v *view) mayReadHidden(said *command.Verdict) bool {
	all := v.kept()
	if len(all) == 0 || len(said.Reads) == 0 && !said.Here && !said.Open {
		return false
	}
	open, names, below := v.call.reads(said)
	for i := range all {
		k := &all[i]
		if open || slices.ContainsFunc(names, func(name string) bool { return rule.MayOverlap(k.segs, split(name)) }) ||
			slices.ContainsFunc(below, k.reaches) {
			v.call.shell.mayRead = k.show
			return true
		}
	}
	return false
}

// kept is what is hidden for this layer.
func (v *view) kept() []kept {
	var all []kept
	if len(v.call.levels) == 0 && v.call.exist != nil {
		for _, name := range v.call.exist() {
			all = append(all, kept{segs: rule.LiteralSegments(name),
				show: rule.Visible(name) + ", which is kept from agents"})
		}
	}
	for _, h := range v.call.shell.readRules {
		if !h.holds(v.layer) {
			continue
		}
		for i := range h.rule.Paths {
			p := &h.rule.Paths[i]
			segs := []rule.Segment{{Kind: rule.Any}}
			if base, known := p.Base(v.call.at); known {
				segs = rule.LiteralSegments(base)
			}
			all = append(all, kept{segs: append(segs, p.Segs...), show: "what the rule " + h.rule.Written.Text +
				" is about"})
		}
	}
	return all
}

// reads are the patterns of what the command names, and those below which it reads. open: it
// may read anything, since names come from elsewhere or from a folder that is not known.
func (c *call) reads(said *command.Verdict) (open bool, names, below []string) {
	in, v := c.where(), c.vars()
	open = said.Open || in.anywhere
	for _, s := range said.Reads {
		if s.Name {
			continue
		}
		for _, t := range v.Expand(s.Word) {
			if open = open || t.Cut; s.Below {
				below = append(below, in.paths(t)...)
			} else {
				names = append(names, in.paths(t)...)
			}
		}
	}
	if said.Here {
		below = append(below, in.paths(command.Text{Text: "."})...)
	}
	return open, names, below
}

func split(p string) []string {
	if p = strings.Trim(p, "/"); p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// reaches: a folder, or a pattern of folders, is above it, or is it, or lies in it.
func (k *kept) reaches(folder string) bool {
	root := split(folder)
	for i, name := range root {
		switch {
		case i >= len(k.segs) || k.segs[i].Kind == rule.Any:
			return true // in doubt
		case !rule.NameMeets(k.segs[i], name):
			return false
		}
	}
	return true
}
