// Package stop is `troupe stop`: it ends an agent's run, or a whole tree's, in good order.
package stop

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/reach"
	"github.com/troupe-dev/troupe/internal/wire"
)

type home interface {
	reach.Home
	Find(ctx context.Context, ref, cwd string) (troupe.Session, error)
	Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error)
}

// stopped is what --json prints.
type stopped struct {
	Session troupe.SessionID `json:"session"`
	// Effect is "stops", "none": nobody was running it, or "idle": it had nothing at work.
	Effect string `json:"effect"`
	Now    bool   `json:"now"`
	Tree   bool   `json:"tree"`
}

// New makes the command.
func New(c *console.Console) *cobra.Command {
	var asJSON, now bool
	cmd := &cobra.Command{
		Use: "stop ID|NAME", Short: "Stop an agent, or a whole tree; all of it can be resumed",
		Long: `Stop an agent, from any terminal. It finishes the step it is in, or with --now it is
interrupted. Of a main agent, all agents and tasks are stopped; of a sub-agent, only itself
and those it waits for, and its parent is told. What was done is kept and can be resumed.`,
		Example: "troupe stop 7k3f\ntroupe stop \"main/Auth Explorer\" --now",
		Args:    func(_ *cobra.Command, args []string) error { return reach.One("stop", args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd.Context(), func(a *app.App) error { return execute(cmd.Context(), c, a, args[0], now, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "Interrupt what is under way")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

func execute(ctx context.Context, c *console.Console, h home, ref string, now, asJSON bool) error {
	s, err := h.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	return reach.Act(ctx, c, h, s.Root, func(p reach.Place) error {
		// It is looked at before it is told: afterwards everything is at rest.
		busy, err := atWork(ctx, h, s)
		if err != nil {
			return err
		}
		out := stopped{Session: s.ID, Effect: "none", Now: now, Tree: s.Parent == ""}
		// A stop left in the home would end the run of whoever resumes it later.
		if p.Tree.Running {
			if err := p.Stop(ctx, s.ID, wire.Stop{Now: now, Tree: out.Tree}); err != nil {
				return err
			}
			out.Effect = "stops"
			if !busy {
				out.Effect = "idle"
			}
		}
		if asJSON {
			return c.JSON(out)
		}
		_, err = fmt.Fprintf(c.Out, "%s: %s\n", p.Path(s.ID), describe(out, s))
		return err
	})
}

// atWork reports whether there is something that a stop would end.
func atWork(ctx context.Context, h home, s troupe.Session) (bool, error) {
	if s.Status.Live() {
		return true, nil
	}
	list, err := h.Tasks(ctx, s.ID)
	return s.Parent == "" && slices.ContainsFunc(list, func(t wire.Task) bool { return t.Status == troupe.TaskRunning }), err
}

func describe(o stopped, s troupe.Session) string {
	again := "go on later with: troupe -p --resume " + string(s.Root)
	if s.Parent != "" {
		again = fmt.Sprintf("have it go on with: troupe send %s \"…\"", s.ID)
	}
	switch {
	case o.Effect == "none":
		return "nobody is running it now; there is nothing to stop"
	case o.Effect == "idle" && s.Parent == "":
		return "it is idle: no agent and no command of it is at work; there is nothing to stop"
	case o.Effect == "idle":
		return fmt.Sprintf("it is not at work (%s); there is nothing to stop", s.Status)
	case o.Now:
		return "stops now; " + again
	}
	return "stops after the step it is in; " + again
}
