package run

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// NewTeam makes `troupe team`: a run, or a conversation, whose main agent leads a team from the beginning.
func NewTeam(c *console.Console) *cobra.Command { return newTeam(c, running(c)) }

func newTeam(c *console.Console, run carrying) *cobra.Command {
	cmd := &cobra.Command{
		Use: "team [prompt]", Short: "Begin a session whose main agent leads a team",
		Long: `Begin a session whose main agent leads a team of the size that you say, itself among them. The members
are there from the beginning, and idle until it has something for them. --team begins one that stands in
your settings under "teams". All else is as with troupe itself: at a terminal it is a conversation, with
-p one prompt, and troupe --resume goes on with it. ` + "`troupe docs teams`" + ` tells how a team works.`,
		Example: `troupe team "rework the parser, its tests and its docs" --size 4
troupe team -p "review this branch" --size 3 --type Explore
troupe team "prepare the release" --team release`,
	}
	var t wire.NewTeam
	configure(cmd, c, func(ctx context.Context, f flags, way Input, args []string) error {
		switch {
		case f.begin.Resume != "" || f.begin.Continue:
			return console.Usage("a session goes on with the team that it has: troupe --resume")
		case t.Name == "" && !cmd.Flags().Changed("size"):
			return console.Usage("troupe team needs --size, how many agents it has with the main one, or --team, " +
				"one of your settings")
		}
		f.begin.Team = &t
		return run(ctx, f, way, args)
	})
	cmd.Flags().IntVar(&t.Size, "size", 0, "How many agents the team has, the main one among them")
	cmd.Flags().StringVar(&t.Type, "type", "", "Type of its members, such as Explore (default: the general one)")
	cmd.Flags().StringVar(&t.Name, "team", "", "Begin the team of this name in your settings")
	if err := cmd.RegisterFlagCompletionFunc("type", c.Agents); err != nil {
		panic(err) // there is no such flag
	}
	return cmd
}
