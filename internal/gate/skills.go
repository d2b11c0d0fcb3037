package gate

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// StepSkill stands before the table as well: a skill that the session uses, or one above it, leaves it no such call.
const StepSkill troupe.Step = "skill"

// narrowing is what a skill leaves of the tools of a session and of those below it.
type narrowing struct {
	skill   string
	all     bool
	rules   []rule.Rule
	without []string
}

// Following is a layer whose session uses these skills and no others.
func (t *Tools) Following(l Layer, uses []troupe.SkillUse) Layer {
	l.narrowed = nil
	for _, u := range uses {
		if u.Narrows == nil {
			continue
		}
		n := narrowing{skill: u.Name, all: u.Narrows.Tools == nil, without: u.Narrows.Without}
		for _, text := range u.Narrows.Tools {
			// One that cannot be read speaks of no call, and so leaves none.
			r, _ := t.ParseRule(troupe.Rule{Effect: troupe.Allow, Text: text, Source: u.File})
			n.rules = append(n.rules, r)
		}
		l.narrowed = append(l.narrowed, n)
	}
	return l
}

// Narrowed says which tools the skills leave that a session and those above it use; "" if none takes any away.
func Narrowed(chain []Layer) string {
	var out []string
	for i := range chain {
		for _, n := range chain[i].narrowed {
			out = append(out, n.leaves())
		}
	}
	return strings.Join(out, "; ")
}

func (n *narrowing) leaves() string {
	var b strings.Builder
	b.WriteString("the skill " + n.skill + " leaves ")
	switch {
	case n.all:
		b.WriteString("all tools")
	case len(n.rules) == 0:
		b.WriteString("no tool")
	default:
		b.WriteString("only ")
		for i := range n.rules {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(rule.Visible(n.rules[i].Written.Text))
		}
	}
	if len(n.without) > 0 {
		b.WriteString(", without " + strings.Join(n.without, ", "))
	}
	return b.String() + " until a person's next prompt"
}

// narrowedOut says which skill leaves the call out; "" if none does.
func (q *Query) narrowedOut() string {
	for i := range q.Chain {
		for j := range q.Chain[i].narrowed {
			if n := &q.Chain[i].narrowed[j]; !n.matches(q) {
				why := n.leaves()
				if i < len(q.Chain)-1 {
					why += " (used by " + nameOf(q.Chain[i].Agent) + ", which this agent works for)"
				}
				return why
			}
		}
	}
	return ""
}

// matches reports whether a skill leaves the call. What it says of a command or a path is read as an allow rule is:
// in doubt it does not.
func (n *narrowing) matches(q *Query) bool {
	facts := q.known.Facts(q.Tool)
	if slices.Contains(n.without, q.Tool) {
		return false
	}
	if n.all || q.ofSession() {
		return true
	}
	narrow := false
	for i := range n.rules {
		if r := &n.rules[i]; r.Kind == rule.KindTool && r.AllowsTool(facts) {
			return true
		}
		narrow = narrow || n.rules[i].Kind != rule.KindTool && n.rules[i].Kind != rule.KindNothing
	}
	if !narrow {
		return false
	}
	alone := *q
	alone.Chain = []Layer{{Mode: troupe.ModeDefault, Rules: n.rules}}
	alone.Judged, alone.Hidden, alone.HiddenFiles, alone.Closed, alone.PartOfGit = nil, nil, nil, nil, nil
	alone.Bound = nil
	alone.Protected, alone.GitChanges = nil, nil
	d := q.known.Decide(alone)
	return d.Effect == troupe.Allow && d.Step == StepAllowRule
}

// ofSession reports whether a call touches nothing but the session itself: its list, its tasks, a question to a person.
// What a skill allows is about the world outside of that.
func (q *Query) ofSession() bool {
	a, facts := &q.Access, q.known.Facts(q.Tool)
	return a.Class == troupe.ClassRead && facts.Class == troupe.ClassRead && facts.Argument == troupe.NoArgument &&
		a.Command == "" && a.Agent == "" && a.Tool == "" && a.URL == "" && len(a.Reads)+len(a.Writes) == 0
}
