package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Hooks implements api.Setup.
func (a setup) Hooks(ctx context.Context, q wire.HookQuery) (out wire.HookList, err error) {
	out = wire.HookList{Hooks: []wire.HookRow{}, Problems: []string{}}
	p, err := a.app.policyOf(q.Cwd)
	if err != nil {
		return out, err
	}
	if q.Trust {
		p.trust.Trusted, p.trust.Questions = true, nil
	}
	tools, err := a.app.known()
	if err != nil {
		return out, err
	}
	types, _ := profile.Load(profile.Sources{Folders: p.agentFolders(a.app.dirs, q.Cwd), Flag: q.Agents,
		Tools: tools.Callable(), Skip: p.untrustedAgents(), Mask: a.app.masker()})
	set, problems := p.hooksIn(q.Cwd, types, p.hookedSkills(p.skillFiles(a.app.dirs, q.Cwd)))
	for _, p := range problems {
		out.Problems = append(out.Problems, p.Text)
	}
	out.Problems = append(out.Problems, idleHooks(set, tools,
		hookRules(gate.NewTools(tools.Facts()), a.app.dirs.Home))...)
	for _, h := range set {
		out.Hooks = append(out.Hooks, hookRow(a.app, h))
	}
	if q.Event == "" {
		return out, nil
	}
	return out, a.tryHooks(ctx, q, thatCount(set), &out)
}

// hookRow is a hook as it is listed.
func hookRow(a *App, h setHook) wire.HookRow {
	return wire.HookRow{Event: h.Event, Matcher: h.Matcher, If: h.If, Type: string(h.Kind), Run: a.Mask(h.Run),
		Source: h.Source, Scope: h.Scope, Agent: h.Agent, Skill: h.Skill, Seconds: h.Limit().Seconds(), Async: h.Async,
		Off: h.off, Broken: h.Broken}
}

// tryHooks runs the hooks that are due at a made-up moment.
func (a setup) tryHooks(ctx context.Context, q wire.HookQuery, hooks []hook.Hook, out *wire.HookList) error {
	if !slices.Contains(troupe.HookEvents(), q.Event) {
		return &troupe.UserError{Problem: fmt.Sprintf("there is no moment %q at which hooks run", q.Event),
			Hint: "There are: " + joined(troupe.HookEvents()) + ".", Code: troupe.ExitUsage}
	}
	if len(q.Input) > 0 && !json.Valid(q.Input) {
		return &troupe.UserError{Problem: "the input of the made-up call is not JSON", Code: troupe.ExitUsage,
			Hint: `The form is {"command": "ls"}.`}
	}
	m := madeUp(q)
	x, _, err := machine(a).explainerAt(ctx, at(q.Place))
	if err != nil {
		return err
	}
	defer func() { _ = x.close() }() // nothing runs in it
	if m.Call != nil {
		m.Call.Name = x.tools.gate.Canonical(m.Call.Name)
		m.Match = x.tools.names(m.Call.Name)
	}
	m.Mode = cmp.Or(q.Mode, x.authority.Mode)
	if q.Event == troupe.HookWorktreeCreate || q.Event == troupe.HookWorktreeRemove {
		m.Fields = madeUpFolder(a.app.dirs, q)
	}
	environ, _ := config.Environment(a.app.env.Environ, a.app.settings)
	runner := a.app.newRunner(nil, x.servers.shell, environ)
	runner.Ask = nil
	if m.Call != nil { // what cannot be read is a call of which nothing is known
		if access, err := x.access(wire.Call{Tool: m.Call.Name, Input: json.RawMessage(m.Call.Input)}); err == nil {
			m.Access = &access
		}
	}
	set := hook.NewSet(hooks, hookRules(x.tools.gate, a.app.dirs.Home))
	said := runner.Run(ctx, append(set.Of(m, false), set.Of(m, true)...), m)
	out.Follows = x.follows(m, said)
	out.Ran = append([]troupe.HookRan{}, said.Ran...)
	return nil
}

func joined(events []troupe.HookEvent) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

