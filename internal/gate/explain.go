package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// whyDenied says what denies a call, of a rule and of what stands for one.
func whyDenied(q *Query, c *call, v verdict) (rule, source, why string) {
	switch {
	case c.deny.holds(v.layer):
		return c.deny.cite(q, "denies it")
	case c.hiddenBy == byServer:
		return "", byServer, c.hiddenWhy
	case c.hiddenWhy != "":
		return "", "sandbox.deny_read", c.hiddenWhy + "; sandbox.allow_read in your settings can make it readable, " +
			"unless a deny_read setting names it"
	case isLoose(c):
		return "", byServer, "agents of this server see their own project alone, and this machine cannot confine " +
			"commands " +
			"to it"
	default:
		return "", c.closedBy, c.closedWhy
	}
}

// explain turns a verdict into words. Allowed calls are the many, so theirs are ready-made.
func explain(q *Query, c *call, v verdict, grantable bool) troupe.Decision {
	layer := &q.Chain[v.layer]
	d := troupe.Decision{Effect: v.effect, Step: v.step}
	if v.effect == troupe.Allow {
		c.allowed(&d, v, layer.Mode)
		if v.step == StepReadOnlyRun && grantable && v.level != troupe.LevelNone {
			if grants := c.grants(); len(grants) == 1 {
				d.Grant = grants[0]
			}
		}
		return d
	}
	d.Protected, d.Unconfined = v.effect == troupe.Ask && c.protected, v.effect == troupe.Ask && c.unconfined
	mode := string(layer.Mode)
	switch v.step {
	case StepManagedDeny:
		d.Rule, d.Source, d.Why = c.managed.cite(q, "denies it")
	case StepDenyRule:
		d.Rule, d.Source, d.Why = whyDenied(q, c, v)
	case StepHookDeny:
		d.Why = c.judgement("denies it")
	case StepAskRule:
		if c.ask.holds(v.layer) {
			d.Rule, d.Source, d.Why = c.ask.cite(q, "asks before it")
		} else if c.askWhy != "" {
			d.Why = c.askWhy
		} else {
			d.Why = c.judgement("asks before it")
		}
		switch mode, _ := Meaning(layer.Mode); {
		case v.effect != troupe.Deny:
		case mode.OnAsk == troupe.Deny:
			d.Why += ", and mode " + string(layer.Mode) + " denies what would be asked"
		default:
			d.Why += ", and " + c.unboundable(q, v.layer)
		}
	case StepMode:
		d.Why = modeForbids(layer.Mode) + ", and this call " + c.does()
		if c.isCommand() {
			d.Why += "; this machine cannot confine commands"
		}
	default:
		d.Why = c.whyAsked(q, v)
		if meaning, _ := Meaning(layer.Mode); v.effect == troupe.Deny && meaning.OnAsk == troupe.Deny {
			d.Why += "; mode " + mode + " denies what would be asked"
		}
	}
	if v.layer != len(q.Chain)-1 {
		d.Why += " (decided for " + nameOf(layer.Agent) + ", which this agent works for)"
	}
	if grantable {
		c.offer(&d)
	}
	return d
}

// offer names what would have allowed the call.
func (c *call) offer(d *troupe.Decision) {
	switch grants := c.grants(); {
	case len(grants) == 1:
		d.Grant, d.Wider = grants[0], wider(c)
		if d.Effect == troupe.Deny {
			d.Why += "; " + HowToGrant(d.Grant)
		}
	case len(grants) > 1:
		d.Why += "; it needs the rules " + strings.Join(grants, " and ")
	case !c.unclear:
		d.Why += "; only the rule " + c.tool + ", for every use of it, would allow it"
	}
}

// whyAsked is why nothing allowed the call.
func (c *call) whyAsked(q *Query, v verdict) string {
	if c.isCommand() {
		view := view{call: c, layer: v.layer, bound: boundOf(q.Chain[:v.layer+1])}
		if _, possible := view.level(troupe.LevelWorkspace); !possible {
			return c.unboundable(q, v.layer) + ", and it " + c.does()
		}
		if !view.doubtful() && view.blind(view.bound) {
			return "it is not known what it writes to, and the rule " + fmt.Sprintf("%q",
				c.shell.writeRule.rule.Written.Text) + " is about writing"
		}
		if view.doubtful() {
			why := "a shell in it runs what it is given"
			if odd := c.obscures(); odd != "" {
				why = odd
			}
			if len(c.shell.unclear) > 0 {
				why = c.shell.unclear[0]
			}
			return "it is not known what it runs (" + why + "), and the rule " +
				fmt.Sprintf("%q", c.shell.nameRule.rule.Written.Text) + " is about commands by name"
		}
	}
	if c.isCommand() && len(c.levels) == 0 {
		return "no rule allows it, this machine cannot confine it, and it " + c.does()
	}
	return "no rule allows it, and it " + c.does()
}

