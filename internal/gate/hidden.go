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
	type bound struct {
		rule *Rule
		dir  string
		all  bool // its folder is not known, so it may be any
	}
	var rules []bound
	for i := range chain {
		chain[i].rules(func(r *Rule, _ bool) {
			if r.hidesFiles() {
				dir, ok := r.pat.base(at)
				rules = append(rules, bound{r, dir, !ok})
			}
		})
	}
	if len(rules) == 0 {
		return nil
	}
	fold := foldsCase()
	return func(file string) bool {
		file = path.Clean(file)
		for _, b := range rules {
			if b.all || b.rule.pat.match(b.dir, file, fold) {
				return true
			}
		}
		return false
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
			if r.kind != kindPath || r.rule.Effect != troupe.Deny || !about(r) {
				return
			}
			if text := r.pat.absolute(at); !slices.Contains(out, text) {
				out = append(out, text)
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
