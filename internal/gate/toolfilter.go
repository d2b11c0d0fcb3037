package gate

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// filter is one of those that keep tools from a session. The first three hold for all
// sessions of a kind, whatever their definitions say; the last is the definition's own.
type filter struct {
	name  string
	holds func(l *Layer, child bool) bool
	// withholds reports whether the filter takes the tool away.
	withholds func(l *Layer, tool *troupe.ToolFacts) bool
	why       string // completes "<agent> does not have the tool <tool>: …"
}

// filters is the whole table, in order: an array, which costs no allocation at each call.
func filters() [4]filter {
	return [4]filter{
		{
			name:      "steering",
			holds:     func(_ *Layer, child bool) bool { return child },
			withholds: steers,
			why:       "it steers a session that people talk to, and this one works for another agent",
		},
		{
			name:  "own definitions",
			holds: func(l *Layer, child bool) bool { return child && l.UserDefined },
			withholds: func(l *Layer, tool *troupe.ToolFacts) bool {
				return steers(l, tool) || tool.Holder == troupe.BuiltInTypes
			},
			why: "what it starts outlasts the agent, and only types that come with the program have it",
		},
		{
			name:      "background",
			holds:     func(l *Layer, child bool) bool { return child && l.Background },
			withholds: func(l *Layer, tool *troupe.ToolFacts) bool { return !inBackground(l, tool) },
			why:       "this agent runs in the background, so it has only tools that need no answer",
		},
		{
			name:  "definition",
			holds: func(*Layer, bool) bool { return true },
			withholds: func(l *Layer, tool *troupe.ToolFacts) bool {
				return slices.Contains(l.Without, tool.Name) || l.Offered != nil && !l.offers(tool.Name)
			},
			why: "its definition does not have it",
		},
	}
}

// steers: tools that stop a conversation to deal with people, or that deal with agents of
// one's own, of which some children have none. A child in plan mode has to be able to show
// its plan.
func steers(l *Layer, tool *troupe.ToolFacts) bool {
	switch tool.Holder {
	case troupe.MainAgent:
		return true
	case troupe.NamedAgents:
		return !slices.Contains(l.Offered, tool.Name)
	case troupe.Planners:
		return l.Mode != troupe.ModePlan
	case troupe.Parents:
		return !l.MayHaveAgents
	case troupe.Members:
		return !l.Member
	case troupe.Correspondents:
		return !l.MayHaveAgents && !l.Member
	default:
		return false
	}
}

// inBackground: tools that a session has for which nobody waits. Those of MCP servers and of API clients pass:
// whoever set up the server, or began with the tool, answers for them. So does Agent: births have limits of their own,
// and whoever may have no agents is told why.
func inBackground(l *Layer, tool *troupe.ToolFacts) bool {
	switch tool.Holder {
	case troupe.BuiltInTypes, troupe.NamedAgents:
		return false
	case rule.UnknownHolder:
		return strings.HasPrefix(tool.Name, rule.MCPPrefix) || tool.Client
	default:
		return !steers(l, tool)
	}
}

// Withheld says why the last session of a line of authority does not have a tool; "" if it has it.
func (t *Tools) Withheld(chain []Layer, name string) string { return withheld(chain, t.Facts(name)) }

// withheld says which filter keeps a tool from the last session of the chain, and why; "" if
// none does. What is kept from an agent is not kept from the agents it starts.
func withheld(chain []Layer, tool *troupe.ToolFacts) string {
	l, child := &chain[len(chain)-1], len(chain) > 1
	for _, f := range filters() {
		if !f.holds(l, child) || !f.withholds(l, tool) {
			continue
		}
		why := "does not have the tool " + tool.Name
		switch {
		case f.name == "definition" && tool.Schedule == troupe.Birth && l.Vocabulary.Has(*tool):
			why += ": agents of its type start none of their own; do the work yourself, or say in your answer what " +
				"is left for others"
		case f.name != "definition":
			why += ": " + f.why + " (filter " + f.name + ")"
		}
		return why
	}
	if tool.Client {
		for i := range chain[:len(chain)-1] {
			if above := &chain[i]; above.Offered != nil && !slices.Contains(above.Offered, tool.Name) {
				return "does not have the tool " + tool.Name + ": " + nameOf(above.Agent) + " does not have it either"
			}
		}
	}
	return ""
}

// startsNot says why the last session of the chain may not start agents of a type that it asks for; "" if it may.
// As with tools, what its definition leaves out is not left out of those of the agents it starts.
func (q *Query) startsNot() string {
	l := &q.Chain[len(q.Chain)-1]
	if q.Access.Agent == "" || l.Starts == nil || slices.ContainsFunc(l.Starts, func(name string) bool {
		return strings.EqualFold(name, q.Access.Agent)
	}) {
		return ""
	}
	return nameOf(l.Agent) + " may not start " + q.Access.Agent + ": its definition lets it start only " +
		strings.Join(l.Starts, ", ")
}
