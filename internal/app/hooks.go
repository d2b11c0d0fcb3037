package app

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/tool/shell"
	"github.com/troupe-dev/troupe/internal/tool/web"
	"github.com/troupe-dev/troupe/internal/trust"
)

// setHook is a hook that is set somewhere, whether or not it counts.
type setHook struct {
	hook.Hook
	off string // why it does not; "": it does
}

// hooksIn are the hooks that are set in a folder, the weakest source first, and what is odd in those that count.
func (p *policy) hooksIn(folder string, types profile.Set, used []skill.Skill) (out []setHook,
	problems []hook.Problem) {
	away := func(hooks []setHook, scope config.Scope) {
		for i := range hooks {
			h := &hooks[i]
			if h.Kind != hook.HTTP || h.off != "" {
				continue
			}
			if h.off = p.all.HookAway(scope, h.Run); h.off != "" {
				problems = append(problems, hook.Problem{Text: h.Source + ": a hook of " + string(h.Event) +
					" does not run: " + h.off})
			}
		}
	}
	add := func(raw []byte, from hook.Origin, scope config.Scope, off string) {
		hooks, odd := readHooks(raw, from, folder, off)
		away(hooks, scope)
		out = append(out, hooks...)
		for _, o := range odd {
			if off == "" {
				o.Text = from.Source + ": " + o.Text
				problems = append(problems, o)
			}
		}
	}
	out = p.pluginHooks(folder)
	away(out, config.ScopeUser)
	for _, src := range p.all.Hooks(p.trusted()) {
		before := len(out)
		add(src.Raw, hook.Origin{Source: src.Path, Scope: src.Scope.String(), Folder: src.Folder}, src.Scope, src.Off)
		if src.Untrusted && p.wasTrusted(src.Path) {
			refuse(out[before:])
		}
	}
	lines, _, odd := p.statusLines(folder)
	out, problems = append(out, lines...), append(problems, odd...)
	for _, d := range types.Hooking() {
		scope := scopeOf(d.Scope)
		add(d.Hooks, originOf(d), scope, p.all.HooksOff(scope))
	}
	for i := range used {
		k := &used[i]
		scope := scopeOf(k.Scope)
		off, before := p.all.HooksOff(scope), len(out)
		lost := off == "" && !k.Runs
		if lost {
			off = "the folder is not trusted"
		}
		add(k.Hooks, hook.Origin{Source: k.Source, Scope: scope.String(), Skill: k.Name}, scope, off)
		if lost && p.wasTrusted(k.Source) {
			refuse(out[before:])
		}
	}
	return out, problems
}

// wasTrusted reports whether a file of a project was trusted as it once was, and is not as it is now.
func (p *policy) wasTrusted(file string) bool {
	return slices.ContainsFunc(p.trust.Questions, func(q trust.Question) bool {
		return q.Verdict.Before && troupe.Within(file, q.Fingerprint.Folder)
	})
}

// refuse has hooks that guarded calls while their folder was trusted refuse those calls now that they do not run: what
// changed may be any other line of the project, and a guard is not lost by that.
func refuse(hooks []setHook) {
	for i := range hooks {
		if h := &hooks[i]; h.Event == troupe.HookPreToolUse {
			h.off, h.Broken = "", cmp.Or(h.Broken, "the folder has changed since it was trusted, so its hooks do not "+
				"run; `troupe --trust` accepts it as it is now")
		}
	}
}

// originOf is where the hooks of a definition stand.
func originOf(d profile.Definition) hook.Origin {
	return hook.Origin{Source: d.Source, Scope: scopeOf(d.Scope).String(), Agent: d.Name}
}

// readHooks reads hooks that are set somewhere, with the files of a folder that they name as these are now.
func readHooks(raw []byte, from hook.Origin, folder, off string) (out []setHook, odd []hook.Problem) {
	hooks, odd := hook.Read(raw, from)
	return pin(hooks, folder, off), odd
}

// pin are hooks with the files of a folder that they name as these are now.
func pin(hooks []hook.Hook, folder, off string) (out []setHook) {
	for _, h := range hooks {
		h.Pin(folder)
		out = append(out, setHook{h, off})
	}
	return out
}

// skillFiles reads the skills and commands that hold in a folder.
func (p *policy) skillFiles(dirs config.Dirs, folder string) *skill.Files {
	return skill.Read(append(p.pluginSkills(), skillFolders(dirs, folder)...), dirs.Definitions())
}

// hookedSkills are those skills that have hooks.
func (p *policy) hookedSkills(files *skill.Files) []skill.Skill {
	untrusted := p.untrusted(trust.KindSkill)
	return files.Hooked(func(file string, data []byte) bool { return !untrusted(file, data) })
}

