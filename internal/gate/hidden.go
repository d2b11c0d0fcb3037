package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Hides is a test for files that rules keep from being read. Tests with the same key are the same.
type Hides struct {
	Key  string
	Test func(file string) bool // nil: there are no such rules

	last  []rule.Segment // the last name of each pattern; each file that is covered has one of these on its way
	every bool           // a pattern may cover files whatever their names
}

// Names returns a quick test: where it is false for the name of a file below root and of each folder between the
// two, the file is not covered. It is nil if names tell nothing.
func (h Hides) Names(root string) func(name string) bool {
	may := func(name string) bool {
		return slices.ContainsFunc(h.last, func(s rule.Segment) bool { return s.MatchName(name, true) })
	}
	if h.every || slices.ContainsFunc(strings.Split(root, "/"), may) {
		return nil
	}
	return may
}

// takeName notes the last name of a pattern.
func (h *Hides) takeName(p *rule.Pattern, at rule.Places) {
	i := len(p.Segs) - 1
	for i >= 0 && p.Segs[i].Kind == rule.Any {
		i--
	}
	if _, ok := p.Base(at); !ok || i < 0 {
		h.every = true
		return
	}
	h.last = append(h.last, p.Segs[i])
}

// HidesFor is what Hidden returns, with its key.
func HidesFor(chain []Layer, roots []string, home string) Hides {
	h := Hides{Test: Hidden(chain, roots, home)}
	at := placesOf(roots, home)
	var key strings.Builder
	key.WriteString(at.Project + "\n" + at.Home + "\n")
	for _, r := range hiding(chain) {
		for i := range r.Paths {
			key.WriteString(r.Paths[i].Absolute(at) + "\n")
			h.takeName(&r.Paths[i], at)
		}
	}
	h.Key = key.String()
	return h
}

// Hidden returns a test for files that a tool which walks folders has to leave out: those
// that a deny or ask rule with a path, anywhere along the chain, keeps from being read.
// The gate sees only the folder that Grep was asked to search; this is its other half. It
// is nil if there are no such rules.
func Hidden(chain []Layer, roots []string, home string) func(file string) bool {
	return matchAny(hiding(chain), placesOf(roots, home))
}

// HiddenIn is Hidden for the entries of a folder by their names, where neither the folder nor
// anything above it is hidden: a walk asks once a folder which rules matter in it. It is nil if
// there are no such rules, and so is what it returns.
func HiddenIn(chain []Layer, roots []string, home string) func(folder string) func(name string) bool {
	at, rules := placesOf(roots, home), hiding(chain)
	if len(rules) == 0 {
		return nil
	}
	return func(folder string) func(string) bool {
		folder = path.Clean(folder)
		var near []*rule.Rule
		for _, r := range rules {
			if r.Reaches(at, folder, true, true) {
				near = append(near, r)
			}
		}
		test := matchAny(near, at)
		if test == nil {
			return nil
		}
		return func(name string) bool { return test(folder + "/" + name) }
	}
}

// hiding are the rules that keep files from being read.
func hiding(chain []Layer) []*rule.Rule {
	var rules []*rule.Rule
	for i := range chain {
		chain[i].rules(func(r *rule.Rule, _ bool) {
			if r.HidesFiles() {
				rules = append(rules, r)
			}
		})
	}
	return rules
}

func matchAny(rules []*rule.Rule, at rule.Places) func(file string) bool {
	if len(rules) == 0 {
		return nil
	}
	return func(file string) bool {
		file = path.Clean(file)
		return slices.ContainsFunc(rules, func(r *rule.Rule) bool { return r.Matches(at, file, true, true) })
	}
}

// Unreadable lists what deny rules along the chain keep from being read, as absolute paths
// and patterns ("*", "**", "?" and "[…]" as in rules), for a kernel that keeps commands from
// it. A pattern whose folder is not known may begin anywhere.
func Unreadable(chain []Layer, roots []string, home string) []string {
	return denied(chain, roots, home, func(r *rule.Rule) bool { return r.Tool == rule.ToolRead })
}

// Unwritable is the same for rules that deny writing, for a kernel on which nothing asks Kept.
func Unwritable(chain []Layer, roots []string, home string) []string {
	return denied(chain, roots, home, (*rule.Rule).Edits)
}

// Kept returns a test for files that deny rules along the chain keep commands from changing, which says
// why. A rule that denies every edit keeps all files. It is nil if there are no such rules.
func Kept(chain []Layer, roots []string, home string) func(file string) (why string) {
	at := placesOf(roots, home)
	var rules []*rule.Rule
	for i := range chain {
		chain[i].rules(func(r *rule.Rule, _ bool) {
			if r.Written.Effect == troupe.Deny && (r.EveryEdit() || len(r.Paths) > 0 && r.Edits()) {
				rules = append(rules, r)
			}
		})
	}
	if len(rules) == 0 {
		return nil
	}
	return func(file string) string {
		file = path.Clean(file)
		for _, r := range rules {
			if r.EveryEdit() || r.Matches(at, file, true, true) {
				return fmt.Sprintf("the rule %q denies it", r.Written.Text)
			}
		}
		return ""
	}
}

// Unreached lists the hosts that deny rules along the chain keep from being read, for a proxy that keeps commands from
// them.
func Unreached(chain []Layer) (hosts []string) {
	for i := range chain {
		chain[i].rules(func(r *rule.Rule, _ bool) {
			if r.Kind == rule.KindDomain && r.Written.Effect == troupe.Deny {
				hosts = append(hosts, r.Host.String())
			}
		})
	}
	return hosts
}

func denied(chain []Layer, roots []string, home string, about func(*rule.Rule) bool) []string {
	at := placesOf(roots, home)
	var out []string
	for i := range chain {
		chain[i].rules(func(r *rule.Rule, _ bool) {
			if len(r.Paths) == 0 || r.Written.Effect != troupe.Deny || !about(r) {
				return
			}
			for i := range r.Paths {
				if text := r.Paths[i].Absolute(at); !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		})
	}
	return out
}
