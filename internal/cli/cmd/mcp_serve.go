package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/mcpserve"
)

// usualAsk is how long what agents of a program ask waits: a person may be asked through the program, or answer in a
// terminal.
const usualAsk = 10 * time.Minute

func newMCPServe(c *console.Console) *cobra.Command {
	o := mcpserve.Options{Version: c.Version}
	var ask time.Duration
	cmd := &cobra.Command{
		Use: "serve", Short: "Offer Troupe to other programs as an MCP server", Args: console.NoArgs,
		Long: `Offer Troupe to other programs as an MCP server, over standard input and output: they start agents in this folder,
follow and steer them, and have their results. What the agents may do is what these flags and your settings say; no call
changes it. See "troupe docs mcp".`,
		Example: "troupe mcp serve\ntroupe mcp serve --cwd ~/project --permission-mode acceptEdits --max-cost 5",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Begin.Cwd == "" {
				o.Begin.Cwd = c.Cwd
			}
			o.Begin.AskMS = max(0, ask).Milliseconds()
			return c.With(cmd.Context(), troupe.SurfaceMCP, func(h *home.Home) error {
				return mcpserve.Serve(cmd.Context(), h.API, c.In, c.Out, o)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Begin.Cwd, "cwd", "", "Folder in which agents work (default: this one)")
	fs.StringVar(&o.Begin.Model, "model", "", "Model of the agents (default: that of the settings)")
	fs.StringVar(&o.Begin.Agent, "agent", "", "Run every session as this type of agent")
	fs.StringVar((*string)(&o.Begin.Mode), "permission-mode", "", "How calls are decided: "+troupe.ModeNames(" or "))
	fs.StringArrayVar(&o.Begin.Allow, "allowed-tools", nil, "Permission rules that allow")
	fs.StringArrayVar(&o.Begin.Deny, "disallowed-tools", nil, "Permission rules that deny")
	fs.BoolVar(&o.Begin.Trust, "trust", false, "Trust the folder as it is")
	fs.IntVar(&o.Begin.MaxTurns, "max-turns", 0, "Stop a main agent after this many model replies")
	fs.Float64Var(&o.Begin.MaxUSD, "max-cost", 0, "Stop a session once it has cost this many dollars")
	fs.DurationVar(&ask, "ask", usualAsk, "How long what agents ask waits for an answer; 0 denies at once")
	fs.BoolVar(&o.Answers, "answers", false, "The program itself may allow what agents ask for")
	return cmd
}
