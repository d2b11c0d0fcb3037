package run

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// agentWorkflow is the type of the sessions that follow workflows.
const agentWorkflow = "workflow"

// headlessOnly makes a command that was configured as the one that runs prompts one that runs a prompt of its own: the
// flags that choose another session or prompt mean nothing to it, nor do those that are named.
func headlessOnly(cmd *cobra.Command, name string, not ...string) {
	without(cmd, name, append(not, "print", "input-format", "output-schema", "agent", "coordinator", "continue",
		"resume",
		"take-over", "append-system-prompt", "worktree")...)
}

// without has a command that was configured as the one that runs prompts hold no conversation, and take none of some
// flags.
func without(cmd *cobra.Command, name string, not ...string) {
	for _, flag := range not {
		cmd.Flags().Lookup(flag).Hidden = true
	}
	begin := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, flag := range not {
			if cmd.Flags().Changed(flag) {
				return console.Usage("--%s is not for troupe %s; `troupe %s --help` lists what is", flag, name, name)
			}
		}
		if err := cmd.Flags().Set("print", "true"); err != nil {
			return fmt.Errorf("run a prompt: %w", err)
		}
		return begin(cmd, args)
	}
}

// NewWorkflow makes `troupe workflow run`: a run whose prompt is a workflow, with the flags of any other.
func NewWorkflow(c *console.Console) *cobra.Command {
	var inputs []string
	cmd := &cobra.Command{
		Use: "run NAME|FILE", Short: "Run the agents of a workflow, each as soon as those that it needs have ended",
		Long: `Run a workflow: by its name, as troupe workflow list shows it, or the file that FILE is (with a slash, or
ending in .yaml or .yml). It is one session of the type workflow, with an agent for each step: it is shown,
stopped, limited and billed as every session is. One that was killed goes on with troupe -p --resume ID; so does
one that failed or was interrupted: its failed steps begin again.`,
		Example: "troupe workflow run release-notes --input version=1.2\n" +
			"troupe workflow run ./review.yaml --model opus --allowed-tools 'Bash(go test ./...)' --max-cost 5",
	}
	configure(cmd, c, func(ctx context.Context, f flags, _ Input, args []string) error {
		return follow(ctx, c, f, args[0], inputs)
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return console.Usage("troupe workflow run takes one workflow; `troupe workflow list` names them")
		}
		return nil
	}
	headlessOnly(cmd, "workflow run", "max-turns", "effort", "fallback-model")
	cmd.Flags().StringArrayVar(&inputs, "input", nil, "A value of one of the workflow's inputs: NAME=VALUE")
	return cmd
}

// isFile reports whether what a person named is a file, and not the name of a workflow.
func isFile(arg string) bool {
	ext := filepath.Ext(arg)
	return strings.ContainsAny(arg, `/\`) || ext == ".yaml" || ext == ".yml"
}

func follow(ctx context.Context, c *console.Console, f flags, which string, inputs []string) error {
	b, err := base(c, f)
	if err != nil {
		return err
	}
	q := wire.WorkflowQuery{Place: wire.Place{Cwd: b.Cwd}, Begin: true, Inputs: map[string]string{}}
	if q.Name = which; isFile(which) {
		if q.Name = ""; !filepath.IsAbs(which) {
			which = filepath.Join(c.Cwd, which)
		}
		q.Paths = []string{which}
	}
	for _, in := range inputs {
		name, value, ok := strings.Cut(in, "=")
		if !ok {
			return console.Usage("--input %s has no value: write NAME=VALUE", in)
		}
		q.Inputs[name] = value
	}
	return c.With(ctx, troupe.SurfaceHeadless, func(h *home.Home) error {
		list, err := h.API.Workflows(ctx, q)
		switch {
		case err != nil:
			return err
		case len(list.Workflows) == 0:
			return &troupe.UserError{Problem: strings.Join(list.Problems, "\n"),
				Hint: "`troupe docs workflows` describes the file.", Code: troupe.ExitUsage}
		}
		b.Agent, b.Prompt = agentWorkflow, list.Workflows[0].Prompt
		return headless(ctx, c, h.API, b, f.output(c))
	})
}
