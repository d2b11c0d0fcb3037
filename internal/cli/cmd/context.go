package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// newContext makes the command.
func newContext(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "context ID|NAME", Short: "Show what stands in an agent's context, and what each part takes",
		Long: `Show what the next model call of an agent sends, by where it comes from: the system prompt, tools, each file of
instructions, lists of skills and agents, and what was said and found since.`,
		Example:           "troupe context main\ntroupe context \"main/Auth Explorer\" --json",
		Args:              oneSession,
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			s, err := a.Find(ctx, args[0], c.Cwd)
			if err != nil {
				return err
			}
			found, err := a.Context(ctx, s.ID)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(found)
			}
			return c.Context(found)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
