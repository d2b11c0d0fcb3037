package console

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Lists of what is set up, as the commands print them and the conversation shows them.

// pluginScope is the scope of what plugins bring.
const pluginScope = "plugin"

// Place is a path as it is shown: from this folder, or the home.
func (c *Console) Place(path string) string {
	if below, ok := strings.CutPrefix(path, strings.TrimSuffix(c.Cwd, "/")+"/"); ok {
		return below
	}
	return c.ShortPath(path)
}

// toolsText is a list of tools; nil is all of them.
func toolsText(tools []string) string {
	switch {
	case tools == nil:
		return "all"
	case len(tools) == 0:
		return "none"
	}
	return strings.Join(tools, ", ")
}

// FromPlugin names the plugin that brings something, in the place of its file.
func FromPlugin(scope, name, file string) string {
	if plugin, _, ok := strings.Cut(name, ":"); ok && scope == pluginScope {
		return "plugin " + plugin
	}
	return file
}

// Servers lists MCP servers.
func (c *Console) Servers(list wire.ServerList) error {
	for _, p := range list.Problems {
		c.Warn(p)
	}
	if len(list.Servers) == 0 {
		return c.Say("No MCP servers hold here; `troupe mcp add` writes one down. A project's count " +
			"once " +
			"its folder is trusted.")
	}
	type col = Column
	t := c.Table(col{Title: "NAME"}, col{Title: "TYPE"}, col{Title: "TOOLS"}, col{Title: "SCOPE", Spare: 3},
		col{Title: "FROM", Spare: 2},
		col{Title: "RUNS", Spare: 1}).Whole()
	for _, s := range list.Servers {
		t.Row(Line(s.Name, 40), s.Type, toolCount(s), s.Scope, Line(c.Place(s.Source), 0),
			Line(s.Line, 200))
	}
	if err := t.Write(); err != nil {
		return err
	}
	for _, s := range list.Servers {
		if why := cmp.Or(s.Off, s.Failed); why != "" {
			if _, err := fmt.Fprintf(c.Out, "%s: %s\n", Line(s.Name, 40), Line(why, 500)); err != nil {
				return err
			}
		}
	}
	return nil
}

func toolCount(s wire.ServerRow) string {
	switch {
	case s.Off != "":
		return "off"
	case s.Failed != "":
		return "?"
	}
	return fmt.Sprint(len(s.Tools))
}

// Server shows one.
func (c *Console) Server(s wire.ServerRow) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, Line(value, 500))
		}
	}
	line("name", s.Name)
	line("type", s.Type)
	if s.Type == "stdio" {
		line("runs", s.Line)
	} else {
		line("url", s.Line)
	}
	line("scope", s.Scope)
	line("from", c.Place(s.Source))
	for _, f := range s.Shadows {
		line("replaces", c.Place(f))
	}
	line("variables", strings.Join(s.Env, ", "))
	line("headers", strings.Join(s.Headers, ", "))
	line("login as", s.Client)
	if len(s.Variables) > 0 {
		line("takes", strings.Join(s.Variables, ", ")+" of your environment")
	}
	line("sandbox", s.Sandbox)
	switch s.Login {
	case "in":
		line("login", "yes")
	case "expired":
		line("login", "it has expired; troupe mcp login renews it")
	}
	line("off", s.Off)
	line("failed", s.Failed)
	if s.Off == "" && s.Failed == "" {
		line("tools", fmt.Sprint(len(s.Tools)))
		for _, t := range s.Tools {
			fmt.Fprintf(&b, "  %s  %s\n", Line(t.Name, 100), Line(t.Description, 80))
		}
		line("prompts", strings.Join(s.Prompts, ", "))
		if s.Resources {
			line("resources", "yes")
		}
	}
	_, err := fmt.Fprint(c.Out, b.String())
	return err
}

// Hooks lists hooks.
func (c *Console) Hooks(list wire.HookList) error {
	for _, p := range list.Problems {
		c.Warn(p)
	}
	if len(list.Hooks) == 0 {
		return c.Say("No hooks are set here; `troupe docs hooks` says how.")
	}
	type col = Column
	t := c.Table(col{Title: "MOMENT"}, col{Title: "FOR", Spare: 2}, col{Title: "TYPE"}, col{Title: "RUNS", Spare: 1},
		col{Title: "FROM", Spare: 3}, col{Title: "COUNTS"}).Whole()
	for _, h := range list.Hooks {
		counts := "yes"
		switch {
		case h.Off != "":
			counts = "no: " + h.Off
		case h.Broken != "":
			counts = "fails: " + h.Broken
		}
		from := c.Place(h.Source)
		if strings.HasPrefix(h.Scope, pluginScope+" ") {
			from = h.Scope
		}
		if h.Agent != "" {
			from += " (" + h.Agent + " and below)"
		}
		if h.Skill != "" {
			from += " (who has used " + h.Skill + ", and below)"
		}
		about := cmp.Or(h.Matcher, "all")
		if h.If != "" {
			about += " if " + h.If
		}
		t.Row(string(h.Event), Line(about, 80), h.Type, Line(h.Run, 120),
			Line(from, 0), Line(counts, 0))
	}
	return t.Write()
}