// unboundable says that a bound cannot be kept.
func (c *call) unboundable(q *Query, layer int) string {
	return fmt.Sprintf("commands of this agent are bound to %q, which this machine cannot hold them to",
		string(boundOf(q.Chain[:layer+1])))
}

// boundOf is the most that commands are left by a chain.
func boundOf(chain []Layer) troupe.Level {
	bound := troupe.LevelNone
	for i := range chain {
		if s := chain[i].Sandbox; s != "" {
			bound = bound.Meet(s)
		}
	}
	return bound
}

func (c *call) allowed(d *troupe.Decision, v verdict, mode troupe.Mode) {
	switch v.step {
	case StepAllowRule:
		r := c.allow.rule
		if c.isCommand() {
			r = (&view{call: c, layer: v.layer}).cited()
		}
		d.Rule, d.Source, d.Why = r.Written.Text, r.Written.Source, "a rule allows it"
	case StepHookAllow:
		d.Why = c.judgement("allows it")
	case StepDeclared:
		d.Why = "it only reads, in the session's own folders"
	case StepReadOnlyRun:
		switch {
		case v.level == troupe.LevelNone:
			d.Why = "it only reads, as far as its text says; no sandbox holds it here"
		case v.beyond == troupe.Ask:
			d.Why = "it runs where it can change nothing; what it wants beyond that is asked about"
		default:
			d.Why = "it runs where it can change nothing; what it wants beyond that is denied"
		}
	default:
		d.Why = "mode " + string(mode) + " allows it"
		if writesPlan(c) {
			d.Why = "it writes the plan, and nothing else"
		} else if writesMemory(c) {
			d.Why = "it writes its own memory, and nothing else"
		}
	}
}

// judgement says what something else than rules says, and why.
func (c *call) judgement(does string) string {
	if c.judged.Why == "" {
		return c.judged.By + " " + does
	}
	return c.judged.By + " " + does + ": " + c.judged.Why
}

// cite names the rule that decided, where it stands, and why it covers more than it says.
func (h hit) cite(q *Query, verb string) (text, source, why string) {
	r := h.rule.Written
	why = fmt.Sprintf("the rule %q %s", r.Text, verb)
	if r.Source != "" {
		why += " (" + r.Source + ")"
	}
	if h.rule.Note != "" {
		why += "; the rule " + h.rule.Note + ", so it covers all that it may have meant"
	}
	if h.rule.Words.Lits != nil && len(q.Access.Command) > 0 && !matchesWhole(h.rule, q.Access.Command) {
		why += "; it covers a part of the command"
	}
	if h.layer != len(q.Chain)-1 {
		why += "; it was set for " + nameOf(q.Chain[h.layer].Agent) + " and holds for all its agents"
	}
	return r.Text, r.Source, why
}

func modeForbids(m troupe.Mode) string {
	if _, known := Meaning(m); !known {
		return fmt.Sprintf("mode %q is not known, so only reading is allowed", string(m))
	}
	return "mode " + string(m) + " allows only reading"
}

// does says in a few words what a call that was not allowed would do.
func (c *call) does() string {
	switch {
	case c.unclear:
		return "does not say clearly which files it is about"
	case c.isCommand():
		return c.doesRun()
	case isServer(c.tool):
		return "goes to an MCP server, which may change anything"
	case c.class == troupe.ClassExec:
		return "may change anything"
	}
	if c.url != "" {
		if c.host.Unsure || c.host.User {
			return "asks the network for a place that its address does not name clearly"
		}
		if c.host.Tells {
			return "asks " + rule.Visible(strings.Join(c.host.Labels, ".")) +
				" with so long an address that it could carry away what was read here"
		}
		return "asks " + rule.Visible(strings.Join(c.host.Labels, ".")) + " over the network"
	}
	for _, p := range c.paths {
		switch {
		case p.write:
			return "writes " + leading(c, p)
		case c.class == troupe.ClassRead && !p.inside:
			return "reads " + rule.Visible(p.name) + ", which is outside the session's folders"
		}
	}
	return "changes files"
}

