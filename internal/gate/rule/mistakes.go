package rule

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// spareParenthesis: what stands in a rule's parentheses ends with one more that nothing opens.
func spareParenthesis(spec string) bool {
	if !strings.HasSuffix(spec, ")") {
		return false
	}
	depth := 0
	for i := 0; i < len(spec); i++ {
		switch spec[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	return depth < 0
}

// mistakeInCommand finds what makes a rule about commands speak of none. The problem, if not
// empty, completes the sentence "the rule …".
func mistakeInCommand(spec string, effect troupe.Effect) string {
	// A pattern of case ends with one that nothing opens.
	if spareParenthesis(spec) && !strings.Contains(spec, "esac") {
		return "has a parenthesis too many at its end"
	}
	prefix, words := strings.CutSuffix(spec, ":*")
	if !words {
		prefix = strings.TrimRight(strings.TrimRight(spec, "*"), " \t")
	}
	prefix = strings.TrimSpace(prefix)
	if len(prefix) < 2 || strings.IndexByte("\"'`", prefix[0]) < 0 || strings.IndexByte(prefix[1:],
		prefix[0]) != len(prefix)-2 {
		return ""
	}
	if effect == troupe.Allow && (prefix == spec || strings.Contains(prefix, "/")) {
		return "" // a program whose path has blanks is written so
	}
	return fmt.Sprintf("has quotes around the whole command, so that it would speak of one program named %s", prefix)
}

// builtInAgents are the types of agent that always are there.
func builtInAgents() [3]string { return [...]string{"Explore", "Plan", "general-purpose"} }

// meantAgent says of a rule about a type of agent that another was probably meant. One that is
// denied or asked about is so under both names; who has leave is whoever is named.
func (r Rule) meantAgent() (Rule, error) {
	if len(r.Names[0]) < 3 {
		return r, nil
	}
	name := r.Names[0]
	for _, known := range builtInAgents() {
		if strings.EqualFold(name, known) {
			return r, nil
		}
	}
	for _, known := range builtInAgents() {
		if !oneTypo(strings.ToLower(name), strings.ToLower(known)) {
			continue
		}
		e := &Error{
			Rule: r.Written,
			Problem: fmt.Sprintf("names %q, which no agent has that comes with the program; %s was probably meant",
				Visible(name), known),
		}
		e.Instead = "it covers only agents of your own with that name"
		if r.Written.Effect != troupe.Allow {
			r.Names = append(r.Names, known)
			r.Note = e.Problem
			e.Instead = "it covers both"
		}
		return r, e
	}
	return r, nil
}
