package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newSkills makes the command.
func newSkills(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "skills", Short: "List skills and commands, and where each is defined", Args: console.NoArgs,
		Long: `List the skills and commands that can be used in this folder. A skill is a folder with a SKILL.md, a command
a Markdown file. People use either as /name; models use skills, and commands that say what they are for,
when a task needs them. Of two with one name the one that comes later here counts:

  yours:       ~/.claude/commands, ~/.claude/skills, ~/.config/troupe/commands, ~/.config/troupe/skills
  the project: .claude/commands, .troupe/commands, .agents/skills, .claude/skills, .troupe/skills,
               from the repository's root down to this folder
  managed:     commands and skills in /etc/claude-code and /etc/troupe`,
		Example: "troupe skills\ntroupe skills show pdf\ntroupe skills check",
		RunE: inSettings(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Skills(ctx, wire.SkillQuery{Place: wire.Place{Cwd: c.Cwd}})
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return c.Skills(list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(newSkillsCheck(c), newSkillsShow(c))
	return cmd
}

func newSkillsShow(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Print a skill or command, and what holds for it",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Usage("troupe skills show takes one name; `troupe skills` lists them")
			}
			return nil
		},
		Example: "troupe skills show pdf",
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			list, err := a.Skills(ctx, wire.SkillQuery{Place: wire.Place{Cwd: c.Cwd}, Name: args[0]})
			if err != nil {
				return err
			}
			s := list.Skills[0]
			if asJSON {
				return c.JSON(s)
			}
			runs := "run"
			if !s.Runs {
				runs = "not run: the folder is not trusted"
				switch {
				case s.Scope == pluginScope:
					runs = "not run: the plugin is not enabled as it is now"
				case s.Mute != "":
					runs = "not run: " + console.Line(s.Mute, 0)
				}
			}
			_, err = fmt.Fprintf(c.Out, "/%s  %s\nfrom: %s\nused by: %s\nleaves: %s\nits commands are %s\n\n%s\n",
				console.Line(s.Name, 100), console.Line(s.Description, 400), console.Line(c.Place(s.Source), 0),
				console.UsedBy(s),
				console.Line(console.Leaves(s), 0), runs, console.Clean(s.Text))
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newSkillsCheck(c *console.Console) *cobra.Command {
	q := wire.SkillQuery{Place: wire.Place{Cwd: c.Cwd}, Check: true}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [PATH...]", Short: "Say what is wrong with skills and commands, with file and line",
		Long: `Read skills and commands and print everything about them that is not followed as it is written, with file and
line. PATH is a SKILL.md, a file of commands, or a folder with its subfolders; without one, all that count
in this folder are read. It ends with 1 if some file cannot be used. With --json, one object for each file.`,
		Example: "troupe skills check\ntroupe skills check .claude/skills/pdf\ntroupe skills check --json ~/skills",
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			q.Paths = under(c.Cwd, args)
			list, err := a.Skills(ctx, q)
			if err != nil {
				return err
			}
			return writeChecks(c, list.Files, asJSON, func(f wire.SkillCheck) checked {
				return checked{f.Loaded, f.Document, f.Warnings}
			}, "skill", "used")
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
