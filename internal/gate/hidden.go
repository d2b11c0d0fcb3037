package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Hidden returns a test for files that a tool which walks folders has to leave out: those
// that a deny or ask rule with a path, anywhere along the chain, keeps from being read.
// The gate sees only the folder that Grep was asked to search; this is its other half. It
// is nil if there are no such rules.
func Hidden(chain []Layer, roots []string, home string) func(file string) bool {
	at := placesOf(roots, home)
	var rules []*Rule
	for i := range chain {
		chain[i].rules(func(r *Rule, _ bool) {
			if r.hidesFiles() {
				rules = append(rules, r)
			}
		})
	}
	if len(rules) == 0 {
		return nil
	}
	return func(file string) bool {
		file = path.Clean(file)
		return slices.ContainsFunc(rules, func(r *Rule) bool { return r.matches(at, file, true, true) })
	}
}

// Unreadable lists what deny rules along the chain keep from being read, as absolute paths
// and patterns ("*", "**", "?" and "[…]" as in rules), for a kernel that keeps commands from
// it. A pattern whose folder is not known may begin anywhere.
func Unreadable(chain []Layer, roots []string, home string) []string {
	return denied(chain, roots, home, func(r *Rule) bool { return r.tool == toolRead })
}

// Unwritable is the same for rules that deny writing.
func Unwritable(chain []Layer, roots []string, home string) []string {
	return denied(chain, roots, home, (*Rule).edits)
}

func denied(chain []Layer, roots []string, home string, about func(*Rule) bool) []string {
	at := placesOf(roots, home)
	var out []string
	for i := range chain {
		chain[i].rules(func(r *Rule, _ bool) {
			if len(r.pats) == 0 || r.rule.Effect != troupe.Deny || !about(r) {
				return
			}
			for i := range r.pats {
				if text := r.pats[i].absolute(at); !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		})
	}
	return out
}

// absolute writes the pattern so that it begins at the root of the file system.
func (p *pattern) absolute(at places) string {
	base, ok := p.base(at)
	segs := literals(base)
	if !ok {
		segs = []segment{{kind: segAny}}
	}
	var b strings.Builder
	for _, s := range append(segs, p.segs...) {
		b.WriteByte('/')
		switch s.kind {
		case segAny:
			b.WriteString("**")
		case segGlob:
			b.WriteString(s.text)
		default:
			b.WriteString(strings.TrimPrefix(literalPattern(s.text), "/"))
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}
