package app

import (
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/plugins"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/skill"
)

// pluginHome is the plugins of a home.
func pluginHome(a *App) *plugins.Home {
	return a.once.plugins()
}

// sources of texts are those of the plugins whose texts count here.
func (p *policy) texts(of func(*plugins.Found) []front.Source) (out []front.Source) {
	for i := range p.plugins {
		if f := &p.plugins[i]; f.Texts(p.trusted()) {
			out = append(out, of(f)...)
		}
	}
	return out
}

// agentFolders are where definitions of agents lie that hold in a folder: plugins' first, which all others replace.
func (p *policy) agentFolders(dirs config.Dirs, cwd string) []profile.Folder {
	return slices.Concat(p.texts(agentsOf), agentFolders(dirs, cwd))
}

// withStored are folders of agentFolders with stored agents among them: weaker than all that people of this machine or
// of a project have written down, as a plugin's are.
func (p *policy) withStored(folders, stored []profile.Folder) []profile.Folder {
	return slices.Insert(slices.Clone(folders), len(p.texts(agentsOf)), stored...)
}

func agentsOf(f *plugins.Found) []front.Source { return f.Agents }

// skills are the plugins' folders of skills and commands.
func (p *policy) pluginSkills() []skill.Folder { return skillsOf(p.plugins, p.trusted()) }

func skillsOf(list []plugins.Found, trusted bool) (out []skill.Folder) {
	for i := range list {
		f := &list[i]
		if !f.Texts(trusted) {
			continue
		}
		for _, commands := range []bool{true, false} {
			sources := f.Skills
			if commands {
				sources = f.Commands
			}
			for _, s := range sources {
				if !commands {
					s.Each = "SKILL.md"
				}
				out = append(out, skill.Folder{Source: s, Commands: commands, Still: f.State != plugins.On || f.Asked})
			}
		}
	}
	return out
}

// pluginHooks are the hooks of plugins: who enables one says that these run as they would themselves.
func (p *policy) pluginHooks(folder string) (out []setHook) {
	off := p.all.HooksOff(config.ScopeUser)
	for i := range p.plugins {
		f := &p.plugins[i]
		for _, h := range f.Hooks() {
			if h.Off == "" {
				h.Off = off
			}
			h.Pin(folder)
			out = append(out, setHook{h.Hook, h.Off})
		}
	}
	return out
}

// pluginFolders are those of plugins that run something: agents do not write what would run outside of the sandbox.
func (p *policy) pluginFolders() (out []string) {
	for i := range p.plugins {
		if f := &p.plugins[i]; f.State != plugins.Off && f.Runs() {
			out = append(out, f.Root)
		}
	}
	return out
}

// toTell is what a run says about files: of those of plugins only that they cannot be used, for the user did not write
// them. `troupe plugins check` says all.
func (p *policy) toTell(problems []front.Finding) []front.Finding {
	roots := make([]string, len(p.plugins))
	for i := range p.plugins {
		roots[i] = p.plugins[i].Root
	}
	for i := range problems {
		if f := &problems[i]; !f.Unusable && troupe.WithinAny(f.Path, roots) {
			f.Note = true
		}
	}
	return problems
}

// pluginServers are the MCP servers of plugins, and what is odd about them.
func (p *policy) pluginServers() (out []servers.Server, problems []string) {
	for i := range p.plugins {
		list, odd := p.plugins[i].Servers(false)
		for _, s := range list {
			out = append(out, servers.Server{Entry: s.Entry, Scope: servers.ScopePlugin, Source: s.Source})
		}
		problems = append(problems, odd...)
	}
	return out, problems
}

// oddHooks is what is odd about a plugin's hooks.
func oddHooks(f *plugins.Found) (problems []string) {
	for _, c := range f.Plugin.Hooks {
		_, odd := hook.Read(c.Raw, hook.Origin{Source: c.File, Plugin: f.Root})
		for _, o := range odd {
			problems = append(problems, filepath.Clean(c.File)+": "+o.Text)
		}
	}
	return problems
}
