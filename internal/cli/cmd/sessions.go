package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newSessions makes the command.
func newSessions(c *console.Console) *cobra.Command {
	var asJSON, here bool
	var limit int
	cmd := &cobra.Command{
		Use: "sessions", Short: "List sessions, the newest first", Args: console.NoArgs,
		Example: "troupe sessions --here\ntroupe sessions --json",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			cwd := ""
			if here {
				cwd = c.Cwd
			}
			list, err := a.List(ctx, wire.Listing{Cwd: cwd, Limit: limit})
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return writeSessions(c, list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&here, "here", false, "Only those of this folder")
	cmd.Flags().IntVar(&limit, "limit", 50, "How many at the most (0: all)")
	return cmd
}

func writeSessions(c *console.Console, list []wire.Session) error {
	if len(list) == 0 {
		return c.Say(`No sessions yet. Begin one: troupe -p "explain this project"`)
	}
	type col = console.Column
	t := c.Table(col{Title: "ID"}, col{Title: "NAME", Least: 10}, col{Title: "STATUS"}, col{Title: "AGENTS", Spare: 5},
		col{Title: "TOKENS", Spare: 4}, col{Title: "COST", Spare: 2}, col{Title: "STARTED", Spare: 1},
		col{Title: "FOLDER", Spare: 3}, col{Title: "WHAT"})
	for _, s := range list {
		t.Row(s.ID, console.Line(s.Name, 24), sessionStatus(s), s.Tree.Agents,
			troupe.FormatTokens(s.Tree.Usage.Total()), sessionCost(s), s.CreatedAt.Local().Format("2006-01-02 15:04"),
			console.Line(c.ShortPath(s.Cwd), 40), console.Line(s.Title, 50))
	}
	return t.Write()
}

// sessionCost is what a tree has cost, as far as that is known.
func sessionCost(s wire.Session) string {
	switch {
	case s.Unpriced && s.Tree.CostUSD == 0:
		return "?"
	case s.Unpriced:
		return troupe.Dollars(s.Tree.CostUSD).String() + "+?"
	}
	return troupe.Dollars(s.Tree.CostUSD).String()
}

// sessionStatus is the status for people. A live session that no process has in hand was left by
// a crash.
func sessionStatus(s wire.Session) string {
	switch {
	case !s.AsleepAt.IsZero():
		return "asleep"
	case s.Status.Ended() && s.Running && s.Tree.Active > 0:
		return console.Count(s.Tree.Active, "agent") + " at work"
	case s.Status.Ended() && s.Tree.Active > 0:
		return console.Count(s.Tree.Active, "agent") + " left behind"
	case s.Status.Ended():
		return console.EndWord(string(s.Status))
	case !s.Running:
		return "left behind"
	case s.Waiting != "":
		return "waits for " + string(s.Waiting)
	}
	return string(s.Status)
}
