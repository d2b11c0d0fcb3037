package cmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newPlugins makes the command with its parts.
func newPlugins(c *console.Console) *cobra.Command {
	list := newPluginsList(c)
	cmd := &cobra.Command{
		Use: "plugins", Short: "List, enable and add plugins", Args: console.NoArgs,
		Long: `Plugins are folders with agents, commands, skills, hooks and MCP servers, whose names begin with the plugin's.
Nothing of one counts until you enable it. They are found in ~/.config/troupe/plugins, in folders that you add, and
among those that Claude Code has installed. A folder may also be a checkout of a marketplace: then each plugin that
it lists is there. See "troupe docs plugins".`,
		Example: `troupe plugins
troupe plugins add ~/src/claude-code
troupe plugins show code-review
troupe plugins enable code-review
troupe plugins check ~/src/my-plugin`,
		RunE: list.RunE,
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, newPluginsShow(c), newPluginsCheck(c),
		newPluginsSet(c, wire.PluginEnable, "enable NAME|FOLDER", "Have a plugin count as it is now",
			`Have a plugin count as it is now: its agents, skills and commands, and what it runs. Its hooks run as you
would run them yourself, outside of any sandbox; troupe plugins show says what they are. When a plugin that runs
something changes later, that does not count until you enable it again.`, "code-review"),
		newPluginsSet(c, wire.PluginDisable, "disable NAME|FOLDER", "Have nothing of a plugin count",
			"Have nothing of a plugin count, whatever settings say.", "code-review"),
		newPluginsSet(c, wire.PluginAdd, "add FOLDER", "Take up a folder with a plugin or a marketplace",
			`Take up a folder with a plugin or a checkout of a marketplace, as it lies there. Nothing of it counts until
you enable it.`, "~/src/claude-code"),
		newPluginsSet(c, wire.PluginRemove, "remove FOLDER", "Forget a folder that was added",
			"Forget a folder that was added, and what was enabled of it. The folder stays as it is.",
			"~/src/claude-code"))
	return cmd
}

