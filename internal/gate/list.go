package gate

import (
	"context"
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

// mostCompared is how many rules are compared with each other at the most: 2,000 are four million comparisons, about
// a second.
const mostCompared = 2000

// placed is a rule at its place in a chain.
type placed struct {
	Listed
	rule  *rule.Rule
	layer int
}

// InForce lists the rules along a chain in the order in which they count: managed denials,
// then what denies, asks and allows, each from the root down. It does not say what shadows what.
func InForce(chain []Layer) []Listed { return listed(inOrder(chain)) }

// Compared is InForce, and says which rules never decide because of which. Of more than 2,000 rules that is not looked
// for, and whole is false.
func Compared(ctx context.Context, chain []Layer) (out []Listed, whole bool, err error) {
	all := inOrder(chain)
	if len(all) > mostCompared {
		return listed(all), false, nil
	}
	for i := range all {
		if err := context.Cause(ctx); err != nil {
			return nil, false, err
		}
		for j := range all {
			if shadows(all, j, i) {
				all[i].ShadowedBy = all[j].label()
				all[j].Shadows = append(all[j].Shadows, all[i].label())
				break
			}
		}
	}
	return listed(all), true, nil
}

func inOrder(chain []Layer) (all []placed) {
	for i := range chain {
		chain[i].rules(func(r *rule.Rule, managed bool) {
			x := placed{Listed{Rule: r.Written, Agent: chain[i].Agent, Managed: managed, Means: r.Means(),
				Problem: r.Note}, r, i}
			if r.Written.Effect == troupe.Allow && strips(chain) && dangerous(r) {
				x.Problem = "it does not count in plan mode and in mode auto: it leaves open what is run"
			}
			all = append(all, x)
		})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.order() - b.order() })
	return all
}

func (p *placed) order() int {
	if p.Managed && p.rule.Written.Effect == troupe.Deny {
		return -3
	}
	return -strictness(p.rule.Written.Effect)
}

// shadows reports whether all[i] never decides because of all[j].
func shadows(all []placed, j, i int) bool {
	by, of := &all[j], &all[i]
	// A rule of a child does not hold for those above it, which judge as well.
	if i == j || by.order() > of.order() || by.layer > of.layer || !by.rule.Includes(of.rule) {
		return false
	}
	return j < i || by.order() == of.order() && !of.rule.Includes(by.rule)
}

func listed(all []placed) []Listed {
	out := make([]Listed, len(all))
	for i := range all {
		out[i] = all[i].Listed
	}
	return out
}

func (s *Listed) label() string { return string(s.Rule.Effect) + " " + s.Rule.Text }
