package gate

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Listed is a rule that is in force, in words for people.
type Listed struct {
	Rule    troupe.Rule
	Agent   string // for whom it was set; it holds for all that this agent starts
	Managed bool
	Means   string // what it does
	Problem string // why it is not followed as written; "" if it is
	// Shadows are rules that never decide because of this one; ShadowedBy is the one because
	// of which this never does. Both are texts of rules, with their effect.
	Shadows    []string
	ShadowedBy string
}

// InForce lists the rules along a chain in the order in which they count: managed denials,
// then what denies, asks and allows, each from the root down.
func InForce(chain []Layer) []Listed {
	type placed struct {
		Listed
		rule  *rule.Rule
		layer int
	}
	var all []placed
	for i := range chain {
		chain[i].rules(func(r *rule.Rule, managed bool) {
			all = append(all, placed{
				Listed{Rule: r.Written, Agent: chain[i].Agent, Managed: managed, Means: r.Means(), Problem: r.Note}, r,
				i,
			})
		})
	}
	order := func(p placed) int {
		if p.Managed && p.rule.Written.Effect == troupe.Deny {
			return -3
		}
		return -strictness(p.rule.Written.Effect)
	}
	slices.SortStableFunc(all, func(a, b placed) int { return order(a) - order(b) })
	shadows := func(j, i int) bool {
		// A rule of a child does not hold for those above it, which judge as well.
		if i == j || order(all[j]) > order(all[i]) || all[j].layer > all[i].layer ||
			!all[j].rule.Includes(all[i].rule) {
			return false
		}
		return j < i || order(all[j]) == order(all[i]) && !all[i].rule.Includes(all[j].rule)
	}
	for i := range all {
		for j := range all {
			if shadows(j, i) {
				all[i].ShadowedBy = all[j].label()
				all[j].Shadows = append(all[j].Shadows, all[i].label())
				break
			}
		}
	}
	out := make([]Listed, len(all))
	for i := range all {
		out[i] = all[i].Listed
		if r := all[i].rule; r.Written.Effect == troupe.Allow && strips(chain) && dangerous(r) {
			out[i].Problem = "it does not count in plan mode and in mode auto: it leaves open what is run"
		}
	}
	return out
}

func (s *Listed) label() string { return string(s.Rule.Effect) + " " + s.Rule.Text }
