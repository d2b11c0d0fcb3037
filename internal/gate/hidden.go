package gate

import (
	"path"

	"github.com/troupe-dev/troupe"
)

// Hidden returns a test for files that a tool which walks folders has to leave out: those
// that a deny or ask rule with a path, anywhere along the chain, keeps from being read.
// The gate sees only the folder that Grep was asked to search; this is its other half. It
// is nil if there are no such rules.
func Hidden(chain []Layer, roots []string, home string) func(file string) bool {
	at := places{home: home}
	if len(roots) > 0 {
		at.project = roots[0]
	}
	type bound struct {
		rule *Rule
		dir  string
		all  bool // its folder is not known, so it may be any
	}
	var rules []bound
	for i := range chain {
		for j := range chain[i].Rules {
			r := &chain[i].Rules[j]
			if r.kind != kindPath || r.tool != toolRead || r.rule.Effect == troupe.Allow {
				continue
			}
			dir, ok := r.pat.base(at)
			rules = append(rules, bound{r, dir, !ok})
		}
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
