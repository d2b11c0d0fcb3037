// Package show is `troupe show`: a tree of agents, what each did and cost.
package show

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// New makes the command.
func New(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID|NAME", Short: "Show a session: its agents, what each did and cost", Args: exactly("show"),
		Example: "troupe show 7k3f\ntroupe show \"main/Auth Explorer\" --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd.Context(), func(a *app.App) error {
				return execute(cmd.Context(), c, a, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

func exactly(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return console.Usage("troupe %s takes one session: an id, the beginning of one, a name, or a path such as \"main/Auth Explorer\"", name)
		}
		return nil
	}
}

func execute(ctx context.Context, c *console.Console, a *app.App, ref string, asJSON bool) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	report, err := a.Report(ctx, s.Root)
	if err != nil {
		return err
	}
	if s.Parent != "" {
		report = only(report, s)
	}
	if asJSON {
		report.Type = "session"
		return c.JSON(report)
	}
	t, err := a.Tree(ctx, s.Root)
	if err != nil {
		return err
	}
	write(c, t, report, s)
	return nil
}

// only narrows a tree's report to one agent of it.
func only(r wire.Run, s troupe.Session) wire.Run {
	for _, ag := range r.Agents {
		if ag.ID == s.ID {
			r.SessionID, r.Name, r.Status, r.Cause, r.Result, r.Error = s.ID, s.Name, s.Status, s.Cause, s.Result, s.Error
			r.Usage, r.CostUSD, r.DurationMS, r.NumTurns = ag.Usage, ag.CostUSD, ag.DurationMS, ag.Turns
			r.Agents, r.Denials = []wire.Agent{ag}, nil
			return r
		}
	}
	return r
}

func write(c *console.Console, t app.Tree, r wire.Run, s troupe.Session) {
	status := string(s.Status)
	switch {
	case s.Status.Live() && !t.Running:
		status = "left behind by a process that is gone; go on with: troupe -p --resume " + string(s.Root)
	case s.Status.Live():
		status += fmt.Sprintf(", run by process %d", t.Owner.PID)
		if s.Waiting != "" {
			status += ", waits for " + string(s.Waiting)
			if !s.Until.IsZero() {
				status += " until " + console.Clock(s.Until.Local(), c.Now())
			}
		}
	case s.Cause != "":
		status += " (" + string(s.Cause) + ")"
	}
	fmt.Fprintf(c.Out, "session  %s %s\nwhat     %s\nfolder   %s\nmodel    %s\nstatus   %s\nbegan    %s\n", s.ID, console.Line(s.Name, 0), console.Line(s.Title, 0),
		c.ShortPath(s.Cwd), s.Model, status, s.CreatedAt.Local().Format("2006-01-02 15:04:05"))
	if s.Error != "" {
		fmt.Fprintf(c.Out, "error    %s\n", console.Line(s.Error, 0))
	}
	fmt.Fprintln(c.Out)
	run.Table(c.Out, r)
	if s.Result != "" {
		fmt.Fprintf(c.Out, "\n%s\n", strings.TrimRight(console.Clean(s.Result), "\n"))
	}
}
