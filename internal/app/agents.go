package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Agents lists the types of agent that can be started at a place, and looks at their files.
func (a machine) Agents(ctx context.Context, q wire.AgentQuery) (out wire.AgentList, err error) {
	out = wire.AgentList{Agents: []wire.AgentType{}, Problems: []string{}}
	x, problems, err := a.explainerAt(ctx, at(q.Place))
	if err != nil {
		return out, err
	}
	defer func() {
		if e := x.close(); err == nil {
			err = e
		}
	}()
	out.Problems = append(out.Problems, problems...)
	for _, d := range x.profiles.Types.List() {
		out.Agents = append(out.Agents, agentType(d))
	}
	if !q.Check {
		return out, nil
	}
	tools := slices.Concat(x.tools.Callable(), x.servers.everything(x.request.Cwd, x.profiles.inline()))
	checked := profile.Check(q.Paths, tools, x.style)
	if len(q.Paths) == 0 {
		for _, f := range x.folders {
			checked = append(checked, profile.CheckFolder(f, x.skip, tools, x.style)...)
		}
	}
	for _, c := range checked {
		out.Files = append(out.Files, a.checkedFile(c, x, q.Cwd))
	}
	return out, nil
}

func agentType(d profile.Definition) wire.AgentType {
	t := wire.AgentType{Name: d.Name, Description: strings.TrimSpace(d.Description + " " + d.WhenToUse),
		Source: d.Source,
		Scope:  string(d.Scope), Shadows: d.Shadows, Model: d.Model, Effort: d.Effort, Color: d.Color}
	if !d.All {
		t.Tools = append([]string{}, d.Tools...)
	}
	return t
}

func (a machine) checkedFile(c profile.Checked, x *explainer, cwd string) wire.AgentCheck {
	out := wire.AgentCheck{Path: c.Path, Loaded: c.Definition != nil, Startable: c.Startable, Document: c.Document,
		Warnings: []string{}}
	for _, p := range c.Problems {
		out.Warnings = append(out.Warnings, p.String())
	}
	if d := c.Definition; d != nil {
		t := agentType(*d)
		out.Name, out.Description, out.Tools, out.Model = t.Name, t.Description, t.Tools, t.Model
		if d.Model != "" && !strings.EqualFold(d.Model, "inherit") {
			full, err := a.app.models.named(d.Model, x.main.Model, cwd)
			var elsewhere *profile.Elsewhere
			switch {
			case errors.As(err, &elsewhere):
				out.Warnings = append(out.Warnings, c.Path+": the model "+d.Model+" is not to be had here ("+
					elsewhere.Why+"), so these agents have their parent's")
			case err != nil:
				out.Warnings = append(out.Warnings, c.Path+": the model "+d.Model+
					" is not to be had here, so these agents have their parent's")
			case a.app.models.unknown(full):
				out.Warnings = append(out.Warnings, c.Path+": the model "+d.Model+" is not in the list of models "+
					"(`troupe models`); "+full+" is asked for all the same")
			}
		}
	}
	return out
}

// Agent says what an agent of a type would be born with.
func (a machine) Agent(ctx context.Context, n wire.AgentName) (out wire.AgentProfile, err error) {
	x, _, err := a.explainerAt(ctx, at(n.Place))
	if err != nil {
		return out, err
	}
	defer func() {
		if e := x.close(); err == nil {
			err = e
		}
	}()
	d, p := x.profiles.Types.Main(), x.main
	if !strings.EqualFold(n.Name, profile.Main) {
		if d, err = x.profiles.Types.Lookup(n.Name); err != nil {
			return out, x.profiles.noSuchAgent(n.Name, err)
		}
		if p, err = x.profiles.Resolve(troupe.Session{Model: x.main.Model, Cwd: x.request.Cwd},
			troupe.Spawn{Type: d.Name}); err != nil {
			return out, &troupe.UserError{Problem: err.Error(), Code: troupe.ExitUsage, Err: err}
		}
		p.Effort = cmp.Or(p.Effort, x.main.Effort)
	}
	chain, err := x.chain(wire.Call{Agent: d.Name})
	if err != nil {
		return out, err
	}
	mode := chain[0].Mode
	for _, l := range chain[1:] {
		mode = config.Closer(mode, l.Mode)
	}
	out = wire.AgentProfile{AgentType: agentType(d), Prompt: p.Prompt, Resolved: p.Model,
		Asked: a.app.models.Effort(p.Model, p.Effort), Mode: mode, Own: d.Mode,
		Sandbox: p.Sandbox, Starts: p.Starts, MaxTurns: p.Limits.MaxTurns, Tokens: p.Limits.MaxTokens,
		Initial: p.InitialPrompt, Background: p.Background, Workspace: p.Workspace,
		Merge:      p.Merge,
		AgentTexts: wire.AgentTexts{Skills: p.Skills, Style: d.Style, Omits: p.OmitInstructions},
		Notes:      append([]string{}, p.Notes...)}
	out.Servers, out.Hooks = []wire.ServerOf{}, []wire.HookRow{}
	if m := p.Memory; m != nil {
		out.Memory = &wire.Memory{Agent: d.Name, Scope: m.Scope, Folder: m.Folder, Files: []string{}}
	}
	if d.Name == profile.Main {
		out.Style = x.profiles.style.name
	}
	a.hooksFor(&out, d, x.profiles.definitions.Hooks)
	known, have, err := x.profiles.serversOf(d)
	if err != nil {
		out.Notes = append(out.Notes, err.Error())
	}
	for _, s := range have {
		_, why := known.List(s.Entry)
		out.Servers = append(out.Servers, wire.ServerOf{Name: s.Name, Source: s.Source, Why: cmp.Or(s.Why, why)})
	}
	for _, f := range slices.Concat(x.tools.Callable(), known.Facts(have)) {
		has, why := d.Holds(f)
		if filter := x.tools.gate.Withheld(chain, f.Name); has && filter != "" {
			has, why = false, filter
		}
		out.Has = append(out.Has, wire.ToolOf{Tool: f.Name, Has: has, Why: why})
	}
	return out, nil
}

// hooksFor lists those of the hooks that count which are for agents of a type.
func (a machine) hooksFor(out *wire.AgentProfile, d profile.Definition, hooks []hook.Hook) {
	line := []string{profile.Main}
	if d.Name != profile.Main {
		line = append(line, d.Name)
	}
	own := len(d.Hooks) == 0
	for i := range hooks {
		if h := &hooks[i]; h.Meets(line) {
			out.Hooks = append(out.Hooks, hookRow(a.app, setHook{Hook: *h}))
			own = own || h.Agent == d.Name
		}
	}
	if !own {
		out.Notes = append(out.Notes, "the hooks of its definition do not run; `troupe hooks` says why")
	}
}
