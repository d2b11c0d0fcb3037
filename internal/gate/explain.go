package gate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// explain turns a verdict into words. Allowed calls are the many, so theirs are ready-made.
func explain(q *Query, c *call, v verdict, grantable bool) troupe.Decision {
	layer := &q.Chain[v.layer]
	if v.effect == troupe.Allow {
		return allowed(c, v, layer.Mode)
	}
	d := troupe.Decision{Effect: v.effect, Step: v.step}
	mode := string(layer.Mode)
	switch v.step {
	case StepDenyRule:
		d.Rule, d.Source, d.Why = c.deny.cite(q, "denies it")
	case StepAskRule:
		d.Rule, d.Source, d.Why = c.ask.cite(q, "asks before it")
		if v.effect == troupe.Deny {
			d.Why += ", and mode " + mode + " denies what would be asked"
		}
	case StepMode:
		d.Why = modeForbids(layer.Mode) + ", and this call " + c.does()
	default:
		d.Why = "no rule allows it, and it " + c.does()
		if v.effect == troupe.Deny {
			d.Why += "; mode " + mode + " denies what would be asked"
		}
	}
	if v.layer != len(q.Chain)-1 {
		d.Why += " (decided for " + nameOf(layer.Agent) + ", which this agent works for)"
	}
	if !grantable {
		return d
	}
	switch grants := c.grants(); {
	case len(grants) == 1:
		d.Grant = grants[0]
		if v.effect == troupe.Deny {
			d.Why += "; " + howToGrant(d.Grant)
		}
	case len(grants) > 1:
		d.Why += "; it needs the rules " + strings.Join(grants, " and ")
	case !c.unclear:
		d.Why += "; only the rule " + c.tool + ", for every use of it, would allow it"
	}
	return d
}

func allowed(c *call, v verdict, mode troupe.Mode) troupe.Decision {
	d := troupe.Decision{Effect: troupe.Allow, Step: v.step}
	switch v.step {
	case StepAllowRule:
		d.Rule, d.Source, d.Why = c.allow.rule.rule.Text, c.allow.rule.rule.Source, "a rule allows it"
	case StepDeclared:
		d.Why = "it only reads, in the session's own folders"
	default:
		d.Why = "mode " + string(mode) + " allows it"
	}
	return d
}

// cite names the rule that decided, where it stands, and why it covers more than it says.
func (h hit) cite(q *Query, verb string) (text, source, why string) {
	r := h.rule.rule
	why = fmt.Sprintf("the rule %q %s", r.Text, verb)
	if r.Source != "" {
		why += " (" + r.Source + ")"
	}
	if h.rule.note != "" {
		why += "; the rule " + h.rule.note + ", so it covers all that it may have meant"
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
	case c.command != "":
		return "runs a command"
	case c.class == troupe.ClassExec:
		return "may change anything"
	}
	for _, p := range c.paths {
		switch {
		case p.write:
			return "writes " + visible(p.name)
		case c.class == troupe.ClassRead && !p.homely:
			return "reads " + visible(p.name) + ", which is outside the session's folders"
		}
	}
	return "changes files"
}

// grants lists the rules that would together have allowed the call, none broader than the
// call itself. It is empty if only a broader one would.
func (c *call) grants() []string {
	switch {
	case c.unclear:
		return nil
	case c.command != "":
		if c.tool != toolBash || !utf8.ValidString(c.command) {
			return nil
		}
		return []string{toolBash + "(" + commandSpec(c.command) + ")"}
	case c.agent != "":
		return nil // a birth only reads: nothing but a rule or a mode stops it
	}
	tool := c.tool
	switch tool {
	case toolWrite:
		tool = toolEdit
	case toolEdit, toolRead, toolGrep, toolGlob:
	default:
		return nil
	}
	var out []string
	for _, p := range c.paths {
		if p.free || p.since == 0 {
			continue
		}
		if !utf8.ValidString(p.name) || p.write && tool != toolEdit {
			return nil // no rule can name it
		}
		if rule := tool + "(" + literalPattern(p.name) + ")"; !slices.Contains(out, rule) {
			out = append(out, rule)
		}
	}
	return out
}

// Headless is the answer where nobody can be asked: a question becomes a denial at once,
// which says what would have allowed the call.
func Headless(d troupe.Decision) troupe.Decision {
	if d.Effect != troupe.Ask {
		return d
	}
	d.Effect = troupe.Deny
	d.Why += "; nobody is here to be asked"
	switch {
	case d.Grant != "":
		d.Why += "; " + howToGrant(d.Grant)
	case d.Step == StepAskRule:
		d.Why += "; without that rule it would be judged by the rest"
	}
	return d
}

// howToGrant says how a person gives a rule. A rule that a flag's value would not survive
// is given in the settings only.
func howToGrant(rule string) string {
	settings := "in settings.json, permissions.allow: " + jsonString(rule)
	if parts := Split(rule); len(parts) != 1 || parts[0] != rule || strings.ContainsFunc(rule, unicode.IsControl) {
		return "to allow it: " + settings
	}
	return "to allow it: --allowed-tools " + shellQuote(rule) + ", or " + settings
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func nameOf(agent string) string {
	if agent == "" {
		return "this session"
	}
	return visible(agent)
}

// visible shows a name with its control characters, so that it cannot pose as other text.
func visible(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("%q", s)
	}
	return s
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
