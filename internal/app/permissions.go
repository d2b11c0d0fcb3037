package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
)

// explainer says how the gate would judge calls in a folder, with the settings and flags that
// a run there would have. It runs nothing and starts nothing.
type explainer struct {
	app       *App
	tools     *toolbox
	profiles  *profiles
	main      troupe.Profile
	authority troupe.Authority
	guard     *guard
	servers   *serverHost
	unread    []string // what is odd about MCP servers
	request   wire.Begin
	skip      func(file string, data []byte) bool // definitions that do not count
	folders   []profile.Folder                    // of definitions
	style     profile.Styling
	depth     int               // how deep trees may grow
	trusted   bool              // what the folder's own files allow counts
	judged    *troupe.Judgement // what hooks say about the call; nil: nothing
}

// explainerAt makes one. What is odd in the rules is in the warnings.
func (a machine) explainerAt(ctx context.Context, r wire.Begin) (*explainer, []string, error) {
	p, err := a.app.policyOf(r.Cwd)
	if err != nil {
		return nil, nil, err
	}
	if r.Trust {
		p.trust.Trusted, p.trust.Questions = true, nil
	}
	x := &explainer{app: a.app, request: r, skip: p.untrustedAgents(),
		folders: p.agentFolders(a.app.dirs, r.Cwd), depth: p.settings.Agents.MaxDepth,
		trusted: len(p.trust.Questions) == 0}
	x.guard = a.app.newGuard(ctx)
	if x.tools, err = a.app.newToolbox(x.guard, merger{a.app, x.guard}); err != nil {
		return nil, nil, err
	}
	var problems, more []string
	x.style = agentSources(a.app, x.tools, p, r.Cwd, "").Style
	if x.profiles, problems, err = newProfiles(a.app, x.tools, p, r, p.readAhead(ctx, a.app, r.Cwd)); err != nil {
		return nil, nil, err
	}
	x.servers = newServerHost(ctx, a.app, x.guard)
	_, x.unread = x.servers.Look(ctx, serverPlaces(a.app, p, r.Cwd), x.profiles.inline(), nil)
	x.profiles.servers = x.servers.Registry
	model, err := a.app.models.Default(r.Model, p.settings.Model, r.Cwd)
	if err != nil {
		model = defaultModel // which one it is decides nothing here
	}
	if x.main, err = x.profiles.main(r, model); err != nil {
		return nil, nil, err
	}
	if x.authority, more, err = authorityFor(a.bound, x.tools.gate, r, p, nil); err != nil {
		return nil, nil, err
	}
	return x, append(problems, more...), nil
}

// place is where the calls would be made.
func (x *explainer) place() session.Place { return session.Place{Cwd: x.request.Cwd} }

// close ends what judging needed.
func (x *explainer) close() error {
	return errors.Join(x.servers.close(), x.tools.Close(), x.guard.close())
}

// judge says what would become of one call.
func (x *explainer) judge(c wire.Call) wire.Verdict {
	out := wire.Verdict{ID: c.ID, Decision: troupe.Deny, Sandbox: troupe.LevelNone}
	c.Tool = x.tools.gate.Canonical(c.Tool)
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
	if err := x.checkType(c); err != nil {
		out.Why = err.Error()
		return out
	}
	q := session.QueryIn(x.guard, troupe.Session{Cwd: x.request.Cwd}, nil, access)
	q.Tool, q.Chain, q.Home, q.Roots = c.Tool, chain, resolved(x.app.dirs.Home), []string{x.request.Cwd}
	q.Judged = x.judged
	if last := &chain[len(chain)-1]; x.later(c.Tool) && len(chain) == 1 {
		last.Offered = append(slices.Clip(last.Offered), c.Tool)
	}
	d := x.tools.gate.Decide(q)
	out.Decision, out.Rule, out.Source, out.Why = d.Effect, d.Rule, d.Source, d.Why
	if d.Effect != troupe.Deny && d.Sandbox != "" {
		out.Sandbox = d.Sandbox
	}
	if d.Auto && x.authority.AutoModel != "" {
		out.Why += "; in mode auto a model is asked first, and its yes counts: " + x.authority.AutoModel
	} else if d.Auto {
		out.Why += "; mode auto has a model asked first, and none is chosen (permissions.auto_model)"
	}
	if out.Decision != troupe.Deny && out.Sandbox != troupe.LevelNone {
		if out.Kept = x.kept(access.Command); out.Kept != "" {
			out.Why += "; but " + out.Kept
		}
	}
	return out
}

