package sim

import (
	"math/rand/v2"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/workflow"
)

// climate is what kind of run a seed makes: settings, and how often what goes wrong.
type climate struct {
	caps     troupe.Caps
	mode     troupe.Mode
	limits   troupe.Limits
	policy   troupe.Policy
	endless  bool // sub-agents have no limit of time of their own
	fallback string
	window   int64
	lane     int    // calls that the governor lets through at once; 0: there is none
	faults   int    // model calls in a thousand that go wrong
	crashes  int    // processes at most
	talk     int    // steps in a thousand at which somebody speaks
	attend   int    // steps in a thousand at which somebody looks at what is waiting for an answer
	words    int    // how often somebody speaks, at most
	calls    int    // model calls after which nobody wants anything any more
	judge    bool   // something else than rules judges calls too
	teams    bool   // the main agent may lead a team
	checks   string // the model that checks results, or none
	begun    bool   // it begins with its team
	leader
	machine
}

// leader is what else the main agent may be: one that follows a workflow, or one that has others do all work.
type leader struct {
	steps       []step
	coordinator bool
}

// machine is what commands can be confined with, and what rules there are from the beginning.
type machine struct {
	levels []troupe.Level
	blind  bool // the kernel does not say what was attempted
	reach  bool // settings leave commands the network that were allowed it
	rules  []troupe.Rule
}

func drawClimate(r *rand.Rand) climate {
	one := func(n int) bool { return r.IntN(n) == 0 }
	c := climate{
		caps: troupe.Caps{MaxDepth: 1 + r.IntN(2), MaxActive: r.IntN(4), MaxTotal: 2 + r.IntN(7)},
		mode: troupe.ModeBypass,
		lane: max(0, r.IntN(5)-2),
		talk: r.IntN(25), faults: 20 * r.IntN(10), crashes: r.IntN(7),
		words: r.IntN(14), calls: 6 + r.IntN(34),
		policy: troupe.Policy{MaxAttempts: 2 + r.IntN(4), MaxDenials: 3, FallbackAfter: 2, MaxRepeats: 4},
	}
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		c.mode = troupe.ModeDefault
	case 4:
		c.mode = troupe.ModeAcceptEdits
	}
	c.limits.MaxTurns = 4 + r.IntN(10)
	if one(6) {
		c.limits.MaxTime = time.Duration(5+r.IntN(120)) * time.Second
		c.endless = one(2)
	}
	if one(8) {
		c.limits.MaxTokens = int64(2000 + r.IntN(20_000))
	}
	if one(8) {
		c.limits.MaxCost = troupe.Money(1+r.IntN(20)) * troupe.Dollar / 1000
	}
	if one(4) {
		c.caps.MaxTokens = int64(2000 + r.IntN(60_000))
	}
	if one(4) {
		c.caps.MaxCost = troupe.Money(2+r.IntN(60)) * troupe.Dollar / 1000
	}
	if one(6) {
		c.caps.AskAbove = troupe.Dollar * 2 / 5
	}
	if one(3) {
		c.policy.AutoBackground = time.Duration(1+r.IntN(20)) * time.Second
	}
	c.policy.Gather = time.Duration(r.IntN(3)) * time.Second
	if one(2) {
		c.fallback = "sim/two"
	}
	if one(2) {
		c.window = int64(500 + r.IntN(1500))
	}
	if one(8) {
		c.caps.MaxTurns = int64(6 + r.IntN(30))
	}
	c.attend = 300 * r.IntN(4)
	c.teams = one(3)
	if one(5) {
		c.checks = "sim/two"
	}
	c.machine = drawMachine(r)
	return c
}

func drawMachine(r *rand.Rand) machine {
	m := machine{blind: r.IntN(6) == 0, reach: r.IntN(2) == 0}
	switch r.IntN(8) {
	case 0, 1:
	case 2:
		m.levels = []troupe.Level{troupe.LevelReadOnly}
	default:
		m.levels = []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
	}
	for r.IntN(2) == 0 && len(m.rules) < 3 {
		m.rules = append(m.rules, drawRule(r))
	}
	return m
}

// drawRule is a rule that somebody might have: most allow something.
func drawRule(r *rand.Rand) troupe.Rule {
	all := [...]troupe.Rule{
		{Effect: troupe.Allow, Text: "Bash(touch:*)"},
		{Effect: troupe.Allow, Text: "Bash(make)"},
		{Effect: troupe.Allow, Text: "Bash"},
		{Effect: troupe.Allow, Text: "Edit(/**)"},
		{Effect: troupe.Allow, Text: "Bash(creep)"},
		{Effect: troupe.Deny, Text: "Bash(curl:*)"},
		{Effect: troupe.Deny, Text: "Edit(//etc/**)"},
		{Effect: troupe.Deny, Text: "Bash(slow)"},
		{Effect: troupe.Ask, Text: "Bash(make)"},
		{Effect: troupe.Ask, Text: "Agent(worker)"},
	}
	rule := all[r.IntN(len(all))]
	rule.Source = "somebody"
	return rule
}

func (c climate) profile(kind string) troupe.Profile {
	limits := c.limits
	if c.endless && kind != "main" {
		limits.MaxTime = 0
	}
	p := troupe.Profile{
		Type: kind, Prompt: "You are " + kind + ".", Model: "sim/one", Limits: limits,
		Tools: []string{"Agent", "AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode",
			"MergeWorktree",
			"ExitWorktree", "Read",
			"SendMessage", "TaskCreate", "TaskOutput", "TaskStop",
			"TaskUpdate", "TeamCreate", "TeamDelete", "Weather"},
	}
	switch {
	case kind != "main":
	case len(c.steps) > 0:
		p.Model, p.Limits, p.Coordinates, p.Tools = workflow.Over("sim/one"), troupe.Limits{}, true, []string{"Agent"}
	case c.coordinator:
		p.Coordinates, p.Tools = true, coordinating()
	}
	switch kind {
	case "reader":
		p.Sandbox = troupe.LevelReadOnly
	case "boxed":
		p.Sandbox = troupe.LevelWorkspace
	case "planner":
		p.Mode = troupe.ModePlan
	case "careful":
		p.Mode = troupe.ModeDefault
	case "editor":
		p.Mode = troupe.ModeAcceptEdits
	case "trusted":
		p.Mode = troupe.ModeBypass
	}
	return p
}