// Skills lists skills and commands of files.
func (c *Console) Skills(list wire.SkillList) error {
	for _, p := range list.Problems {
		c.Warn(p)
	}
	if len(list.Skills) == 0 {
		return c.Say("There are none here; `troupe skills --help` says where they are looked for.")
	}
	type col = Column
	t := c.Table(col{Title: "NAME"}, col{Title: "USED BY", Spare: 3}, col{Title: "LEAVES", Spare: 2},
		col{Title: "FROM"}, col{Title: "WHAT FOR", Spare: 1}).Whole()
	for _, s := range list.Skills {
		from := FromPlugin(s.Scope, s.Name, c.Place(s.Source))
		if len(s.Shadows) > 0 {
			from += " (replaces " + c.Place(s.Shadows[0]) + ")"
		}
		t.Row(Line("/"+s.Name, 40), UsedBy(s), Line(Leaves(s), 48), Line(from, 0),
			Line(s.Description, 200))
	}
	return t.Write()
}

// UsedBy says who uses a skill.
func UsedBy(s wire.Skill) string {
	files := ""
	if s.Paths != nil {
		files = " for " + Line(strings.Join(s.Paths, " "), 60)
	}
	switch {
	case s.Models && s.People:
		return "people, models" + files
	case s.Models:
		return "models" + files
	case s.People:
		return "people"
	}
	return "none"
}

// Leaves is what a skill leaves of a session's tools.
func Leaves(s wire.Skill) string {
	text := toolsText(s.Tools)
	if len(s.Without) > 0 {
		text += " without " + strings.Join(s.Without, ", ")
	}
	return text
}

// Plans lists plans.
func (c *Console) Plans(list []wire.Plan) error {
	if len(list) == 0 {
		return c.Say("There are no plans. `troupe --permission-mode plan` begins with one.")
	}
	for _, p := range list {
		state := string(p.State)
		switch {
		case p.State == "":
			state = "its session is gone"
		case p.Request != "":
			state = "waits: troupe answer " + p.Request + " allow|deny"
		case p.By != "":
			state += " by " + VisibleLine(p.By)
		}
		if err := c.Say(Sprintf("%s  %s  %s\n  %s", p.Changed.Local().Format("2006-01-02 15:04"),
			VisibleLine(p.Name), state, VisibleLine(p.File))); err != nil {
			return err
		}
	}
	return nil
}

// Plan prints the text of one.
func (c *Console) Plan(p wire.Plan) error {
	_, err := fmt.Fprintln(c.Out, Visible(strings.TrimRight(p.Text, "\n")))
	return err
}

// Saved is what sharing has saved; "" if that is nothing, or not known.
func Saved(s *wire.Shared) string {
	if s == nil || s.SavedUSD <= 0 {
		return ""
	}
	return troupe.Dollars(s.SavedUSD).String()
}

// Shared says what first calls have found in the provider's cache; "" if that is nothing.
func Shared(s *wire.Shared) string {
	if s == nil {
		return ""
	}
	text := troupe.FormatTokens(s.Tokens) + " tokens of first calls were read from the cache, where other agents had " +
		"written them"
	if money := Saved(s); money != "" {
		text += ", which saved " + money
	}
	return text
}

// Memories lists what agents have kept.
func (c *Console) Memories(found []wire.Memory) error {
	if len(found) == 0 {
		return c.Say("Agents have kept nothing here. One whose definition says memory: user, project or local may.")
	}
	t := c.Table(Column{Title: "AGENT"}, Column{Title: "SCOPE"}, Column{Title: "FILES"},
		Column{Title: "FOLDER", Spare: 1}).Whole()
	for _, m := range found {
		scope := string(m.Scope)
		if m.Session != "" {
			scope += " " + string(m.Session)
		}
		t.Row(Line(m.Agent, 40), scope, fmt.Sprint(len(m.Files)), Line(c.Place(m.Folder), 0))
	}
	return t.Write()
}

// AgentTypes lists the types of agents that can be started in a folder.
func (c *Console) AgentTypes(list wire.AgentList) error {
	for _, p := range list.Problems {
		c.Warn(p)
	}
	type col = Column
	t := c.Table(col{Title: "NAME"}, col{Title: "MODEL", Spare: 3}, col{Title: "TOOLS", Spare: 2}, col{Title: "FROM"},
		col{Title: "WHEN TO USE", Spare: 1}).Whole()
	for _, a := range list.Agents {
		model := a.Model
		if model == "" {
			model = "inherit"
		}
		from := FromPlugin(a.Scope, a.Name, c.Place(a.Source))
		if len(a.Shadows) > 0 {
			from += " (replaces " + c.Place(a.Shadows[0]) + ")"
		}
		t.Row(Line(a.Name, 40), Line(model, 24), Line(toolsText(a.Tools), 48),
			Line(from, 0), Line(a.Description, 200))
	}
	return t.Write()
}
