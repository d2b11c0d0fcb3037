package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Explainer says how the gate would judge calls in a folder, with the settings and flags that
// a run there would have. It runs nothing and starts nothing.
type Explainer struct {
	app       *App
	tools     *toolbox
	profiles  *profiles
	main      troupe.Profile
	authority troupe.Authority
	guard     *guard
	request   Request
	depth     int // how deep trees may grow
}

// Explain makes an Explainer. What is odd in the rules is in the warnings.
func (a *App) Explain(ctx context.Context, r Request) (*Explainer, []string, error) {
	p, err := a.policyOf(r.Cwd, false)
	if err != nil {
		return nil, nil, err
	}
	if r.Trust {
		p.standing.Trusted, p.standing.Questions = true, nil
	}
	x := &Explainer{app: a, request: r, depth: p.settings.Agents.MaxDepth}
	if x.guard, err = a.newGuard(ctx); err != nil {
		return nil, nil, err
	}
	if x.tools, err = a.newToolbox(x.guard); err != nil {
		return nil, nil, err
	}
	var problems, more []string
	if x.profiles, problems, err = newProfiles(a, x.tools, p, r); err != nil {
		return nil, nil, err
	}
	model, err := a.models.Default(r.Model, r.Cwd)
	if err != nil {
		model = defaultModel // which one it is decides nothing here
	}
	if x.main, err = x.profiles.main(r, model); err != nil {
		return nil, nil, err
	}
	if x.authority, more, err = a.authority(r, p, nil); err != nil {
		return nil, nil, err
	}
	return x, append(problems, more...), nil
}

// Close ends what judging needed.
func (x *Explainer) Close() error { return errors.Join(x.tools.close(), x.guard.close()) }

// Judge says what would become of one call.
func (x *Explainer) Judge(c wire.Call) wire.Verdict {
	out := wire.Verdict{ID: c.ID, Decision: troupe.Deny, Sandbox: troupe.LevelNone}
	if c.Tool == "Task" { // what rules may call it too
		c.Tool = x.tools.agent
	}
	chain, err := x.chain(c)
	if err != nil {
		out.Why = err.Error()
		return out
	}
	access, err := x.access(c)
	if err != nil {
		out.Why = err.Error()
		return out
	}
	q := gate.Query{
		Tool: c.Tool, Access: access, Chain: chain, Home: resolved(x.app.dirs.Home), Roots: []string{x.request.Cwd},
		Levels: x.guard.box.Levels(), Protected: x.guard.Protected(x.request.Cwd),
		Hidden: x.guard.Hidden(x.request.Cwd), Resolve: x.guard.Resolve,
	}
	if access.Command != "" && len(q.Levels) == 0 {
		q.SafeGit = x.guard.SafeGit(x.request.Cwd)
		q.HiddenFiles = func() []string { return x.guard.HiddenFiles(x.request.Cwd) }
	}
	if last := &chain[len(chain)-1]; later(c.Tool) && len(chain) == 1 {
		last.Offered = append(slices.Clip(last.Offered), c.Tool)
	}
	d := gate.Decide(q)
	out.Decision, out.Rule, out.Source, out.Why = d.Effect, d.Rule, d.Source, d.Why
	if d.Effect != troupe.Deny && d.Sandbox != "" {
		out.Sandbox = d.Sandbox
	}
	if out.Decision != troupe.Deny && out.Sandbox != troupe.LevelNone {
		if out.Kept = x.kept(access.Command); out.Kept != "" {
			out.Why += "; but " + out.Kept
		}
	}
	return out
}

// keptTried is how many hidden files are tried one by one; nobody reads a list of more.
const keptTried = 200

