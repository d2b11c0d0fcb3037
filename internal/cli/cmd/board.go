package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/live"
	"github.com/troupe-dev/troupe/internal/wire"
)

type boardFlags struct{ json, follow bool }

// newBoard makes the command.
func newBoard(c *console.Console) *cobra.Command {
	var f boardFlags
	cmd := &cobra.Command{
		Use: "board ID|NAME", Short: "Show the task list of a session and its team", Args: oneSession,
		Long: `Show the list of what the agents of a session have put down to be done: ☐ pending, ▶ in progress, ☑ completed,
and in parentheses the agent that has the task. Comments of agents stand below it.`,
		Example:           "troupe board 7k3f\ntroupe board 7k3f --follow\ntroupe board 7k3f --json",
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			return showBoard(ctx, c, a, args[0], f)
		}),
	}
	jsonFlag(cmd, &f.json)
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "Go on printing what changes until interrupted")
	return cmd
}

func showBoard(ctx context.Context, c *console.Console, a api.API, ref string, f boardFlags) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	stream, err := a.Follow(ctx, wire.Follow{Root: s.Root, Only: s.Root})
	if err != nil {
		return err
	}
	defer stream.Close()
	events, err := stream.Rest(ctx)
	if err != nil {
		return err
	}
	var board live.Board
	for _, e := range events {
		if b, ok := e.Body.(troupe.BoardChanged); ok {
			board.Take(b)
		}
	}
	if f.json {
		return jsonList(c, board.Items())
	}
	if len(board.Items()) == 0 && !f.follow {
		return c.Say("There are no tasks on the list.")
	}
	if err := board.Write(c.Out); err != nil || !f.follow {
		return err
	}
	said := make(map[string]int)
	for _, it := range board.Items() {
		said[it.ID] = len(it.Comments)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.Interrupts.Take(cancel)()
	for {
		batch, err := stream.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		for _, e := range batch.Events {
			if b, ok := e.Body.(troupe.BoardChanged); ok {
				for _, l := range board.Take(b) {
					fmt.Fprintln(c.Out, l)
				}
				for _, it := range b.Items {
					if len(it.Comments) > said[it.ID] {
						_ = c.Printf("comments on %s\n", it.ID)
						printComments(c, it, said)
					}
				}
			}
		}
	}
}

// printComments prints the comments of an item that were not printed yet.
func printComments(c *console.Console, it troupe.BoardItem, said map[string]int) {
	for _, l := range live.Comments(it, said[it.ID]) {
		fmt.Fprintln(c.Out, l)
	}
	said[it.ID] = len(it.Comments)
}
