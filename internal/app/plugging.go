package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/plugins"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/plugin"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/tool/all"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace"
)

// Plugins implements api.Setup: it lists the plugins that there are, and looks at their files.
func (a setup) Plugins(_ context.Context, q wire.PluginQuery) (out wire.PluginList, err error) {
	out = wire.PluginList{Plugins: []wire.PluginRow{}, Problems: []string{}}
	if len(q.Paths) > 0 {
		return out, a.inFolders(q.Paths, &out)
	}
	list, problems, err := a.all(q.Cwd)
	if err != nil {
		return out, err
	}
	if q.Name != "" {
		f, err := plugins.Pick(list, q.Name)
		if err != nil {
			return out, err
		}
		list, problems = []plugins.Found{f}, nil
	}
	out.Problems = append(out.Problems, problems...)
	for i := range list {
		if f := &list[i]; !q.Check || q.Name != "" || f.State != plugins.Off {
			out.Plugins = append(out.Plugins, pluginRow(f, q.Check || q.Name != ""))
		}
	}
	return out, nil
}

// all are all plugins that there are, seen from a folder.
func (a setup) all(cwd string) ([]plugins.Found, []string, error) {
	cwd, err := workspace.Resolve("", cwd)
	if err != nil {
		return nil, nil, err
	}
	p, err := a.app.policyOf(cwd)
	if err != nil {
		return nil, nil, err
	}
	return pluginHome(a.app).All(p.all.Plugins(), cwd)
}

// inFolders looks at plugins by where they lie, and at all of a marketplace that are in its checkout.
func (a setup) inFolders(paths []string, out *wire.PluginList) error {
	for _, dir := range paths {
		list, problems, err := plugins.Under(dir)
		if err != nil {
			return &troupe.UserError{Problem: dir + ": " + front.Reason(err), Code: troupe.ExitUsage, Err: err}
		}
		out.Problems = append(out.Problems, problems...)
		for i := range list {
			out.Plugins = append(out.Plugins, pluginRow(&list[i], true))
		}
	}
	return nil
}

// pluginRow is a plugin for people. whole: what it brings is looked at file by file.
func pluginRow(f *plugins.Found, whole bool) wire.PluginRow {
	row := wire.PluginRow{ID: f.ID, Name: f.Name, Version: f.Version, Description: f.Description, From: f.From,
		State: string(f.State), Why: f.Why, Loaded: f.Usable, Added: f.Added, Gone: f.Gone, Agents: []string{},
		Skills: []string{}, Commands: []string{}, Hooks: []string{}, Servers: []string{}, Warnings: []string{}}
	if f.Elsewhere != "" {
		return row
	}
	row.Folder = f.Root
	if f.State == plugins.On && f.Asked {
		row.State, row.Why = string(plugins.Texts), "only the project's settings enable it, so it counts where the "+
			"folder is trusted"
	}
	for _, p := range f.Findings {
		row.Warnings = append(row.Warnings, p.String())
		if p.Unusable {
			row.Failed++
		}
	}
	hooks, servers := f.Told()
	row.Hooks, row.Servers = append(row.Hooks, hooks...), append(row.Servers, servers...)
	odd := oddHooks(f)
	_, more := f.Servers(true)
	row.Warnings = slices.Concat(row.Warnings, odd, more)
	if whole {
		rowTexts(f, &row)
	}
	return row
}

// rowTexts looks at the files of agents, skills, commands and output styles.
func rowTexts(f *plugins.Found, row *wire.PluginRow) {
	tools := all.Known().Callable()
	warn := func(problems []front.Finding) {
		for _, p := range problems {
			row.Warnings = append(row.Warnings, p.String())
		}
	}
	for _, folder := range f.Agents {
		for _, c := range profile.CheckFolder(folder, nil, tools, nil) {
			warn(c.Problems)
			if c.Definition != nil {
				row.Agents = append(row.Agents, c.Definition.Name)
			} else if !c.Document {
				row.Failed++
			}
		}
	}
	found := readStyles(f.Styles, nil, func(text string) string { return text })
	warn(found.problems)
	for _, s := range found.list() {
		row.Styles = append(row.Styles, s.Name)
	}
	folders := skillsOf([]plugins.Found{{Plugin: f.Plugin, Usable: true, State: plugins.On}}, true)
	for _, c := range skill.Check(skill.Sources{Folders: folders, Tools: tools}) {
		warn(c.Problems)
		switch {
		case c.Skill == nil && !c.Document:
			row.Failed++
		case c.Skill == nil:
		case c.Skill.Command:
			row.Commands = append(row.Commands, c.Skill.Name)
		default:
			row.Skills = append(row.Skills, c.Skill.Name)
		}
	}
}

// SetPlugin implements api.Setup: it enables or disables a plugin, or adds or removes a folder. What it answers is what
// there is of it then.
func (a setup) SetPlugin(ctx context.Context, c wire.PluginChange) (out wire.PluginList, err error) {
	home := pluginHome(a.app)
	dir := c.Name
	if !filepath.IsAbs(dir) && strings.TrimSpace(dir) != "" {
		dir = filepath.Join(c.Cwd, dir)
	}
	switch c.Action {
	case wire.PluginAdd:
		if err := home.Add(dir); err != nil {
			return out, err
		}
		out.Problems = []string{}
		return out, a.inFolders([]string{dir}, &out)
	case wire.PluginRemove:
		return wire.PluginList{Plugins: []wire.PluginRow{}, Problems: []string{}}, home.Remove(dir)
	case wire.PluginEnable, wire.PluginDisable:
	default:
		return out, &troupe.UserError{Problem: fmt.Sprintf("there is no action %q for plugins", c.Action),
			Hint: "There are enable, disable, add and remove.", Code: troupe.ExitUsage}
	}
	list, _, err := a.all(c.Cwd)
	if err != nil {
		return out, err
	}
	name := c.Name
	if strings.ContainsRune(name, filepath.Separator) || name == "." {
		name = dir
		if c.Action == wire.PluginEnable && plugin.Is(dir) && !plugins.Has(list, dir) {
			if err := home.Add(dir); err != nil {
				return out, err
			}
			if list, _, err = a.all(c.Cwd); err != nil {
				return out, err
			}
		}
	}
	f, err := plugins.Pick(list, name)
	if err != nil {
		return out, err
	}
	if c.Action == wire.PluginEnable {
		err = home.Enable(f, list)
	} else {
		err = home.Disable(f)
	}
	if err != nil {
		return out, err
	}
	return a.Plugins(ctx, wire.PluginQuery{Place: wire.Place{Cwd: c.Cwd}, Name: f.ID})
}
