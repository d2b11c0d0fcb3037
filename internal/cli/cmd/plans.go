package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// newPlans makes the command with its part.
func newPlans(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "plans", Short: "List the plans that agents have written", Args: console.NoArgs,
		Long: `List the plans that agents have written in plan mode: whose each is, and whether it waits for a
person, was approved or was rejected.`,
		Example: "troupe plans\ntroupe plans show fix-the-login",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Plans(ctx, "")
			if err != nil {
				return err
			}
			if asJSON {
				return jsonList(c, list)
			}
			return c.Plans(list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(newPlansShow(c))
	return cmd
}

func newPlansShow(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Print a plan", Args: console.Args(1, 1),
		Long:    "Print a plan. The beginning of its name will do.",
		Example: "troupe plans show fix-the-login",
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			if args[0] == "" {
				return console.Usage("the name is empty; is a variable not set?")
			}
			list, err := a.Plans(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list[0])
			}
			return c.Plan(list[0])
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
