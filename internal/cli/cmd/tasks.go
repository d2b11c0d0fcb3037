package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newTasks makes the command.
func newTasks(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "tasks [ID|NAME]", Short: "List running and finished agents and commands",
		Long: `List the running and finished agents and commands of a session and its sub-agents; without a
session, those of every session that has something running. A main agent is listed while it
works or waits. A task whose process has died is "left behind"; resume its session to continue it.`,
		Example: "troupe tasks\ntroupe tasks 7k3f --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return oneSession(cmd, args)
			}
			return nil
		},
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			return listTasks(ctx, c, a, args, asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func listTasks(ctx context.Context, c *console.Console, a api.API, args []string, asJSON bool) error {
	var id troupe.SessionID
	if len(args) > 0 {
		s, err := a.Find(ctx, args[0], c.Cwd)
		if err != nil {
			return err
		}
		id = s.ID
	}
	list, err := a.Tasks(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return jsonList(c, list)
	}
	return writeTasks(c, list)
}

func writeTasks(c *console.Console, list []wire.Task) error {
	if len(list) == 0 {
		return c.Say("Nothing is at work.")
	}
	type col = console.Column
	table := c.Table(col{Title: "AGENT", Least: 10}, col{Title: "TASK", Spare: 2}, col{Title: "KIND", Spare: 3},
		col{Title: "WHAT", Least: 14}, col{Title: "STATUS"}, col{Title: "TIME", Spare: 1}, col{Title: "DOING"})
	for _, t := range list {
		if t.Doing == string(t.Status) {
			t.Doing = "" // its status says so
		}
		table.Row(console.Middle(console.Line(t.Path, 0), 40), t.ID, taskKind(t), taskTitle(t), taskStatus(t),
			console.Duration(t.DurationMS), console.Line(t.Doing, 100))
	}
	if err := table.Write(); err != nil {
		return err
	}
	told := make(map[troupe.SessionID]bool)
	for _, t := range list {
		if t.Left && !told[t.Root] {
			told[t.Root] = true
			text := fmt.Sprintf("Session %s was left behind by a process that is gone; "+
				"go on with: troupe --resume %s (the newest of its folder: troupe --continue)", t.Root,
				t.Root)
			if t.Asleep {
				text = fmt.Sprintf("Session %s is asleep; wake it with: troupe wake %s", t.Root, t.Root)
			}
			if err := c.Say(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func taskStatus(t wire.Task) string {
	if t.Asleep {
		return "asleep"
	}
	if t.Left {
		return "left behind"
	}
	return console.EndWord(string(t.Status))
}

func taskKind(t wire.Task) string {
	if t.Background {
		return string(t.Kind) + ", background"
	}
	return string(t.Kind)
}

func taskTitle(t wire.Task) string {
	if t.Title != "" && t.Number == 0 && (t.Title == t.Name || t.Path == t.Name) {
		return console.Line(t.Title, 50) // whose it is stands before it
	}
	if t.Number > 0 {
		t.Name = fmt.Sprintf("#%d %s", t.Number, t.Name)
	}
	if t.Title == "" {
		return console.Line(t.Name, 50)
	}
	return console.Line(t.Name+": "+t.Title, 50)
}
