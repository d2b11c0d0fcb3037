package gate

import (
	"path"
	"slices"
	"strings"
)

// guard is a protected place, taken apart.
type guard struct {
	segs []segment // from the root of the file system
	// own are the names by which a rule has to call it: what lies behind the session's
	// folders or the home in it, without the plain folders at its beginning.
	own []segment
}

// guardsOf reads the protected places of a query. One that cannot be read protects all: it
// comes from the program itself, and is a mistake there.
func guardsOf(q *Query) []guard {
	out := make([]guard, 0, len(q.Protected))
	for _, text := range q.Protected {
		p, problem := parsePattern("/" + text)
		if problem != "" || !path.IsAbs(text) {
			p = pattern{segs: []segment{{kind: segAny}}}
		}
		out = append(out, guard{segs: p.segs, own: ownNames(p.segs, append(slices.Clip(q.Roots), q.Home))})
	}
	return out
}

func ownNames(segs []segment, roots []string) []segment {
	skip := 0
	for _, root := range roots {
		if root == "" {
			continue
		}
		lits := literals(root)
		if len(lits) >= len(segs) || len(lits) <= skip {
			continue
		}
		if slices.Equal(lits, segs[:len(lits)]) {
			skip = len(lits)
		}
	}
	var own []segment
	for _, s := range segs[skip:] {
		if s.kind != segAny {
			own = append(own, s)
		}
	}
	if i := slices.IndexFunc(own, func(s segment) bool { return strings.HasPrefix(s.text, ".") }); i > 0 {
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
	for i := range c.guards {
		if g := &c.guards[i]; matchSegments(g.segs, rest, true) {
			out = append(out, g)
		}
	}
	return out
}

// names reports whether the pattern of a rule calls a protected place by its names, one
// after the other; a wildcard does not.
func (p *pattern) names(g *guard) bool {
	if len(g.own) == 0 {
		return false
	}
	for i := 0; i+len(g.own) <= len(p.segs); i++ {
		all := true
		for j, own := range g.own {
			s := p.segs[i+j]
			all = all && s.kind == segLiteral && own.matchName(s.text, false)
		}
		if all {
			return true
		}
	}
	return false
}

// coversFile reports whether an allow rule about edits covers one file that would be written.
func (r *Rule) coversFile(c *call, name string, guards []*guard) bool {
	switch r.kind {
	case kindTool:
		return len(guards) == 0
	case kindPath:
		return slices.ContainsFunc(r.pats, func(p pattern) bool {
			base, ok := p.base(c.at)
			return ok && p.match(base, name, false) && !slices.ContainsFunc(guards, func(g *guard) bool { return !p.names(g) })
		})
	default:
		return false
	}
}
