package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newStyles makes the command.
func newStyles(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "styles", Short: "List output styles, and where each is defined", Args: console.NoArgs,
		Long: `List the output styles that can be chosen in this folder: Markdown files that say how the main agent answers.
"outputStyle": "NAME" in settings chooses one for the sessions that begin from then on, and outputStyle in the
definition of an agent one for its agents. Of two with one name the one that comes later here counts:

  plugins':    of those that are enabled, as PLUGIN:NAME
  yours:       ~/.claude/output-styles, ~/.config/troupe/output-styles
  the project: .claude/output-styles, .troupe/output-styles, once the folder is trusted
  managed:     output-styles in /etc/claude-code and /etc/troupe`,
		Example: "troupe styles\ntroupe styles --json",
		RunE: inSettings(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Skills(ctx, wire.SkillQuery{Place: wire.Place{Cwd: c.Cwd}, Styles: true})
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return writeStyles(c, list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeStyles(c *console.Console, list wire.SkillList) error {
	for _, p := range list.Problems {
		c.Warn(c.Place(p))
	}
	if len(list.Styles) == 0 {
		return c.Say("There are none here; `troupe styles --help` says where they are looked for.")
	}
	type col = console.Column
	t := c.Table(col{Title: "NAME"}, col{Title: "CHOSEN"}, col{Title: "PROMPT", Spare: 2}, col{Title: "FROM"},
		col{Title: "WHAT FOR", Spare: 1})
	for _, s := range list.Styles {
		from := console.FromPlugin(s.Scope, s.Name, c.Place(s.Source))
		if len(s.Shadows) > 0 {
			from += " (replaces " + c.Place(s.Shadows[0]) + ")"
		}
		chosen, prompt := "", "without coding"
		if s.Chosen {
			chosen = "yes"
		}
		if s.Keeps {
			prompt = "whole"
		}
		t.Row(console.Line(s.Name, 40), chosen, prompt, console.Line(from, 0), console.Line(s.Description, 200))
	}
	return t.Write()
}
