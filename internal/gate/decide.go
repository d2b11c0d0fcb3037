package gate

import (
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// The rows of the table, as decisions name them.
const (
	// StepProfile stands before the table: the tool is not among the session's own.
	StepProfile troupe.Step = "profile"

	StepManagedDeny troupe.Step = "managed deny"
	StepHookDeny    troupe.Step = "hook deny"
	StepDenyRule    troupe.Step = "deny rule"
	StepAskRule     troupe.Step = "ask rule"
	StepMode        troupe.Step = "mode"
	StepAllowRule   troupe.Step = "allow rule"
	StepHookAllow   troupe.Step = "hook allow"
	StepDeclared    troupe.Step = "declared"
	StepReadOnlyRun troupe.Step = "read-only run"
	StepAsk         troupe.Step = "ask"
)

// IsReadOnlyRun reports whether a command runs without leave: confined to reading, to see what it
// wants beyond that.
func IsReadOnlyRun(d troupe.Decision) bool { return d.Step == StepReadOnlyRun }

// IsMissingTool reports whether a call was denied because its session does not have the tool, which no
// permission changes.
func IsMissingTool(d troupe.Decision) bool { return d.Step == StepProfile && d.Effect == troupe.Deny }

// step is one row. It decides, or leaves the call to the rows below it.
type step struct {
	name   troupe.Step
	decide func(*view) (troupe.Effect, bool)
}

// table is the whole order in which a call is judged, once for each layer. The last row
// always decides.
func table() []step {
	return []step{
		{StepManagedDeny, managedDeny},
		{StepHookDeny, hookDeny},
		{StepDenyRule, denyRule},
		{StepAskRule, askRule},
		{StepMode, byMode},
		{StepAllowRule, allowRule},
		{StepHookAllow, hookAllow},
		{StepDeclared, declared},
		{StepReadOnlyRun, readOnlyRun},
		{StepAsk, ask},
	}
}

// view is a call as one layer judges it: with its own mode, and the rules and bounds of its
// layer and of all above it.
type view struct {
	call  *call
	layer int
	mode  Mode
	bound troupe.Level // the most that commands are left; LevelNone is no bound
}

func managedDeny(v *view) (troupe.Effect, bool) { return troupe.Deny, v.call.managed.holds(v.layer) }

// says reports whether something else than rules says so.
func (c *call) says(e troupe.Effect) bool { return c.judged != nil && c.judged.Effect == e }

func hookDeny(v *view) (troupe.Effect, bool) { return troupe.Deny, v.call.says(troupe.Deny) }

// hookAllow allows what a rule that names no protected path could.
func hookAllow(v *view) (troupe.Effect, bool) {
	_, possible := v.level(troupe.LevelWorkspace)
	// Where a mode answers no instead of asking, only rules say yes.
	return troupe.Allow, v.call.says(troupe.Allow) && !v.call.protected && v.mode.OnAsk != troupe.Deny &&
		!v.outside() &&
		(!v.call.isCommand() || possible && v.mode.Ceiling == troupe.ClassExec)
}

// denyRule also stands for what is kept from agents without a rule: keys, and Troupe's own, and what
// sandbox.deny_write names, and the tree that a session works beside, as far as there is a sandbox.
func denyRule(v *view) (troupe.Effect, bool) {
	return troupe.Deny, v.call.hiddenWhy != "" || v.call.deny.holds(v.layer) ||
		isLoose(v.call) && v.mode.Self < troupe.ClassExec ||
		v.call.closedWhy != "" && (v.mode.Self < troupe.ClassExec || v.bound != troupe.LevelNone)
}

// askRule asks, for a rule, a hook, or a call that wants a person's yes; where the mode turns questions into denials,
// or no answer could let the command run, it denies.
func askRule(v *view) (troupe.Effect, bool) {
	if !v.call.ask.holds(v.layer) && !v.call.says(troupe.Ask) && v.call.askWhy == "" {
		return "", false
	}
	if _, possible := v.level(troupe.LevelWorkspace); v.call.isCommand() && !possible {
		return troupe.Deny, true
	}
	return stricter(troupe.Ask, v.mode.OnAsk), true
}

func byMode(v *view) (troupe.Effect, bool) {
	switch {
	case v.call.isCommand():
		return v.commandByMode()
	case writesPlan(v.call), writesScratchpad(v.call):
		return troupe.Allow, true
	case v.call.class > v.mode.Ceiling:
		return troupe.Deny, true
	case writesMemory(v.call):
		return troupe.Allow, true
	case v.mode.Self == troupe.ClassExec:
		return troupe.Allow, !v.outside()
	case v.call.class == troupe.ClassEdit && v.mode.Self >= troupe.ClassEdit:
		return troupe.Allow, v.call.inside && !v.call.protected
	default:
		return "", false
	}
}

func allowRule(v *view) (troupe.Effect, bool) {
	if v.call.isCommand() {
		return troupe.Allow, v.commandByRule() && v.gitNamed()
	}
	return troupe.Allow, v.call.allow.holds(v.layer) && (!v.outside() || v.call.allow.rule.Tool == v.call.tool)
}

// declared allows what says of itself that it only reads, within the session's folders. What
// goes to the network by itself changes nothing here and tells somebody there. What is put before a client of the API
// does nothing by itself: whoever answers decides.
func declared(v *view) (troupe.Effect, bool) {
	return troupe.Allow, v.call.class == troupe.ClassRead && v.call.inside && v.call.url == "" ||
		v.call.client && !v.outside()
}

// readOnlyRun lets a command run where it can change nothing. Where no kernel confines it,
// reading its text has to show that it changes nothing.
func readOnlyRun(v *view) (troupe.Effect, bool) {
	if !v.call.isCommand() {
		return "", false
	}
	return troupe.Allow, (slices.Contains(v.call.levels, troupe.LevelReadOnly) || v.readsOnly()) && !v.gitHalf()
}

func ask(v *view) (troupe.Effect, bool) {
	if !v.call.isCommand() && v.outside() {
		return stricter(troupe.Ask, v.mode.OnAsk), true
	}
	if !v.call.isCommand() {
		return v.mode.OnAsk, true
	}
	if _, possible := v.level(troupe.LevelWorkspace); !possible || v.mode.Ceiling < troupe.ClassExec {
		return troupe.Deny, true
	}
	if v.doubtful() || v.blind(v.bound) {
		return stricter(troupe.Ask, v.mode.OnAsk), true
	}
	return v.mode.OnAsk, true
}

// hit is the first rule of a kind that covers the call, and the layer it stands in: it
// holds for that layer and for all below.
type hit struct {
	rule  *rule.Rule
	layer int
	found bool
}

func (h hit) holds(layer int) bool { return h.found && h.layer <= layer }

func (h *hit) take(r *rule.Rule, layer int) {
	if !h.found {
		*h = hit{r, layer, true}
	}
}

// Decide judges one call. It changes nothing, and is safe for concurrent use with shared rules. Only
// Query.GitChanges, where it is set, may start a process and so take time.
//
// Every session of the chain judges the call with its own mode and the rules of its own
// and of all above it; the strictest answer counts. The tools a profile offers bind its own
// session only: a session that has nothing but Agent may have children that have Bash.
// What binds descendants is modes, rules and sandboxes.
//
// For a command, Sandbox is the level it runs in, and of a decision that asks, the level in
// which it runs once somebody has said yes. Beyond is what becomes of what it attempts past
// that; a yes to what was attempted is leave to run in the workspace level with exactly that,
// and where the chain's bounds leave no room for it Beyond is Deny.
func (t *Tools) Decide(q Query) troupe.Decision {
	q.known = t
	if len(q.Chain) == 0 {
		return troupe.Decision{
			Effect: troupe.Deny, Step: StepProfile,
			Why: "this call came without the authority that it runs under",
		}
	}
	facts := t.Facts(q.Tool)
	if q.Access.Client { // only the tree knows such a tool
		known := *facts
		known.Client, facts = true, &known
	}
	if why := withheld(q.Chain, facts); why != "" {
		return troupe.Decision{
			Effect: troupe.Deny, Step: StepProfile, Why: nameOf(q.Chain[len(q.Chain)-1].Agent) + " " + why,
		}
	}
	if q.Access.Tool != "" { // from here on it is about the tool that it goes to
		q.via = t.Facts(q.Tool)
		if q.Tool = q.Access.Tool; withheld(q.Chain, t.Facts(q.Tool)) != "" {
			return troupe.Decision{Effect: troupe.Deny, Step: StepProfile, Why: nameOf(q.Chain[len(q.Chain)-1].Agent) +
				" " + withheld(q.Chain, t.Facts(q.Tool))}
		}
	}
	if why := q.startsNot(); why != "" {
		return troupe.Decision{Effect: troupe.Deny, Step: StepProfile, Why: why}
	}
	if why := q.narrowedOut(); why != "" {
		return troupe.Decision{Effect: troupe.Deny, Step: StepSkill, Why: why}
	}
	if why := q.notForMemory(); why != "" {
		return troupe.Decision{Effect: troupe.Deny, Step: StepMemory, Why: why}
	}
	c := newCall(&q)
	c.checkHiddenNamed(q.Chain)
	c.matchRules(q.Chain)
	rows := table()
	all := verdict{effect: troupe.Allow, level: troupe.LevelNone, leave: troupe.LevelNone, beyond: troupe.Allow}
	worst := all
	grantable, auto, bound := true, true, troupe.LevelNone
	for i := range q.Chain {
		if s := q.Chain[i].Sandbox; s != "" {
			bound = bound.Meet(s)
		}
		mode, _ := Meaning(q.Chain[i].Mode)
		v := view{call: &c, layer: i, mode: mode, bound: bound}
		this := v.judge(rows)
		grantable, auto = grantable && v.grantable(this), auto && v.auto(this)
		// Among equals the layer nearest to the caller explains best.
		if i == 0 || !this.opener(worst) {
			worst = this
		}
		all.meet(this)
	}
	d := explain(&q, &c, worst, grantable)
	if c.isCommand() {
		all.confine(&d)
		if d.Sandbox == troupe.LevelWorkspace {
			d.Opens = opens(&c, d.Effect)
		}
	}
	d.Auto = auto && (d.Effect == troupe.Ask || d.Effect == troupe.Allow && d.Beyond == troupe.Ask)
	return d
}

// verdict is what one layer says, and the row it said it in.
type verdict struct {
	effect troupe.Effect
	step   troupe.Step
	layer  int
	// Of commands: the level it is allowed in, the most that somebody's leave would make of
	// it, and what becomes of what it attempts beyond; Allow if nothing holds it.
	level, leave troupe.Level
	beyond       troupe.Effect
}

// opener reports whether v leaves more than o.
func (v verdict) opener(o verdict) bool {
	if a, b := strictness(v.effect), strictness(o.effect); a != b {
		return a < b
	}
	if v.effect == troupe.Allow && v.level != o.level {
		return v.level.Meet(o.level) == o.level
	}
	return strictness(v.beyond) < strictness(o.beyond)
}

// meet makes of v what is left when both have to agree.
func (v *verdict) meet(o verdict) {
	v.effect = stricter(v.effect, o.effect)
	v.level, v.leave = v.level.Meet(o.level), v.leave.Meet(o.leave)
	v.beyond = stricter(v.beyond, o.beyond)
}

// confine writes into a decision about a command what the whole chain leaves it.
func (v verdict) confine(d *troupe.Decision) {
	switch d.Effect {
	case troupe.Allow:
		d.Sandbox = v.level
	case troupe.Ask:
		d.Sandbox = v.leave
	default:
		return
	}
	if d.Sandbox != troupe.LevelNone {
		d.Beyond = v.beyond
	}
}

func (v *view) judge(rows []step) verdict {
	out := verdict{effect: troupe.Deny, step: StepAsk, layer: v.layer}
	for i := range rows {
		if e, decided := rows[i].decide(v); decided {
			out.effect, out.step = e, rows[i].name
			break
		}
	}
	out.level, out.leave, out.beyond = troupe.LevelNone, troupe.LevelNone, troupe.Allow
	if v.call.isCommand() {
		v.confine(&out)
	}
	return out
}

// grantable reports whether a rule could have changed what this layer says.
func (v *view) grantable(this verdict) bool {
	switch this.step {
	case StepAsk:
		_, possible := v.level(troupe.LevelWorkspace)
		return !v.call.isCommand() || possible && v.mode.Ceiling == troupe.ClassExec && v.bound != troupe.LevelReadOnly
	case StepReadOnlyRun:
		return v.mode.Ceiling == troupe.ClassExec && v.bound != troupe.LevelReadOnly
	default:
		return this.effect == troupe.Allow
	}
}
