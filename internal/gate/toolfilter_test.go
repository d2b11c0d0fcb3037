package gate

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	root := Layer{Agent: "main", Mode: troupe.ModeBypass}
	child := func(change func(*Layer)) Layer {
		l := Layer{Agent: "main/x", Mode: troupe.ModeBypass}
		change(&l)
		return l
	}
	plain := child(func(*Layer) {})
	tests := []struct {
		name   string
		chain  []Layer
		tool   string
		filter string // that keeps it; "" if none does
	}{
		{"the root asks", []Layer{root}, "AskUserQuestion", ""},
		{"a child does not", []Layer{root, plain}, "AskUserQuestion", "steering"},
		{"nor plans", []Layer{root, plain}, "EnterPlanMode", "steering"},
		{"nor ends a plan", []Layer{root, plain}, "ExitPlanMode", "steering"},
		{"unless it plans", []Layer{root, child(func(l *Layer) { l.Mode = troupe.ModePlan; l.Background = true })},
			"ExitPlanMode", ""},
		{"nor watches tasks", []Layer{root, plain}, "TaskOutput", "steering"},
		{"unless it leads",
			[]Layer{root, child(func(l *Layer) { l.MayHaveAgents = true; l.UserDefined = true; l.Background = true })},
			"TaskOutput", ""},
		{"leading does not mean asking", []Layer{root, child(func(l *Layer) { l.MayHaveAgents = true })},
			"AskUserQuestion", "steering"},
		{"built-in types run workflows", []Layer{root, plain}, "Workflow", ""},
		{"other types do not", []Layer{root, child(func(l *Layer) { l.UserDefined = true })}, "Workflow",
			"own definitions"},
		{"in the background: what is listed", []Layer{root, child(func(l *Layer) { l.Background = true })}, "Bash", ""},
		{"in the background: nothing else", []Layer{root, child(func(l *Layer) { l.Background = true })}, "Preview",
			"background"},
		{"in the background: MCP passes", []Layer{root, child(func(l *Layer) { l.Background = true })}, "mcp__a__b",
			""},
		{"in front: anything", []Layer{root, plain}, "Preview", ""},
		{"offered", []Layer{root, child(func(l *Layer) { l.Offered = []string{"Bash"} })}, "Bash", ""},
		{"not offered", []Layer{root, child(func(l *Layer) { l.Offered = []string{"Bash"} })}, "Read", "definition"},
		{"taken away", []Layer{root, child(func(l *Layer) {
			l.Offered, l.Without = []string{"Bash"},
				[]string{"Bash"}
		})}, "Bash", "definition"},
		{"a definition opens nothing",
			[]Layer{root, child(func(l *Layer) { l.UserDefined = true; l.Offered = []string{"EnterPlanMode"} })},
			"EnterPlanMode", "steering"},
		{"a definition that names it may ask",
			[]Layer{root, child(func(l *Layer) { l.UserDefined = true; l.Offered = []string{"AskUserQuestion"} })},
			"AskUserQuestion", ""},
		{"but not where nobody waits",
			[]Layer{root, child(func(l *Layer) { l.Background = true; l.Offered = []string{"AskUserQuestion"} })},
			"AskUserQuestion", "background"},
		{"what binds a parent does not bind its child", []Layer{{Offered: []string{"Agent"}, Mode: troupe.ModeBypass},
			plain}, "Bash", ""},
	}
	for _, test := range tests {
		why := withheld(test.chain, known().Facts(test.tool))
		if got := why != ""; got != (test.filter != "") || test.filter != "" && test.filter != "definition" &&
			!strings.Contains(why, test.filter) {
			t.Errorf("%s: %q", test.name, why)
		}
		d := Decide(Query{Tool: test.tool, Access: troupe.Access{Class: troupe.ClassExec}, Chain: test.chain})
		if (d.Effect == troupe.Deny && d.Step == StepProfile) != (test.filter != "") {
			t.Errorf("%s: %+v", test.name, d)
		}
	}
	var names []string
	for _, f := range filters() {
		names = append(names, f.name)
	}
	if !slices.Equal(names, []string{"steering", "own definitions", "background", "definition"}) {
		t.Errorf("%q", names)
	}
}

// TestStarts: what a definition lets an agent start binds it, and not the agents that it starts.
func TestStarts(t *testing.T) {
	t.Parallel()
	lead := Layer{Agent: "main/L", Mode: troupe.ModeBypass, Starts: []string{"Explore", "near"}}
	none := Layer{Agent: "main/L", Mode: troupe.ModeBypass, Starts: []string{}}
	for _, test := range []struct {
		chain  []Layer
		asked  string
		denied bool
	}{
		{[]Layer{{}, lead}, "explore", false}, {[]Layer{{}, lead}, "Plan", true}, {[]Layer{lead}, "Plan", true},
		{[]Layer{{}, none}, "Explore", true}, {[]Layer{lead, {Mode: troupe.ModeBypass, MayHaveAgents: true}}, "Plan",
			false},
	} {
		d := Decide(Query{Tool: "Agent", Access: troupe.Access{Agent: test.asked}, Chain: test.chain})
		if (d.Effect == troupe.Deny) != test.denied || test.denied && (d.Step != StepProfile ||
			!strings.Contains(d.Why, "may not start "+test.asked)) {
			t.Errorf("%s: %+v", test.asked, d)
		}
	}
}

// TestReceivers: a rule may say whom an agent writes to, and is none about the types of agents of that name.
func TestReceivers(t *testing.T) {
	t.Parallel()
	tools := NewTools([]troupe.ToolFacts{{Name: "SendMessage", Argument: troupe.ReceiverArgument},
		{Name: "Agent", Argument: troupe.AgentArgument}})
	for _, tt := range []struct {
		rule, tool, to string
		want           troupe.Effect
	}{
		{"SendMessage(Bob)", "SendMessage", "bob", troupe.Deny},
		{"SendMessage(Bob)", "SendMessage", "Alice", troupe.Allow},
		{"SendMessage(Bob)", "Agent", "Bob", troupe.Allow},
		{"Agent(Bob)", "SendMessage", "Bob", troupe.Allow},
		{"Agent(Bob)", "Agent", "Bob", troupe.Deny},
		{"SendMessage", "SendMessage", "Alice", troupe.Deny},
	} {
		r, problem := tools.ParseRule(troupe.Rule{Effect: troupe.Deny, Text: tt.rule})
		if problem != nil {
			t.Fatal(problem)
		}
		main := Layer{Agent: "main", Mode: troupe.ModeBypass, MayHaveAgents: true, Rules: []rule.Rule{r}}
		got := tools.Decide(Query{Tool: tt.tool, Access: troupe.Access{Agent: tt.to}, Chain: []Layer{main}}).Effect
		if got != tt.want {
			t.Errorf("%s, %s to %s: %s, want %s", tt.rule, tt.tool, tt.to, got, tt.want)
		}
	}
}