// leading is a path that would be written, with where it leads if that is elsewhere.
func leading(c *call, p callPath) string {
	text := rule.Visible(p.name)
	guarded := len(p.guards) > 0
	for _, to := range c.paths {
		if c.resolve != nil && to.write && to.name != p.name && to.name == path.Clean(c.resolve(p.name)) {
			text += ", which leads to " + rule.Visible(to.name)
			guarded = guarded || len(to.guards) > 0
		}
	}
	if guarded {
		text += ", which is protected"
	}
	if !p.inside {
		text += ", outside of the folder"
	}
	return text
}

// doesRun says what a command may do, as far as reading it tells.
func (c *call) doesRun() string {
	if c.shell.mayRead != "" {
		return "may read " + c.shell.mayRead
	}
	if i := slices.IndexFunc(c.tree, func(t target) bool { return !t.by.found }); i >= 0 {
		return "changes files that are protected: " + treeNames(c.tree)
	}
	if c.shell.carries != "" {
		return rule.Visible(c.shell.carries)
	}
	if c.shell.judged && c.shell.verdict.Why != "" {
		return c.shell.verdict.Why
	}
	return "runs a command"
}

// matchesWhole: the rule is about the whole text of a command.
func matchesWhole(r *rule.Rule, command string) bool {
	for i := range r.Denials {
		if r.Denials[i].Match(rule.OneBlank(command)) {
			return true
		}
	}
	return false
}

// grants lists the rules that would together have allowed the call, none broader than the
// call itself. It is empty if only a broader one would.
func (c *call) grants() []string {
	switch {
	case c.unclear:
		return nil
	case c.isCommand():
		// What is not shown as it is must not be allowed for good.
		if c.facts.Argument != troupe.CommandArgument || hasHidden(c.shell.text) {
			return nil
		}
		return append([]string{c.tool + "(" + rule.CommandSpec(c.shell.text) + ")"}, treeGrants(c)...)
	case c.url != "":
		if c.facts.Argument != troupe.DomainArgument || c.host.Unsure || c.host.User || c.host.Tells ||
			len(c.host.Labels) == 0 {
			return nil
		}
		return []string{c.tool + "(domain:" + strings.Join(c.host.Labels, ".") + ")"}
	case c.agent != "":
		return nil // a birth only reads: nothing but a rule or a mode stops it
	}
	tool := c.tool
	switch {
	case isServer(c.tool):
		return []string{tool}
	case c.facts.Argument != troupe.PathArgument:
		return nil
	case rule.EditsFiles(c.facts):
		tool = cmp.Or(c.facts.Like, tool)
	}
	var out []string
	for _, p := range c.paths {
		if p.free || p.since == 0 {
			continue
		}
		if !utf8.ValidString(p.name) || p.write && !rule.EditsFiles(c.facts) {
			return nil // no rule can name it
		}
		if rule := ruleFor(c, tool, p.name); !slices.Contains(out, rule) {
			out = append(out, rule)
		}
	}
	return out
}

// hasHidden: characters that are not shown, or not as they are.
func hasHidden(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && troupe.Unseen(r)
	})
}

// WithoutAsker is the answer where nobody can be asked: a question becomes a denial at once,
// which says what would have allowed the call.
func WithoutAsker(d troupe.Decision) troupe.Decision {
	if d.Effect != troupe.Ask {
		return d
	}
	d.Effect = troupe.Deny
	d.Why += "; this run cannot ask for permission"
	switch {
	case d.Grant != "":
		d.Why += "; " + HowToGrant(d.Grant)
	case d.Step == StepAskRule && d.Rule != "":
		d.Why += "; without that rule it would be judged by the rest"
	}
	return d
}

// HowToGrant says how a person gives a rule. A rule that a flag's value would not survive
// is given in the settings only.
func HowToGrant(text string) string {
	settings := "in settings.json, permissions.allow: " + jsonString(text)
	if parts := rule.Split(text); len(parts) != 1 || parts[0] != text || strings.ContainsFunc(text, unicode.IsControl) {
		return "to allow it: " + settings
	}
	return "to allow it: --allowed-tools " + shellQuote(text) + ", or " + settings
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func nameOf(agent string) string {
	if agent == "" {
		return "this session"
	}
	return rule.Visible(agent)
}

// jsonString writes s as it has to stand in a settings file.
func jsonString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return fmt.Sprintf("%q", s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
