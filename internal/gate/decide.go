package gate

import (
	"path"
	"slices"

	"github.com/troupe-dev/troupe"
)

// The rows of the table, as decisions name them.
const (
	// StepProfile stands before the table: the tool is not among the session's own.
	StepProfile = "profile"

	StepManagedDeny = "managed deny"
	StepHookDeny    = "hook deny"
	StepDenyRule    = "deny rule"
	StepAskRule     = "ask rule"
	StepMode        = "mode"
	StepAllowRule   = "allow rule"
	StepHookAllow   = "hook allow"
	StepDeclared    = "declared"
	StepReadOnlyRun = "read-only run"
	StepAsk         = "ask"
)

// step is one row. It decides, or leaves the call to the rows below it.
type step struct {
	name   string
	decide func(*view) (troupe.Effect, bool)
}

// table is the whole order in which a call is judged, once for each layer. The last row
// always decides. Rows that pass wait for their mechanism: managed settings, hooks and the
// sandbox's read-only run.
func table() [10]step {
	return [10]step{
		{StepManagedDeny, pass},
		{StepHookDeny, pass},
		{StepDenyRule, denyRule},
		{StepAskRule, askRule},
		{StepMode, byMode},
		{StepAllowRule, allowRule},
		{StepHookAllow, pass},
		{StepDeclared, declared},
		{StepReadOnlyRun, pass},
		{StepAsk, ask},
	}
}

// Table lists the rows in order, for people.
func Table() []string {
	var names []string
	for _, s := range table() {
		names = append(names, s.name)
	}
	return names
}

// view is a call as one layer judges it: with its own mode, and the rules of its layer and
// of all above it.
type view struct {
	*call
	layer int
	mode  Mode
}

func pass(*view) (troupe.Effect, bool) { return "", false }

func denyRule(v *view) (troupe.Effect, bool) { return troupe.Deny, v.deny.holds(v.layer) }

// askRule asks; where the mode turns questions into denials, it denies.
func askRule(v *view) (troupe.Effect, bool) {
	return stricter(troupe.Ask, v.mode.OnAsk), v.ask.holds(v.layer)
}

func byMode(v *view) (troupe.Effect, bool) {
	switch {
	case v.class > v.mode.Ceiling:
		return troupe.Deny, true
	case v.mode.Self == troupe.ClassExec:
		return troupe.Allow, true
	case v.class == troupe.ClassEdit && v.mode.Self >= troupe.ClassEdit:
		return troupe.Allow, v.homely
	default:
		return "", false
	}
}

func allowRule(v *view) (troupe.Effect, bool) { return troupe.Allow, v.allow.holds(v.layer) }

// declared allows what says of itself that it only reads, within the session's folders.
func declared(v *view) (troupe.Effect, bool) {
	return troupe.Allow, v.class == troupe.ClassRead && v.homely
}

func ask(v *view) (troupe.Effect, bool) { return v.mode.OnAsk, true }

// hit is the first rule of a kind that covers the call, and the layer it stands in: it
// holds for that layer and for all below.
type hit struct {
	rule  *Rule
	layer int
	found bool
}

func (h hit) holds(layer int) bool { return h.found && h.layer <= layer }

// call is a query with what every layer needs to know of it, worked out once.
type call struct {
	tool    string
	command string
	agent   string
	class   troupe.Class
	at      places
	paths   []callPath
	// unclear: a path is not absolute, so that nobody can say where it leads. It matches
	// every deny rule of its tool and no allow rule.
	unclear bool
	// homely: every path lies in the session's folders.
	homely bool
	fold   bool // compare paths of deny and ask rules without regard to case

	deny, ask, allow hit
}

type callPath struct {
	name   string
	write  bool
	homely bool
	free   bool // needs no rule: a read in the session's folders
	since  int  // the first layer with an allow rule that covers it; -1: none
}

