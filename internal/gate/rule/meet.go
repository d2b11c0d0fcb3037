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

// MayOverlap reports whether a pattern of a rule, which covers what lies below it too, and
// one of the shell, in which ** is any number of folders, may mean the same file. In doubt they
// may.
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