// hookFiles are the files of a folder that its hooks name, whether or not they count yet: what an agent writes there
// would run as the user once they do.
func (p *policy) hookFiles(a *App, folder string) ([]string, error) {
	tools, err := a.known()
	if err != nil {
		return nil, err
	}
	types, _ := profile.Load(profile.Sources{Folders: p.agentFolders(a.dirs, folder), Tools: tools.Callable(),
		Skip: p.untrustedAgents(), Mask: a.masker()})
	set, _ := p.hooksIn(folder, types, p.hookedSkills(p.skillFiles(a.dirs, folder)))
	return p.filesOf(a, folder, set, types), nil
}

// filesOf are hookFiles of hooks and definitions that were read.
func (p *policy) filesOf(a *App, folder string, set []setHook, types profile.Set) (out []string) {
	for _, d := range types.Hooked() { // also those that do not count
		more, _ := readHooks(d.Hooks, originOf(d), folder, "")
		set = append(slices.Clip(set), more...)
	}
	for i := range set {
		out = append(out, slices.Collect(maps.Keys(set[i].Files))...)
	}
	out = append(append(out, p.pluginFolders()...), p.serverFiles(a, folder, types)...)
	slices.Sort(out)
	return slices.Compact(out)
}

// scopeOf is whose a definition is, as settings have it.
func scopeOf(s profile.Scope) config.Scope {
	switch s {
	case profile.ScopeManaged:
		return config.ScopeManaged
	case profile.ScopeProject:
		return config.ScopeProject
	}
	return config.ScopeUser
}

// thatCount are those that count.
func thatCount(all []setHook) (out []hook.Hook) {
	for _, h := range all {
		if h.off == "" {
			out = append(out, h.Hook)
		}
	}
	return out
}

// treeHooks implements session.Hooks with what holds in one tree.
type treeHooks struct {
	set    *hook.Set
	runner *hook.Runner
}

// Due implements session.Hooks.
func (t treeHooks) Due(m troupe.HookMoment) bool {
	return len(t.set.Of(m, false)) > 0 || len(t.set.Of(m, true)) > 0
}

// Makes implements session.Hooks.
func (t treeHooks) Makes(m troupe.HookMoment) bool {
	return slices.ContainsFunc(t.set.Of(m, false), func(h hook.Hook) bool {
		return h.Kind == hook.Command || h.Kind == hook.HTTP
	})
}

// Begun implements session.Hooks.
func (t treeHooks) Begun(m troupe.HookMoment) []troupe.HookRan {
	return t.runner.Begun(t.set.Of(m, true), m)
}

// Run implements session.Hooks.
func (t treeHooks) Run(ctx context.Context, m troupe.HookMoment, async bool) troupe.HookSaid {
	return t.runner.Run(ctx, t.set.Of(m, async), m)
}

// makeFolders reports whether a hook that counts can make a folder for the main agent that is about to be born.
func (p *profiles) makeFolders(s troupe.Session) bool {
	set := treeHooks{set: hook.NewSet(p.definitions.Hooks, nil)}
	return set.Makes(troupe.HookMoment{Event: troupe.HookWorktreeCreate, Session: s, Path: profile.Main,
		Line: []string{s.Type}})
}

// Hooks are those of the tree; nil if there are none.
func (p *profiles) Hooks() session.Hooks {
	if p.set == nil || p.runner == nil {
		return nil
	}
	return treeHooks{p.set, p.runner}
}

// newRunner makes what runs the hooks of this process, their commands by a shell that ends all of theirs.
func (a *App) newRunner(e *engine, sh *shell.Shell, environ []string) *hook.Runner {
	client, err := web.Client(web.Options{Local: a.settings.LocalHosts})
	if err != nil {
		client = nil // said where the tools are made
	}
	return &hook.Runner{
		Client: client,
		Exec: func(ctx context.Context, p hook.Program) (int, error) {
			confine, more, err := keepHook(ctx, a, p)
			if err != nil {
				return 0, err
			}
			return sh.Once(ctx, shell.Service{Command: "/bin/sh", Args: []string{"-c", p.Command},
				Env: append(slices.Clip(p.Environ), more...), Dir: p.Dir, Stderr: p.Stderr, Confine: confine}, p.Stdin,
				p.Stdout)
		},
		Environ: environ, Lookup: a.env.Lookup, Mask: a.masker(), Now: a.env.Now,
		Ask: func(ctx context.Context, s troupe.Session, question, text string) (string, troupe.Usage, troupe.Money,
			error) {
			return e.askSmall(ctx, a.models, s, askerHook, question, text)
		},
	}
}