// checkType refuses a call for an agent of a type that there is not.
func (x *explainer) checkType(c wire.Call) error {
	if x.tools.Schedule(c.Tool) != troupe.Birth {
		return nil
	}
	var in struct {
		Type   string `json:"subagent_type"`
		Config struct {
			Agent    string `json:"agent_id"`
			Template string `json:"template"`
		} `json:"config"`
	}
	err := json.Unmarshal(c.Input, &in)
	kind := cmp.Or(in.Type, in.Config.Agent, in.Config.Template)
	if err != nil || kind == "" {
		return nil // what is missing is judged as missing
	}
	_, err = x.profiles.Resolve(troupe.Session{Model: x.main.Model, Cwd: x.request.Cwd}, troupe.Spawn{Type: kind})
	return err
}

// keptTried is how many hidden files are tried one by one; nobody reads a list of more.
const keptTried = 200

// kept says what a command that the kernel confines would come to and not be let read; "" if
// nothing is known of it. Where no kernel sees to it the gate does, and its answer tells: it is
// another one than if nothing was hidden.
func (x *explainer) kept(command string) string {
	if command == "" {
		return ""
	}
	q := gate.Query{
		Tool: "Bash", Access: troupe.Access{Class: troupe.ClassExec, Command: command}, Home: resolved(x.app.dirs.Home),
		Roots:   []string{x.request.Cwd},
		SafeGit: true, Resolve: x.guard.Resolve,
	}
	hidden, files := x.guard.Hidden(x.place()).Path, x.guard.HiddenFiles(x.place())
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
	if !differs(x.tools.gate, q, troupe.ModeBypass, asked, nil) {
		tried = nil
	}
	if differs(x.tools.gate, q, troupe.ModeDefault, nil, files) {
		tried = append(tried, files[:min(len(files), keptTried)]...)
	}
	var names []string
	for _, name := range tried {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue // nothing keeps a command from it but that
		}
		only := func(n string) (string, bool) { return "", n == name }
		if !slices.Contains(names, name) && (differs(x.tools.gate, q, troupe.ModeBypass, only, nil) ||
			differs(x.tools.gate, q, troupe.ModeDefault, nil, []string{name})) {
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
	return fmt.Sprintf("%s kept from commands, %s; \"sandbox\": {\"allow_read\": [...]} in %s makes a file "+
		"readable, unless a deny_read setting names it", what, x.shown(names[0]), x.app.dirs.Settings())
}

// shown is what a command sees of something hidden.
func (x *explainer) shown(name string) string {
	covered := x.guard.box.Support(x.guard.ctx()).Namespaces
	hidden := x.guard.Hidden(x.place()).Path
	_, inside := hidden(filepath.Dir(name))
	if info, err := os.Lstat(name); covered && (inside || err == nil && info.IsDir()) {
		return "which find an empty folder there (\"No such file or directory\")"
	}
	return "which get \"Permission denied\" there"
}

// differs reports whether an agent with all that a mode gives, and no rules, is answered another
// way because something is hidden.
func differs(tools *gate.Tools, q gate.Query, mode troupe.Mode, hidden func(string) (string, bool),
	files []string) bool {
	q.Chain = []gate.Layer{{Agent: profile.Main, Mode: mode, MayHaveAgents: true}}
	open := tools.Decide(q)
	q.Hidden, q.HiddenFiles = hidden, func() []string { return files }
	return tools.Decide(q).Effect != open.Effect
}

// later tells tools that rules may speak of though they are not here now: those of MCP
// servers and skills, and searching without a search service. They are judged as if they were.
func (x *explainer) later(name string) bool {
	d, ok := x.tools.Known(name)
	return ok && !d.Callable() && (d.Argument != troupe.NoArgument || d.Description != "") ||
		strings.HasPrefix(name, "mcp__")
}

// access decodes the call and says what it would do.
func (x *explainer) access(c wire.Call) (troupe.Access, error) {
	input := string(c.Input)
	if input == "" {
		input = "{}"
	}
	d, known := x.tools.Known(c.Tool)
	switch {
	case d.Callable():
		return d.Access(tool.Env{Cwd: x.request.Cwd, Seen: func(string) (string, bool) { return "", false },
			CallID: "r1c0"}, input)
	case !x.later(c.Tool):
		var names []string
		for _, f := range x.tools.Callable() {
			names = append(names, f.Name)
		}
		return troupe.Access{}, fmt.Errorf("there is no tool %q; the tools are %s", c.Tool, strings.Join(names, ", "))
	case known && d.Class == troupe.ClassRead:
		return troupe.Access{Class: troupe.ClassRead, URL: "https://search.invalid/"}, nil
	}
	var in struct{ Skill string }
	_ = json.Unmarshal([]byte(input), &in) // what is missing is judged as missing
	return troupe.Access{Class: troupe.ClassExec, Agent: in.Skill}, nil
}

// chain is the line of authority down to the agent a call names: "main", a type such as
// "Explore", or a path of types, "main/general-purpose/Explore".
func (x *explainer) chain(c wire.Call) ([]gate.Layer, error) {
	granted := x.authority
	if c.Mode != "" {
		if _, err := troupe.ParseMode(string(c.Mode)); err != nil {
			return nil, fmt.Errorf("there is no permission mode %q; there are %v", c.Mode, troupe.Modes())
		}
		granted.Mode = c.Mode
	}
	chain := []gate.Layer{x.tools.gate.LayerOf(profile.Main, x.main, granted, x.depth > 0, false)}
	parent := troupe.Session{Model: x.main.Model, Cwd: x.request.Cwd}
	path := profile.Main
	for _, name := range strings.Split(c.Agent, "/") {
		if name == "" || name == profile.Main {
			continue
		}
		p, err := x.profiles.Resolve(parent, troupe.Spawn{Type: name})
		if err != nil {
			return nil, err
		}
		path += "/" + p.Type
		l := x.tools.gate.LayerOf(path, p, troupe.Authority{Mode: p.Mode}, x.depth > len(chain), false)
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
func (a machine) Rules(ctx context.Context, place wire.Place) (wire.RuleList, error) {
	r := at(place)
	p, err := a.app.policyOf(r.Cwd)
	if err != nil {
		return wire.RuleList{}, err
	}
	if r.Trust {
		p.trust.Trusted, p.trust.Questions = true, nil
	}
	g := a.app.newGuard(ctx)
	known, err := a.app.known()
	if err != nil {
		return wire.RuleList{}, err
	}
	tools := gate.NewTools(known.Facts())
	granted, warnings, err := authorityFor(a.bound, tools, r, p, nil)
	if err != nil {
		return wire.RuleList{}, err
	}
	out := wire.RuleList{Mode: granted.Mode, Levels: g.box.Levels(),
		Untrusted: len(p.trust.Questions) > 0 && !r.Trust, Warnings: warnings}
	if out.Rules, err = ruleRows(ctx, tools, granted, &out); err == nil && out.Untrusted {
		out.Without, err = a.without(ctx, tools, p, r.Cwd, &out)
	}
	if err != nil {
		return wire.RuleList{}, err
	}
	for _, h := range p.all.Hidden().Entries() {
		out.Hidden = append(out.Hidden, wire.Kept{Path: h.Glob, Why: h.Why})
	}
	run, err := p.hookFiles(a.app, r.Cwd)
	if err != nil {
		return wire.RuleList{}, err
	}
	for _, h := range config.Protect([]string{r.Cwd}, a.app.dirs, p.settings.Sandbox.DenyWrite, run...).Guards() {
		out.Protected = append(out.Protected, wire.Kept{Path: h.Glob, Why: h.Why})
	}
	gr, err := g.folder(session.Place{Cwd: r.Cwd})
	if err != nil {
		return wire.RuleList{}, err
	}
	denied := gate.Unreadable([]gate.Layer{tools.LayerOf(profile.Main, troupe.Profile{Source: troupe.BuiltIn},
		granted, true, false)}, []string{r.Cwd}, tool.Resolve(a.app.dirs.Home))
	_, unsearched, err := elsewhere(ctx, g, gr, append(gr.hidden.Globs(), denied...))
	for _, glob := range unsearched {
		out.Warnings = append(out.Warnings, notSearched(glob))
	}
	return out, errors.Join(err, g.close())
}

// without are the rules of a folder that do not count because it is not trusted.
func (a machine) without(ctx context.Context, tools *gate.Tools, p *policy, folder string,
	to *wire.RuleList) ([]wire.RuleRow, error) {
	now, err := a.app.rules(p, folder)
	if err != nil {
		return nil, err
	}
	as := *p
	as.trust.Trusted = true
	all, err := a.app.rules(&as, folder)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r troupe.Rule) bool { return slices.Contains(now, r) })
	return ruleRows(ctx, tools, troupe.Authority{Rules: all}, to)
}

// ruleRows are the rules of an authority in the order in which they count. A list is told what was not looked at.
func ruleRows(ctx context.Context, tools *gate.Tools, granted troupe.Authority, to *wire.RuleList) ([]wire.RuleRow,
	error) {
	out := []wire.RuleRow{}
	all, whole, err := gate.Compared(ctx, []gate.Layer{tools.LayerOf(profile.Main,
		troupe.Profile{Source: troupe.BuiltIn}, granted, true, false)})
	if !whole && err == nil {
		to.Warnings = append(to.Warnings, fmt.Sprintf("%d rules are too many to say which of them never decide",
			len(all)))
	}
	for _, s := range all {
		row := wire.RuleRow{Effect: s.Rule.Effect, Rule: s.Rule.Text, Source: s.Rule.Source, Meaning: s.Means,
			Problem: s.Problem, Shadows: s.Shadows, Managed: s.Managed}
		if s.ShadowedBy != "" {
			row.Shadowed = []string{s.ShadowedBy}
		}
		out = append(out, row)
	}
	return out, err
}
