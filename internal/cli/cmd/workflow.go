package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newWorkflow makes `troupe workflow`.
func newWorkflow(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workflow", Short: "Run files of steps, each an agent that begins when those it needs have ended",
		Args: console.NoArgs,
		Long: `A workflow is a YAML file with a list of steps. Each is an agent with a prompt of its own, and begins as soon
as the steps that it needs have ended, with what they reported. troupe docs workflows describes the file.`,
		Example: "troupe workflow list\ntroupe workflow check ./review.yaml\ntroupe workflow run review",
	}
	cmd.AddCommand(run.NewWorkflow(c), newWorkflowCheck(c), newWorkflowList(c))
	return cmd
}

func newWorkflowList(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the workflows of this folder, and where each is defined", Args: console.NoArgs,
		Long: `List the workflows that can be run by name in this folder: files that end in .yaml or .yml. Of two with one
name the one that comes later here counts:

  the project: .claude/workflows, .troupe/workflows, from the repository's root down to this folder
  yours:       ~/.claude/workflows, ~/.config/troupe/workflows
  managed:     workflows in /etc/claude-code and /etc/troupe`,
		Example: "troupe workflow list\ntroupe workflow list --json",
		RunE: inSettings(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Workflows(ctx, wire.WorkflowQuery{Place: wire.Place{Cwd: c.Cwd}})
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.JSON(list)
			}
			return writeWorkflows(c, list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeWorkflows(c *console.Console, list wire.WorkflowList) error {
	for _, p := range list.Problems {
		c.Warn(c.Place(p))
	}
	switch {
	case len(list.Workflows) == 0 && len(list.Problems) > 0:
		return c.Say("None here can be run.")
	case len(list.Workflows) == 0:
		return c.Say("There are none here; `troupe workflow list --help` says where they are looked for.")
	}
	type col = console.Column
	t := c.Table(col{Title: "NAME"}, col{Title: "STEPS", Spare: 3}, col{Title: "INPUTS", Spare: 2},
		col{Title: "FROM"}, col{Title: "WHAT FOR", Spare: 1}).Whole()
	for _, w := range list.Workflows {
		var steps, inputs []string
		for _, s := range w.Steps {
			steps = append(steps, s.Name)
		}
		for _, in := range w.Inputs {
			if inputs = append(inputs, in.Name); in.Default != nil {
				inputs[len(inputs)-1] += "=" + *in.Default
			}
		}
		from := c.Place(w.Source)
		if len(w.Shadows) > 0 {
			from += " (replaces " + c.Place(w.Shadows[0]) + ")"
		}
		t.Row(console.Line(w.Name, 40), console.Line(strings.Join(steps, ", "), 80),
			console.Line(strings.Join(inputs, " "), 60), console.Line(from, 0), console.Line(w.Description, 200))
	}
	return t.Write()
}

func newWorkflowCheck(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use: "check [FILE...]", Short: "Say what is wrong with workflows, with file and line",
		Long: `Read workflows and print what keeps them from being run, with file and line: steps that need each other in a
circle, parameters that a call of Agent does not take. Without a file, all that count in this folder are read.
It ends with 1 if one cannot be run.`,
		Example: "troupe workflow check\ntroupe workflow check .troupe/workflows/review.yaml",
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			list, err := a.Workflows(ctx, wire.WorkflowQuery{Place: wire.Place{Cwd: c.Cwd}, Paths: under(c.Cwd, args)})
			if err != nil {
				return err
			}
			for _, p := range list.Problems {
				if _, err := fmt.Fprintln(c.Out, console.Clean(c.Place(p))); err != nil {
					return err
				}
			}
			for _, w := range list.Workflows {
				if err := c.Printf("%s: %s\n", console.Clean(c.Place(w.Source)),
					console.Count(len(w.Steps), "step")); err != nil {
					return err
				}
			}
			if len(list.Problems) > 0 {
				if slices.ContainsFunc(args, func(name string) bool { return filepath.Ext(name) == "" }) {
					fmt.Fprintln(c.Err, "It takes files; `troupe workflow list` says which file each workflow is.")
				}
				return &console.Exit{Code: troupe.ExitFailed}
			}
			if len(list.Workflows) == 0 {
				return c.Say("There are none here; `troupe workflow list --help` says where they are looked for.")
			}
			return nil
		}),
	}
}
