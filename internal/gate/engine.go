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

// LayerOf is a session's part in the line of authority: what it was born with, and what it
// was granted since.
func LayerOf(agent string, p troupe.Profile, granted troupe.Authority) Layer {
	l := Layer{Agent: agent, Mode: granted.Mode, Offered: p.Tools, Sandbox: p.Sandbox}
	for _, r := range granted.Rules {
		// What is wrong with a rule was said when it was given; what remains of it is safe.
		rule, _ := ParseRule(r) // a malformed rule comes back as its safe reading
		l.Rules = append(l.Rules, rule)
	}
	return l
}

// PathRule is the rule that covers one path, and all below it if it is a folder.
func PathRule(tool, name string) string { return tool + "(" + literalPattern(name) + ")" }