// Decide judges one call. It is pure, and safe for concurrent use with shared rules.
//
// Every session of the chain judges the call with its own mode and the rules of its own
// and of all above it; the strictest answer counts. The tools a profile offers bind its own
// session only: a session that has nothing but Agent may have children that have Bash.
// What binds descendants is modes and rules.
func Decide(q Query) troupe.Decision {
	if len(q.Chain) == 0 {
		return troupe.Decision{Effect: troupe.Deny, Step: StepProfile, Why: "nobody answers for this call: it came without a line of authority"}
	}
	c := newCall(&q)
	caller := q.Chain[len(q.Chain)-1]
	if caller.Offered != nil && !slices.Contains(caller.Offered, q.Tool) {
		return troupe.Decision{Effect: troupe.Deny, Step: StepProfile, Why: nameOf(caller.Agent) + " does not have the tool " + q.Tool}
	}
	c.matchRules(q.Chain)
	rows := table()
	var worst verdict
	grantable := true
	for i := range q.Chain {
		mode, _ := Meaning(q.Chain[i].Mode)
		v := view{call: &c, layer: i, mode: mode}
		this := v.judge(&rows)
		if this.effect != troupe.Allow && this.step != StepAsk {
			grantable = false
		}
		// Among equals the layer nearest to the caller explains best.
		if i == 0 || strictness(this.effect) >= strictness(worst.effect) {
			worst = this
		}
	}
	return explain(&q, &c, worst, grantable)
}

// verdict is what one layer says, and the row it said it in.
type verdict struct {
	effect troupe.Effect
	step   string
	layer  int
}

func (v *view) judge(rows *[10]step) verdict {
	for i := range rows {
		if e, decided := rows[i].decide(v); decided {
			return verdict{e, rows[i].name, v.layer}
		}
	}
	return verdict{troupe.Deny, StepAsk, v.layer}
}

func newCall(q *Query) call {
	c := call{
		tool: q.Tool, command: q.Access.Command, agent: q.Access.Agent, class: q.Access.Class,
		at: places{home: q.Home}, homely: true, fold: foldsCase(),
	}
	if len(q.Roots) > 0 {
		c.at.project = q.Roots[0]
	}
	// What a call would do counts for more than the class it gives itself.
	if len(q.Access.Writes) > 0 {
		c.class = max(c.class, troupe.ClassEdit)
	}
	if c.command != "" || c.class < troupe.ClassRead {
		c.class = troupe.ClassExec
	}
	if n := len(q.Access.Reads) + len(q.Access.Writes); n > 0 {
		c.paths = make([]callPath, 0, n)
	}
	for _, p := range q.Access.Reads {
		c.addPath(p, false, q.Roots)
	}
	for _, p := range q.Access.Writes {
		c.addPath(p, true, q.Roots)
	}
	if len(c.paths) == 0 && (familyCovers(toolRead, c.tool) || familyCovers(toolEdit, c.tool) || c.tool == toolRead || c.tool == toolEdit || c.class == troupe.ClassEdit) {
		c.unclear = true // a tool for files that names none
	}
	c.homely = c.homely && !c.unclear
	return c
}

func (c *call) addPath(name string, write bool, roots []string) {
	if !path.IsAbs(name) {
		c.unclear = true
		return
	}
	p := callPath{name: path.Clean(name), write: write, since: -1}
	for _, root := range roots {
		if path.IsAbs(root) {
			if _, ok := below(path.Clean(root), p.name, false); ok {
				p.homely = true
				break
			}
		}
	}
	p.free = p.homely && c.class == troupe.ClassRead
	c.homely = c.homely && p.homely
	c.paths = append(c.paths, p)
}

// matchRules finds, for each effect, the first rule along the chain that covers the call.
// An allow rule may cover one of several paths (a link, say) and leave the others to
// others: the call is allowed from the layer on at which all are covered.
func (c *call) matchRules(chain []Layer) {
	for i := range chain {
		for j := range chain[i].Rules {
			r := &chain[i].Rules[j]
			switch r.rule.Effect {
			case troupe.Deny:
				if !c.deny.found && r.speaksOf(c) {
					c.deny = hit{r, i, true}
				}
			case troupe.Ask:
				if !c.ask.found && r.speaksOf(c) {
					c.ask = hit{r, i, true}
				}
			case troupe.Allow:
				c.matchAllow(r, i)
			}
		}
	}
}

func (c *call) matchAllow(r *Rule, layer int) {
	if c.allow.found {
		return
	}
	if r.allowsAll(c) {
		c.allow = hit{r, layer, true}
		return
	}
	if r.kind != kindPath || c.unclear || len(c.paths) == 0 {
		return
	}
	helped, whole := false, true
	for i := range c.paths {
		p := &c.paths[i]
		if p.since < 0 && r.allowsPath(c, p) {
			p.since, helped = layer, true
		}
		whole = whole && (p.since >= 0 || p.free)
	}
	if helped && whole {
		c.allow = hit{r, layer, true}
	}
}
