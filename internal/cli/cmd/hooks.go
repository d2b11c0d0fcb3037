package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newHooks makes the command with its part.
func newHooks(c *console.Console) *cobra.Command {
	q := wire.HookQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "hooks", Short: "List the hooks that are set here", Args: console.NoArgs,
		Long: `List the hooks that are set in this folder: at which moment each runs, for what, where it was set, and
whether it counts. See "troupe docs hooks".`,
		Example: "troupe hooks\ntroupe hooks try PreToolUse --tool Bash --input '{\"command\":\"git push\"}'",
		RunE: inSettings(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Setup().Hooks(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return c.Hooks(list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(newHooksTry(c))
	return cmd
}

func newHooksTry(c *console.Console) *cobra.Command {
	q := wire.HookQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	var input string
	cmd := &cobra.Command{
		Use: "try EVENT", Short: "Run the hooks of a moment on a made-up one", Args: console.Args(1, 1),
		Long: `Run the hooks that are due at a moment, with a made-up call or text, and show what each said and what
would follow. The hooks really run; the call does not.`,
		Example: `troupe hooks try PreToolUse --tool Write --input '{"file_path":"a.txt","content":"x"}'
troupe hooks try UserPromptSubmit --text "what is the password?"`,
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			q.Event, q.Input = troupe.HookEvent(args[0]), json.RawMessage(input)
			list, err := a.Setup().Hooks(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return writeTry(c, list)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&q.Tool, "tool", "", "Tool of the made-up call (default: Bash)")
	fs.StringVar(&input, "input", "", "Input of the made-up call, as JSON")
	fs.StringVar(&q.Text, "text", "", "What a person, an agent or a tool would have said")
	fs.StringVar(&q.Agent, "agent", "", "Type of agent that it would happen to (default: main)")
	fs.StringVar(&q.Match, "match", "", "What matchers are compared with where it is no tool, such as startup")
	fs.BoolVar(&q.Trust, "trust", false, "As if this folder were trusted")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeTry(c *console.Console, list wire.HookList) error {
	for _, b := range list.Ran {
		b.Coord = nil // of a call that was made up
		if _, err := fmt.Fprintln(c.Out, describeHook(b)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(c.Out, "follows: "+console.Line(list.Follows, 0))
	return err
}

// describeHook is a run of a hook for people.
func describeHook(b troupe.HookRan) string {
	about := ""
	if b.Coord != nil {
		about = fmt.Sprintf(" about call %d of reply %d", b.Coord.Call, b.Coord.Reply)
	}
	how := fmt.Sprintf(" · exit %d · %d ms", b.Exit, b.DurationMS)
	if b.Effect == troupe.HookBegun {
		how = "" // that comes with its end
	}
	text := line("hook of %s: %s %q%s · %s%s (%s)", b.Event, b.Type, b.Name, about,
		cmp.Or(string(b.Effect), "nothing to say"), how, b.Source)
	for _, more := range []string{b.Why, b.Message} {
		if more != "" {
			text += "; " + console.Line(more, 0)
		}
	}
	return text + indent(b.Said)
}
