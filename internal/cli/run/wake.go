package run

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/cli/console"
)

// NewWake makes `troupe wake`: a run, or a conversation, that goes on with a session which was put away.
func NewWake(c *console.Console) *cobra.Command { return newWake(c, running(c)) }

func newWake(c *console.Console, run carrying) *cobra.Command {
	cmd := &cobra.Command{
		Use: "wake ID|NAME [prompt]", Short: "Have a session go on that was put to sleep",
		Long: `Have a session go on that ` + "`troupe sleep`" + ` has put away, exactly where it stopped, in this process. What
was asked is still open, what was sent to it meanwhile is read, and the folders of its agents are made again when they
are needed. All else is as with troupe --resume: at a terminal it is a conversation, with -p a run.`,
		Example: "troupe wake fix-login\ntroupe wake -p fix-login --ask 10m\n" +
			`troupe wake -p 7k3f "and now the docs"`,
		ValidArgsFunction: c.Sessions,
	}
	var name string
	configure(cmd, c, func(ctx context.Context, f flags, way Input, args []string) error {
		if f.begin.Resume != "" || f.begin.Continue {
			return console.Usage("troupe wake takes the session by its name: troupe wake NAME")
		}
		f.begin.Resume, f.begin.Wake = name, true
		return run(ctx, f, way, args)
	})
	checked, carryOut := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "" {
			return console.Usage("troupe wake takes a session: an id, the beginning of one, or a name")
		}
		return checked(cmd, args[1:])
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name = args[0]
		return carryOut(cmd, args[1:])
	}
	return cmd
}