func newPluginsList(c *console.Console) *cobra.Command {
	q := wire.PluginQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the plugins that there are", Args: console.NoArgs,
		RunE: inSettings(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Setup().Plugins(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return writePlugins(c, list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writePlugins(c *console.Console, list wire.PluginList) error {
	for _, p := range list.Problems {
		c.Warn(p)
	}
	if len(list.Plugins) == 0 {
		return c.Say("There are no plugins here; `troupe plugins add FOLDER` takes one up, or a " +
			"checkout of a marketplace.")
	}
	type col = console.Column
	t := c.Table(col{Title: "NAME"}, col{Title: "STATE"}, col{Title: "FROM", Spare: 3}, col{Title: "RUNS"},
		col{Title: "WHAT FOR", Spare: 1})
	for _, p := range list.Plugins {
		t.Row(console.Line(p.ID, 60), pluginState(p), console.Line(c.Place(p.From), 60), runsWhat(p),
			console.Line(p.Description, 200))
	}
	if err := t.Write(); err != nil {
		return err
	}
	for _, p := range list.Plugins {
		if p.Why == "" || p.State == "off" && p.Loaded {
			continue
		}
		if err := c.Printf("%s: %s\n", console.Line(p.ID, 60), console.Line(p.Why, 500)); err != nil {
			return err
		}
	}
	return nil
}

func pluginState(p wire.PluginRow) string {
	switch {
	case p.Folder == "":
		return "elsewhere"
	case !p.Loaded:
		return "broken"
	case p.State == "texts":
		return "on, runs nothing"
	}
	return p.State
}

// runsWhat is what would run of a plugin, in numbers.
func runsWhat(p wire.PluginRow) string {
	var parts []string
	if n := len(p.Hooks); n > 0 {
		parts = append(parts, console.Count(n, "hook"))
	}
	if n := len(p.Servers); n > 0 {
		parts = append(parts, console.Count(n, "server"))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func newPluginsShow(c *console.Console) *cobra.Command {
	q := wire.PluginQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show one plugin: what it brings, and what it runs", Args: console.Args(1, 1),
		Example: "troupe plugins show code-review",
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			q.Name = args[0]
			list, err := a.Setup().Plugins(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list.Plugins[0])
			}
			return writePlugin(c, list.Plugins[0])
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writePlugin(c *console.Console, p wire.PluginRow) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, console.Line(value, 2000))
		}
	}
	line("plugin", strings.TrimSpace(p.ID+" "+p.Version))
	line("what for", p.Description)
	line("state", pluginState(p))
	line("because", p.Why)
	line("folder", c.Place(p.Folder))
	line("from", c.Place(p.From))
	line("agents", strings.Join(p.Agents, ", "))
	line("skills", strings.Join(p.Skills, ", "))
	line("commands", strings.Join(p.Commands, ", "))
	line("styles", strings.Join(p.Styles, ", "))
	runs := func(name string, lines []string) {
		for _, l := range lines {
			fmt.Fprintf(&b, "%-12s %s\n", name, console.VisibleLine(l))
		}
	}
	runs("hook", p.Hooks)
	runs("MCP server", p.Servers)
	runs("new", p.Added)
	runs("gone", p.Gone)
	for _, w := range p.Warnings {
		line("note", c.Place(w))
	}
	_, err := fmt.Fprint(c.Out, b.String())
	return err
}

func newPluginsCheck(c *console.Console) *cobra.Command {
	q := wire.PluginQuery{Place: wire.Place{Cwd: c.Cwd}, Check: true}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [FOLDER...]", Short: "Say what is wrong with the files of plugins",
		Long: `Read plugins with all their files and print everything that is not followed as it is written. FOLDER is a
plugin or a checkout of a marketplace; without one, the plugins that count here are read. It ends with 1 if some file
cannot be used. With --json, one object for each plugin.`,
		Example: "troupe plugins check\ntroupe plugins check ~/src/my-plugin",
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			for _, path := range args {
				if !filepath.IsAbs(path) {
					path = filepath.Join(c.Cwd, path)
				}
				q.Paths = append(q.Paths, path)
			}
			list, err := a.Setup().Plugins(ctx, q)
			if err != nil {
				return err
			}
			return writePluginChecks(c, list, asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writePluginChecks(c *console.Console, list wire.PluginList, asJSON bool) error {
	loaded, elsewhere, failed := 0, 0, len(list.Problems)
	for _, p := range list.Problems {
		c.Warn(p)
	}
	parts := map[string]int{}
	for _, p := range list.Plugins {
		failed += p.Failed
		switch {
		case p.Loaded:
			loaded++
		case p.Folder == "":
			elsewhere++
		}
		for name, n := range map[string]int{"agent": len(p.Agents), "skill": len(p.Skills), "command": len(p.Commands),
			"hook": len(p.Hooks), "server": len(p.Servers)} {
			parts[name] += n
		}
		if asJSON {
			if err := c.JSON(p); err != nil {
				return err
			}
			continue
		}
		for _, w := range p.Warnings {
			if _, err := fmt.Fprintln(c.Out, console.Line(p.ID, 0)+": "+console.Clean(c.Place(w))); err != nil {
				return err
			}
		}
	}
	if !asJSON {
		if err := c.Printf("%s of %d can be used, %d elsewhere: %s, %s, %s, %s, %s; %s that cannot be "+
			"used\n", console.Count(loaded, "plugin"), len(list.Plugins), elsewhere,
			console.Count(parts["agent"], "agent"), console.Count(parts["skill"], "skill"),
			console.Count(parts["command"], "command"), console.Count(parts["hook"], "hook"),
			console.Count(parts["server"], "server"), console.Count(failed, "file")); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &console.Exit{Code: troupe.ExitFailed}
	}
	return nil
}

// pluginScope is the scope of what plugins bring.
const pluginScope = "plugin"

// newPluginsSet makes a command that changes what counts.
func newPluginsSet(c *console.Console, action wire.PluginAction, use, short, long, example string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: console.Args(1, 1),
		Example: "troupe plugins " + string(action) + " " + example,
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			if agent := troupe.AgentOf(c.Lookup); agent != "" {
				return console.Usage("what plugins count is a person's to decide, not an agent's: this was started by "+
					"session %s", console.Line(agent, 40))
			}
			list, err := a.Setup().SetPlugin(ctx, wire.PluginChange{Cwd: c.Cwd, Action: action, Name: args[0]})
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return writePluginSet(c, action, args[0], list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writePluginSet(c *console.Console, action wire.PluginAction, name string, list wire.PluginList) error {
	for _, p := range list.Problems {
		c.Warn(p)
	}
	switch action {
	case wire.PluginRemove:
		_, err := fmt.Fprintln(c.Out, "Forgot "+console.Line(name, 0)+".")
		return err
	case wire.PluginAdd:
		notes := 0
		for _, p := range list.Plugins {
			notes += len(p.Warnings)
		}
		tellNotes(c, notes, name)
		text := "`troupe plugins enable NAME` has one count."
		if len(list.Plugins) == 1 {
			text = fmt.Sprintf("`troupe plugins enable %s` has it count.", console.Line(list.Plugins[0].ID, 60))
		}
		err := c.Printf("Added %s with %s. %s\n", console.Line(c.Place(name), 0),
			console.Count(len(list.Plugins), "plugin"), text)
		return err
	case wire.PluginEnable, wire.PluginDisable:
	}
	for _, p := range list.Plugins {
		if err := c.Printf("%s is %s.\n", console.Line(p.ID, 60), pluginState(p)); err != nil {
			return err
		}
		if action == wire.PluginDisable {
			continue
		}
		for _, l := range append(p.Hooks, p.Servers...) {
			if _, err := fmt.Fprintln(c.Out, "it runs: "+console.VisibleLine(l)); err != nil {
				return err
			}
		}
		tellNotes(c, len(p.Warnings), p.Folder)
	}
	return nil
}

// tellNotes says that not all of a plugin's files are followed as they are written.
func tellNotes(c *console.Console, n int, folder string) {
	if n > 0 {
		c.Warn(fmt.Sprintf("there is something to say about its files, %s: troupe plugins check %s",
			console.Count(n, "note"), c.Place(folder)))
	}
}
