package rule

import (
	"path"
	"strings"
)

// LiteralSegments are the names of a path, each of which stands for itself.
func LiteralSegments(dir string) []Segment {
	var out []Segment
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if name != "" {
			out = append(out, Segment{Literal, name})
		}
	}
	return out
}

// MayOverlap reports whether a pattern of a rule, which covers what lies below it too, and one of the shell, in which
// ** is any number of folders, may mean the same file. In doubt they may.
func MayOverlap(rule []Segment, glob []string) bool {
	// can[j]: what is left of the rule meets what is left of the pattern behind its first j.
	can := make([]bool, len(glob)+1)
	for i := len(rule); i >= 0; i-- {
		next := make([]bool, len(glob)+1)
		for j := len(glob); j >= 0; j-- {
			switch {
			case i == len(rule):
				next[j] = true
			case j == len(glob):
				next[j] = rule[i].Kind == Any && i == len(rule)-1
			case glob[j] == "**":
				next[j] = next[j+1] || can[j]
			case rule[i].Kind == Any:
				next[j] = can[j] || next[j+1]
			default:
				next[j] = NameMeets(rule[i], glob[j]) && can[j+1]
			}
		}
		can = next
	}
	return can[0]
}

// NameMeets reports whether a rule's pattern of one name and one of the shell may mean the same
// name. In doubt they may.
func NameMeets(s Segment, glob string) bool {
	wild := strings.ContainsAny(glob, `*?[`)
	switch {
	case !wild:
		return s.MatchName(Unescape(glob), true)
	case s.Kind == Literal:
		if strings.HasPrefix(s.Text, ".") && strings.ContainsAny(glob[:1], "*?[") {
			return false // the shell leaves out what is hidden
		}
		ok, err := path.Match(strings.ToLower(strings.ReplaceAll(glob, "[!", "[^")), strings.ToLower(s.Text))
		return ok || err != nil
	default:
		return true
	}
}

// Absolute writes the pattern so that it begins at the root of the file system.
func (p *Pattern) Absolute(at Places) string {
	base, ok := p.Base(at)
	segs := LiteralSegments(base)
	if !ok {
		segs = []Segment{{Kind: Any}}
	}
	var b strings.Builder
	for _, s := range append(segs, p.Segs...) {
		b.WriteByte('/')
		switch s.Kind {
		case Any:
			b.WriteString("**")
		case Glob:
			b.WriteString(s.Text)
		default:
			b.WriteString(strings.TrimPrefix(LiteralPattern(s.Text), "/"))
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// InProject reports whether the pattern begins in the session's folder, and stays there.
func (p *Pattern) InProject() bool { return p.anchor == atProject && p.up == 0 }

// Literal is the one file or folder that the pattern names; false if it leaves a name open.
func (p *Pattern) Literal(at Places) (name string, ok bool) {
	name, ok = p.Base(at)
	for i, s := range p.Segs {
		if s.Kind == Any && i == len(p.Segs)-1 {
			break
		}
		name, ok = path.Join(name, s.Text), ok && s.Kind == Literal
	}
	return name, ok
}

// MayMeet reports whether a path of one rule and one of the other may cover the same file. In doubt they may: also
// where the names are alike but for their case.
func (r *Rule) MayMeet(o *Rule) bool {
	for i := range r.Paths {
		for j := range o.Paths {
			a, okA := r.Paths[i].Base(Places{})
			b, okB := o.Paths[j].Base(Places{})
			if !okA || !okB || mayMeet(append(LiteralSegments(a), r.Paths[i].Segs...),
				append(LiteralSegments(b), o.Paths[j].Segs...)) {
				return true
			}
		}
	}
	return false
}

// mayMeet: some path has both on its way. Each covers what lies below what it matches.
func mayMeet(a, b []Segment) bool {
	can := make([]bool, len(b)+1) // of what is left of a, and of b behind its first j
	for i := len(a); i >= 0; i-- {
		next := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a), j == len(b):
				next[j] = true
			case a[i].Kind == Any:
				next[j] = can[j] || next[j+1]
			case b[j].Kind == Any:
				next[j] = next[j+1] || can[j]
			default:
				next[j] = sameName(a[i], b[j]) && can[j+1]
			}
		}
		can = next
	}
	return can[0]
}

// sameName reports whether one name may match both. Of two globs what they begin and end with is compared.
func sameName(a, b Segment) bool {
	switch {
	case a.Kind == Literal:
		return b.MatchName(a.Text, true)
	case b.Kind == Literal:
		return a.MatchName(b.Text, true)
	}
	const special = `*?[]\`
	begins := func(s string) string { return s[:strings.IndexAny(s, special)] }
	ends := func(s string) string { return s[strings.LastIndexAny(s, special)+1:] }
	x, y := strings.ToLower(begins(a.Text)), strings.ToLower(begins(b.Text))
	if !strings.HasPrefix(x, y) && !strings.HasPrefix(y, x) {
		return false
	}
	x, y = strings.ToLower(ends(a.Text)), strings.ToLower(ends(b.Text))
	return strings.HasSuffix(x, y) || strings.HasSuffix(y, x)
}
