package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// guard is a protected place, taken apart.
type guard struct {
	segs []rule.Segment // from the root of the file system
	// own are the names by which a rule has to call it: what lies behind the session's
	// folders or the home in it, without the plain folders at its beginning.
	own []rule.Segment
}

// guards are all protected places of a query.
type guards struct {
	places    []guard
	partOfGit func(path string) string // see Query
}

// guardsOf reads the protected places of a query. One that cannot be read protects all: it
// comes from the program itself, and is a mistake there.
func guardsOf(q *Query) guards {
	out := make([]guard, 0, len(q.Protected))
	for _, text := range q.Protected {
		p, problem := rule.ParsePattern("/" + text)
		if problem != "" || !path.IsAbs(text) {
			p = rule.Pattern{Segs: []rule.Segment{{Kind: rule.Any}}}
		}
		out = append(out, guard{segs: p.Segs, own: ownNames(p.Segs, append(slices.Clip(q.Roots), q.Home))})
	}
	return guards{out, q.PartOfGit}
}

func ownNames(segs []rule.Segment, roots []string) []rule.Segment {
	skip := 0
	for _, root := range roots {
		if root == "" {
			continue
		}
		lits := rule.LiteralSegments(root)
		if len(lits) >= len(segs) || len(lits) <= skip {
			continue
		}
		if slices.Equal(lits, segs[:len(lits)]) {
			skip = len(lits)
		}
	}
	var own []rule.Segment
	for _, s := range segs[skip:] {
		if s.Kind != rule.Any {
			own = append(own, s)
		}
	}
	if i := slices.IndexFunc(own, func(s rule.Segment) bool { return strings.HasPrefix(s.Text, ".") }); i > 0 {
		return own[i:]
	} else if i < 0 && len(own) > 1 {
		return own[len(own)-1:]
	}
	return own
}

// guarded are the protected places that a file is, or lies in.
func (c *call) guarded(name string) []*guard {
	var out []*guard
	rest := strings.TrimPrefix(name, "/")
	for i := range c.guards.places {
		if g := &c.guards.places[i]; rule.MatchSegments(g.segs, rest, true) {
			out = append(out, g)
		}
	}
	if c.guards.partOfGit != nil {
		if part := c.guards.partOfGit(name); part != "" {
			out = append(out, &guard{own: rule.LiteralSegments(path.Base(part))})
		}
	}
	return out
}

// maxSettingPaths are named by WriteSetting.
const maxSettingPaths = 3

// WriteSetting is the setting that lets commands change what one attempted to change outside of its folder, "" if none
// does: no setting opens what is protected, and commands have a place for temporary files.
func WriteSetting(q *Query, cwd string, wants []troupe.Attempt) string {
	c := &call{guards: guardsOf(q)}
	var paths []string
	for _, w := range wants {
		if !w.Changes() || len(paths) == maxSettingPaths || len(c.guarded(w.Path)) > 0 || c.guards.leads(w.Path) {
			return ""
		}
		below := func(dir string) bool { return dir != "" && troupe.Within(w.Path, dir) }
		if below(cwd) || !below(q.Home) && slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev", "/proc"}, below) {
			return ""
		}
		paths = append(paths, jsonString(w.Path))
	}
	if len(paths) == 0 {
		return ""
	}
	return "in your settings.json, sandbox.write: [" + strings.Join(paths, ", ") + "]"
}

// Foremost sorts what a command attempted for a person: first what is protected or hidden, then what lies outside
// of the folder, and last what a command that is allowed in the folder may do anyway. It says how many those are.
// If there are no more than fit, only the first come first.
func Foremost(q *Query, cwd string, wants []troupe.Attempt, fit int) (sorted []troupe.Attempt, ordinary int) {
	c := &call{guards: guardsOf(q)}
	var guarded, rest, outside, inside []troupe.Attempt
	for _, w := range wants {
		hidden := false
		if q.Hidden != nil && w.Changes() {
			_, hidden = q.Hidden(w.Path)
		}
		switch {
		case !w.Changes():
			outside = append(outside, w)
		case hidden || len(c.guarded(w.Path)) > 0:
			guarded = append(guarded, w)
			continue
		case w.Path != cwd && troupe.Within(w.Path, cwd):
			inside = append(inside, w)
		default:
			outside = append(outside, w)
		}
		rest = append(rest, w)
	}
	if len(wants) <= fit {
		return append(guarded, rest...), len(inside)
	}
	return slices.Concat(guarded, outside, inside), len(inside)
}

// leads reports whether a protected place lies below a path.
func (g guards) leads(name string) bool {
	path := rule.LiteralSegments(name)
	return slices.ContainsFunc(g.places, func(p guard) bool {
		return len(path) < len(p.segs) && slices.Equal(path, p.segs[:len(path)])
	})
}

// names reports whether the pattern of a rule calls a protected place by its names, one
// after the other; a wildcard does not.
func names(p *rule.Pattern, g *guard) bool {
	if len(g.own) == 0 {
		return false
	}
	for i := 0; i+len(g.own) <= len(p.Segs); i++ {
		all := true
		for j, own := range g.own {
			s := p.Segs[i+j]
			all = all && s.Kind == rule.Literal && own.MatchName(s.Text, true)
		}
		if all {
			return true
		}
	}
	return false
}

// matchesFile reports whether an allow rule about edits covers one file that would be written.
func matchesFile(r *rule.Rule, c *call, name string, guards []*guard) bool {
	if r.Written.Bounded && len(guards) > 0 {
		return false
	}
	switch r.Kind {
	case rule.KindTool:
		return len(guards) == 0
	case rule.KindPath:
		return slices.ContainsFunc(r.Paths, func(p rule.Pattern) bool {
			base, ok := p.Base(c.at)
			return ok && p.Match(base, name, false) && !slices.ContainsFunc(guards,
				func(g *guard) bool { return !names(&p, g) })
		})
	default:
		return false
	}
}