// madeUp is a moment as it could come.
func madeUp(q wire.HookQuery) troupe.HookMoment {
	kind := cmp.Or(q.Agent, profile.Main)
	s := troupe.Session{ID: "made-up", Root: "made-up", Type: kind, Cwd: q.Cwd}
	m := troupe.HookMoment{Event: q.Event, Session: s, Path: profile.Main, Line: []string{profile.Main},
		Fields: map[string]any{}}
	if kind != profile.Main {
		m.Session.Name, m.Path, m.Line = kind, profile.Main+"/"+kind, append(m.Line, kind)
	}
	if q.Match != "" {
		m.Match = []string{q.Match}
	}
	switch q.Event {
	case troupe.HookPreToolUse, troupe.HookPostToolUse, troupe.HookPostFailure, troupe.HookPermissionRequest:
		m.Call = &troupe.Call{Reply: 1, Name: cmp.Or(q.Tool, "Bash"), Input: cmp.Or(string(q.Input), "{}")}
		if q.Event == troupe.HookPostToolUse || q.Event == troupe.HookPostFailure {
			m.Fields["tool_response"] = map[string]any{"content": q.Text, "is_error": q.Event == troupe.HookPostFailure}
		}
	case troupe.HookPrompt:
		m.Fields["prompt"] = q.Text
	case troupe.HookSubagentStart, troupe.HookSubagentStop:
		m.Match = []string{kind}
		m.Fields["last_assistant_message"] = q.Text
	default:
		m.Fields["last_assistant_message"] = q.Text
	}
	return m
}

// follows says what would come of what hooks said.
func (x *explainer) follows(m troupe.HookMoment, said troupe.HookSaid) string {
	switch {
	case len(said.Ran) == 0:
		return "no hook that counts is due"
	case m.Event == troupe.HookWorktreeCreate:
		return followsFolder(m, &said)
	case m.Call == nil && said.Stop:
		return "the run ends: " + said.StopWhy
	case m.Call == nil && said.Effect == troupe.Deny:
		return "refused by " + said.By + ": " + cmp.Or(said.Why, "it gives no reason")
	case m.Call == nil && said.Context != "":
		return "the model is told: " + said.Context
	case m.Call == nil:
		return "nothing"
	case m.Event != troupe.HookPreToolUse && m.Event != troupe.HookPermissionRequest:
		if said.Effect == troupe.Deny {
			return "the model reads beside the result: " + cmp.Or(said.Why, said.By+" objects")
		}
		return cmp.Or(said.Context, "nothing")
	}
	x.judged = &troupe.Judgement{By: cmp.Or(said.By, "hooks"), Effect: said.Effect, Why: said.Why}
	input := cmp.Or(said.Input, m.Call.Input)
	v := x.judge(wire.Call{Tool: m.Call.Name, Input: json.RawMessage(input)})
	text := fmt.Sprintf("%s: %s", v.Decision, v.Why)
	if said.Input != "" {
		text += "; with the input " + said.Input
	}
	return text
}

// hookRules reads the rules of hooks as the gate reads those that ask.
func hookRules(tools *gate.Tools, home string) hook.Rules {
	home = resolved(home)
	return func(text, folder string) (func(troupe.HookMoment) bool, error) {
		r, err := tools.ParseRule(troupe.Rule{Effect: troupe.Ask, Text: text, Folder: folder})
		if unread, ok := errors.AsType[*rule.Error](err); ok {
			return nil, errors.New(unread.Problem)
		} else if err != nil {
			return nil, err
		}
		if !r.Glob && r.Facts.Holder == rule.UnknownHolder && !strings.HasPrefix(r.Tool, rule.MCPPrefix) {
			return nil, fmt.Errorf("names %q, which is no tool here", rule.Visible(r.Tool))
		}
		return func(m troupe.HookMoment) bool {
			return m.Access == nil || tools.Speaks(&r, gate.Query{Tool: m.Call.Name, Access: *m.Access, Home: home,
				Roots: []string{m.Session.Cwd}, Resolve: tool.Resolve})
		}, nil
	}
}

// idleHooks says of hooks that they never run, or run for more than their rule says.
func idleHooks(set []setHook, tools tool.Set, rules hook.Rules) (out []string) {
	names := matched(tools)
	for i := range set {
		if odd := set[i].Unread(rules); odd != "" {
			out = append(out, set[i].Source+": "+odd)
		}
		if idle := set[i].Idle(names); idle != "" {
			out = append(out, set[i].Source+": "+idle)
		}
	}
	return out
}

// matched are the names with which matchers are compared, older ones included.
func matched(tools tool.Set) (names []string) {
	for _, f := range tools.Callable() {
		names = append(names, f.Name)
		if f.OldName != "" {
			names = append(names, f.OldName)
		}
	}
	return names
}

// names are those under which matchers know a tool.
func (t *toolbox) names(name string) []string {
	d, _ := t.Known(name)
	if d.OldName == "" {
		return []string{name}
	}
	return []string{name, d.OldName}
}
