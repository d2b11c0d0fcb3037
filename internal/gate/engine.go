package gate

import "github.com/troupe-dev/troupe"

// RulesOf lists the rules of a line of authority as they were written, the root's first.
func RulesOf(chain []Layer) []troupe.Rule {
	var out []troupe.Rule
	for i := range chain {
		for j := range chain[i].Rules {
			out = append(out, chain[i].Rules[j].rule)
		}
	}
	return out
}

// HowToGrant says in a phrase how a person gives a rule.
func HowToGrant(rule string) string { return howToGrant(rule) }

// Unreadable will be written by the gate's author.
func Unreadable([]Layer, []string, string) []string { return nil }
