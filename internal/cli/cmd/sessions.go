package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newSessions makes the command.
func newSessions(c *console.Console) *cobra.Command {
	var asJSON, here bool
	var l wire.Listing
	var status, after string
	cmd := &cobra.Command{
		Use: "sessions", Short: "List sessions, the newest first", Args: console.NoArgs,
		Example: "troupe sessions --here\ntroupe sessions --status waiting\ntroupe sessions --search login --by ann\n" +
			"troupe sessions --limit 20 --after 4k7q2m9xw3ht  # the next page",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			if here {
				l.Cwd = c.Cwd
			}
			l.Status, l.After = troupe.Status(status), troupe.SessionID(after)
			list, err := a.List(ctx, l)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			if len(list) == 0 && l != (wire.Listing{Limit: l.Limit}) {
				return c.Say("No session is like that.")
			}
			if len(list) == 0 {
				if old, err := a.List(ctx, wire.Listing{Archived: true, Limit: 1}); err == nil && len(old) > 0 {
					return c.Say("All sessions are archived: troupe sessions --archived")
				}
			}
			return writeSessions(c, list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&here, "here", false, "Only those of this folder")
	cmd.Flags().StringVar(&status, "status", "", "Only those that are at this: spawning, running, waiting, completed, "+
		"failed, cancelled, max_turns")
	cmd.Flags().StringVar(&l.By, "by", "", "Only those that this user of a server began")
	cmd.Flags().StringVar(&l.Text, "search", "", "Only those with these words in what they are about, or in their name")
	cmd.Flags().BoolVar(&l.Archived, "archived", false, "Only those that are archived, which are left out else")
	cmd.Flags().IntVar(&l.Limit, "limit", 50, "How many at the most (0: all)")
	cmd.Flags().StringVar(&after, "after", "", "Those behind this one, by its id: the next page")
	return cmd
}

func writeSessions(c *console.Console, list []wire.Session) error {
	if len(list) == 0 {
		return c.Say(`No sessions yet. Begin one: troupe -p "explain this project"`)
	}
	type col = console.Column
	cols := []col{{Title: "ID"}, {Title: "NAME", Least: 10}, {Title: "STATUS"}, {Title: "AGENTS", Spare: 5},
		{Title: "TOKENS", Spare: 4}, {Title: "COST", Spare: 2}, {Title: "STARTED", Spare: 1}}
	others := slices.ContainsFunc(list, func(s wire.Session) bool { return s.By != list[0].By })
	if others {
		cols = append(cols, col{Title: "BY", Spare: 6})
	}
	t := c.Table(append(cols, col{Title: "FOLDER", Spare: 3}, col{Title: "WHAT"})...)
	for _, s := range list {
		if s.Tree == nil {
			s.Tree = new(wire.Sums) // it was not told
		}
		cells := []any{s.ID, console.Line(s.Name, 24), sessionStatus(s), s.Tree.Agents,
			troupe.FormatTokens(s.Tree.Usage.Total()), sessionCost(s), s.CreatedAt.Local().Format("2006-01-02 15:04")}
		if others {
			cells = append(cells, console.Line(s.By, 20))
		}
		t.Row(append(cells, console.Line(c.ShortPath(s.Cwd), 40), console.Line(s.Title, 50))...)
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
	case s.Archived:
		return "archived"
	case !s.AsleepAt.IsZero():
		return "asleep"
	case s.Status.Ended() && s.Running && s.Tree.Active > 0:
		return console.Count(s.Tree.Active, "agent") + " at work"
	case s.Status.Ended() && s.Tree.Active > 0:
		return console.Count(s.Tree.Active, "agent") + " left behind"
	case s.Status.Ended():
		return console.EndWord(string(s.Status))
	case s.Parked != "":
		return "parked"
	case !s.Running:
		return "left behind"
	case s.Waiting != "":
		return "waits for " + string(s.Waiting)
	}
	return string(s.Status)
}
