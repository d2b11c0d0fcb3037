package cmd

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newRename makes the command.
func newRename(c *console.Console) *cobra.Command {
	var asJSON bool
	var change wire.SessionChange
	cmd := &cobra.Command{
		Use: "rename ID|NAME [NEW-NAME]", Short: "Give a session another name, or another title",
		Long: `Give a session another name, by which it is found from then on, or another title, which lists show (--title).
It may be at work meanwhile, asleep or archived. Its id stays.`,
		Example: "troupe rename 7k3f fix-login\ntroupe rename fix-login --title \"Log in with a passkey\"",
		Args: func(_ *cobra.Command, args []string) error {
			if n := len(args); n == 0 || n > 2 || n == 1 && change.Title == "" || n == 2 && args[1] == "" {
				return console.Usage("troupe rename takes a session and its new name, or --title")
			}
			return nil
		},
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			s, err := a.Find(ctx, args[0], c.Cwd)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				change.Rename = args[1]
			}
			now, err := a.Change(ctx, s.ID, change)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(now)
			}
			return c.Printf("%s is %s now: %s\n", now.ID, console.Line(cmp.Or(now.Name, "without a name"), 0),
				console.Line(now.Title, 0))
		}),
	}
	cmd.Flags().StringVar(&change.Title, "title", "", "What it is about, as lists show it")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// newArchive makes the command.
func newArchive(c *console.Console) *cobra.Command {
	var asJSON, undo bool
	cmd := &cobra.Command{
		Use: "archive ID|NAME...", Short: "Leave sessions out of lists, and lose nothing of them",
		Long: `Archive sessions that are over, or asleep, with all their agents. Lists leave them out from then on (` +
			"`troupe sessions --archived`" + ` has them), main is never one of them, and nothing of them goes on: a message is
refused. They can be looked at as before, and stay until ` + "`troupe rm`" + ` deletes them by name. --undo takes them
out of the archive again, as they were; nothing begins by that.`,
		Example: "troupe archive fix-login 7k3f\ntroupe sessions --archived\ntroupe archive --undo fix-login",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Usage("troupe archive takes one or more sessions")
			}
			return nil
		},
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			roots, err := chooseTrees(ctx, c, a, args, "")
			if err != nil {
				return err
			}
			out := make([]wire.Session, 0, len(roots))
			verb := "archived"
			if undo {
				verb = "out of the archive:"
			}
			for _, s := range roots {
				now, err := a.Change(ctx, s.ID, wire.SessionChange{Archive: !undo, Unarchive: undo})
				if err != nil {
					return err
				}
				if out = append(out, now); !asJSON {
					_ = c.Printf("%s %s %s\n", verb, s.ID, console.Line(cmp.Or(s.Title, s.Name), 60))
				}
			}
			if asJSON {
				return c.JSON(out)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "Take them out of the archive")
	jsonFlag(cmd, &asJSON)
	return cmd
}
