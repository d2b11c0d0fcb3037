package plugins

import (
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// SetHook is a hook of a plugin, and why it does not run; "": it does.
type SetHook struct {
	hook.Hook
	Off string
}

// Hooks are those of the plugin. Of one that changed since it was enabled they are those that were enabled, and fail.
func (f *Found) Hooks() (out []SetHook) {
	hooks, off := f.read(), ""
	switch {
	case f.Changed:
		hooks = slices.Clone(f.guards)
		for i := range hooks {
			hooks[i].Broken = "the plugin " + f.ID + " has changed since you enabled it (`troupe plugins enable " +
				f.ID +
				"` takes it as it is now, `troupe plugins disable " + f.ID + "` ends this)"
		}
	case f.State != On || f.Asked:
		off = f.Why
		if off == "" {
			off = "you have not enabled the plugin"
		}
	}
	for _, h := range hooks {
		out = append(out, SetHook{h, off})
	}
	return out
}

// read makes hooks of what the plugin says.
func (f *Found) read() (out []hook.Hook) {
	for _, c := range f.Plugin.Hooks {
		hooks, _ := hook.Read(c.Raw, hook.Origin{Source: c.File, Scope: "plugin " + f.Name, Plugin: f.Root})
		out = append(out, hooks...)
	}
	return out
}

// Server is an MCP server of a plugin.
type Server struct {
	entry.Entry
	Source string
}

// Servers are those of the plugin that count, or all.
func (f *Found) Servers(all bool) (out []Server, problems []string) {
	if !all && (f.State != On || f.Asked || !f.Usable) {
		return nil, nil
	}
	for _, c := range f.Plugin.Servers {
		parse := entry.Parse
		if c.Inline {
			parse = entry.ParseServers
		}
		found, odd := parse(c.Raw)
		for _, p := range odd {
			problems = append(problems, c.File+": "+p.String())
		}
		for _, e := range found {
			s := Server{f.placed(e), c.File}
			if why := s.TooLong(); why != "" {
				problems = append(problems, c.File+": MCP server "+e.Name+" is not used: "+why)
				continue
			}
			out = append(out, s)
		}
	}
	return out, problems
}

// placed is an entry with the plugin's name before its own, and the plugin's folder where it names that.
func (f *Found) placed(e entry.Entry) entry.Entry {
	fill := func(s string) string { return strings.ReplaceAll(s, front.PluginRoot, f.Root) }
	e.Name = "plugin:" + f.Name + ":" + e.Name
	e.Command, e.Cwd, e.URL = fill(e.Command), fill(e.Cwd), fill(e.URL)
	e.Args = slices.Clone(e.Args)
	for i := range e.Args {
		e.Args[i] = fill(e.Args[i])
	}
	e.Env, e.Headers = maps.Clone(e.Env), maps.Clone(e.Headers)
	for _, m := range []map[string]string{e.Env, e.Headers} {
		for name, value := range m {
			m[name] = fill(value)
		}
	}
	return e
}

// Lines are what the plugin runs, all of it, each on one line for people.
func (f *Found) Lines() (out []string) {
	hooks, servers := f.Told()
	for _, h := range hooks {
		out = append(out, "hook "+h)
	}
	for _, s := range servers {
		out = append(out, "MCP server "+s)
	}
	return out
}

// Told are the hooks and the servers that the plugin brings, for a person who is asked whether they may run.
func (f *Found) Told() (hooks, servers []string) {
	read := f.read()
	for i := range read {
		hooks = append(hooks, troupe.VisibleLine(read[i].Line()))
	}
	list, _ := f.Servers(true)
	for _, s := range list {
		servers = append(servers, troupe.VisibleLine(s.Name+" "+s.Told()))
	}
	return hooks, servers
}