// kept says what a command that the kernel confines would come to and not be let read; "" if
// nothing is known of it. Where no kernel sees to it the gate does, and its answer tells: it is
// another one than if nothing was hidden.
func (x *Explainer) kept(command string) string {
	if command == "" {
		return ""
	}
	q := gate.Query{
		Tool: "Bash", Access: troupe.Access{Class: troupe.ClassExec, Command: command}, Home: resolved(x.app.dirs.Home), Roots: []string{x.request.Cwd},
		SafeGit: true, Resolve: x.guard.Resolve,
	}
	hidden, files := x.guard.Hidden(x.request.Cwd), x.guard.HiddenFiles(x.request.Cwd)
	var tried []string
	// What it names is refused in every mode; what it may come to is asked about where reading is
	// all that it may do.
	asked := func(name string) (string, bool) {
		why, is := hidden(name)
		if is && !slices.Contains(tried, name) {
			tried = append(tried, name)
		}
		return why, is
	}
	if !differs(q, troupe.ModeBypass, asked, nil) {
		tried = nil
	}
	if differs(q, troupe.ModeDefault, nil, files) {
		tried = append(tried, files[:min(len(files), keptTried)]...)
	}
	var names []string
	for _, name := range tried {
		only := func(n string) (string, bool) { return "", n == name }
		if !slices.Contains(names, name) && (differs(q, troupe.ModeBypass, only, nil) || differs(q, troupe.ModeDefault, nil, []string{name})) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	why, _ := hidden(names[0])
	what := fmt.Sprintf("%s (%s) is", names[0], why)
	if more := len(names) - 1; more > 0 {
		what = fmt.Sprintf("%s (%s) and %d more are", names[0], why, more)
	}
	return fmt.Sprintf("%s kept from commands, which get \"Permission denied\" there; \"sandbox\": {\"allow_read\": [...]} in %s opens what nobody's deny_read names", what, x.app.dirs.Settings())
}

// differs reports whether an agent with all that a mode gives, and no rules, is answered another
// way because something is hidden.
func differs(q gate.Query, mode troupe.Mode, hidden func(string) (string, bool), files []string) bool {
	q.Chain = []gate.Layer{{Agent: profile.Main, Mode: mode, Leads: true}}
	open := gate.Decide(q)
	q.Hidden, q.HiddenFiles = hidden, func() []string { return files }
	return gate.Decide(q).Effect != open.Effect
}

// later tells tools that rules may speak of though they are not here now: those of MCP
// servers and skills, and searching without a search service. They are judged as if they were.
func later(tool string) bool {
	return strings.HasPrefix(tool, "mcp__") || tool == "Skill" || tool == "WebSearch"
}

// access decodes the call and says what it would do.
func (x *Explainer) access(c wire.Call) (troupe.Access, error) {
	input := string(c.Input)
	if input == "" {
		input = "{}"
	}
	if in, ok, err := x.tools.Intent(c.Tool, input); ok {
		sp, _ := in.(troupe.Spawn)
		return troupe.Access{Class: troupe.ClassRead, Agent: sp.Type}, err
	}
	runner, ok := x.tools.Runner(c.Tool)
	if !ok && later(c.Tool) {
		var in struct{ Skill string }
		_ = json.Unmarshal([]byte(input), &in) // what is missing is judged as missing
		switch c.Tool {
		case "Skill":
			return troupe.Access{Class: troupe.ClassExec, Agent: in.Skill}, nil
		case "WebSearch":
			return troupe.Access{Class: troupe.ClassRead, URL: "https://search.invalid/"}, nil
		}
		return troupe.Access{Class: troupe.ClassExec}, nil
	}
	if !ok {
		return troupe.Access{}, fmt.Errorf("there is no tool %q; the tools are %s", c.Tool, strings.Join(x.tools.names(), ", "))
	}
	p, err := runner.Prepare(tool.Env{Cwd: x.request.Cwd, Seen: func(string) (string, bool) { return "", false }, CallID: "r1c0"}, input)
	if err != nil {
		return troupe.Access{}, err
	}
	return p.Access(), nil
}

// chain is the line of authority down to the agent a call names: "main", a type such as
// "Explore", or a path of types, "main/general-purpose/Explore".
func (x *Explainer) chain(c wire.Call) ([]gate.Layer, error) {
	granted := x.authority
	if c.Mode != "" {
		if !slices.Contains(troupe.Modes(), c.Mode) {
			return nil, fmt.Errorf("there is no permission mode %q; there are %v", c.Mode, troupe.Modes())
		}
		granted.Mode = c.Mode
	}
	chain := []gate.Layer{gate.LayerOf(profile.Main, x.main, granted, x.depth > 0, false)}
	parent := troupe.Session{Model: x.main.Model, Cwd: x.request.Cwd}
	path := profile.Main
	for _, name := range strings.Split(c.Agent, "/") {
		if name == "" || name == profile.Main {
			continue
		}
		p, err := x.profiles.resolve(parent, troupe.Spawn{Type: name})
		if err != nil {
			return nil, err
		}
		path += "/" + p.Type
		l := gate.LayerOf(path, p, troupe.Authority{Mode: p.Mode}, x.depth > len(chain), false)
		if l.Mode == "" {
			l.Mode = chain[len(chain)-1].Mode
		}
		chain = append(chain, l)
		parent.Depth++
		parent.Model = p.Model
	}
	return chain, nil
}

// Rules lists what holds in a folder for a run with these flags.
func (a *App) Rules(ctx context.Context, r Request) (wire.RuleList, []string, error) {
	p, err := a.policyOf(r.Cwd, false)
	if err != nil {
		return wire.RuleList{}, nil, err
	}
	if r.Trust {
		p.standing.Trusted, p.standing.Questions = true, nil
	}
	g, err := a.newGuard(ctx)
	if err != nil {
		return wire.RuleList{}, nil, err
	}
	granted, warnings, err := a.authority(r, p, nil)
	if err != nil {
		return wire.RuleList{}, nil, err
	}
	out := wire.RuleList{Mode: granted.Mode, Levels: g.box.Levels(), Untrusted: len(p.standing.Questions) > 0 && !r.Trust, Rules: ruleRows(granted)}
	if out.Untrusted {
		if out.Without, err = a.without(p, r.Cwd); err != nil {
			return wire.RuleList{}, nil, err
		}
	}
	for _, h := range p.all.Hidden().Entries() {
		out.Hidden = append(out.Hidden, wire.Kept{Path: h.Glob, Why: h.Why})
	}
	for _, h := range config.Guards(r.Cwd, a.dirs) {
		out.Protected = append(out.Protected, wire.Kept{Path: h.Glob, Why: h.Why})
	}
	return out, warnings, errors.Join(g.close())
}

// without are the rules of a folder that do not count because it is not trusted.
func (a *App) without(p *policy, folder string) ([]wire.RuleRow, error) {
	now, err := a.rules(p, folder)
	if err != nil {
		return nil, err
	}
	as := *p
	as.standing.Trusted = true
	all, err := a.rules(&as, folder)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r troupe.Rule) bool { return slices.Contains(now, r) })
	return ruleRows(troupe.Authority{Rules: all}), nil
}

// ruleRows are the rules of an authority in the order in which they count.
func ruleRows(granted troupe.Authority) []wire.RuleRow {
	out := []wire.RuleRow{}
	for _, s := range gate.InForce([]gate.Layer{gate.LayerOf(profile.Main, troupe.Profile{Source: troupe.BuiltIn}, granted, true, false)}) {
		row := wire.RuleRow{Effect: s.Rule.Effect, Rule: s.Rule.Text, Source: s.Rule.Source, Meaning: s.Means, Problem: s.Problem, Shadows: s.Shadows, Managed: s.Managed}
		if s.ShadowedBy != "" {
			row.Shadowed = []string{s.ShadowedBy}
		}
		out = append(out, row)
	}
	return out
}
