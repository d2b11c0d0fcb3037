package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
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
			return listPlans(c, list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(newPlansShow(c))
	return cmd
}

func newPlansShow(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Print a plan", Args: cobra.ExactArgs(1),
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
			_, err = fmt.Fprintln(c.Out, console.Visible(strings.TrimRight(list[0].Text, "\n")))
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func listPlans(c *console.Console, list []wire.Plan) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.Out, "There are no plans. `troupe --permission-mode plan` begins with one.")
		return err
	}
	for _, p := range list {
		state := string(p.State)
		switch {
		case p.State == "":
			state = "its session is gone"
		case p.Request != "":
			state = "waits: troupe answer " + p.Request + " allow|deny"
		case p.By != "":
			state += " by " + console.VisibleLine(p.By)
		}
		if _, err := fmt.Fprintf(c.Out, "%s  %s  %s\n  %s\n", p.Changed.Local().Format("2006-01-02 15:04"),
			console.VisibleLine(p.Name), state, console.VisibleLine(p.File)); err != nil {
			return err
		}
	}
	return nil
}
