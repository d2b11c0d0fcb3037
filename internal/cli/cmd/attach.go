package cmd

import (
	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/panes"
)

// newAttach makes the command.
func newAttach(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use: "attach ID|NAME", Short: "Show one agent as it works, and talk to it", Args: oneSession,
		Long: `Show one agent of a session: what it has said and done, and what it does now. What you enter goes to it, as with
troupe send, and what it asks can be answered. The session goes on where it is run: Ctrl-D, Ctrl-C or a closed
terminal detach, and stop nothing. It can be done from several terminals at once.

An agent that has ended goes on with what you enter. If no process runs the session, that waits until one does:
troupe --resume ID.`,
		Example: `troupe attach Alice                  # of the newest session of this folder that has one
troupe attach "main/Auth Explorer"
troupe attach 7k3f`,
		ValidArgsFunction: c.Sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !c.InTTY || !c.OutTTY {
				return &troupe.UserError{Problem: "troupe attach needs a terminal to read from and to write to",
					Hint: "troupe log ID --follow prints what an agent does, troupe send ID \"…\" talks to it, and " +
						"troupe answer answers what it asks.", Code: troupe.ExitUsage}
			}
			err := c.With(cmd.Context(), troupe.SurfaceChat, func(h *home.Home) error {
				return chat.Attach(cmd.Context(), c, h.API, args[0],
					chat.Options{History: h.History(), Mask: h.Mask, HangUp: c.HangUp, Status: true,
						Heard: h.Hear()})
			})
			if err == nil {
				panes.Place{Lookup: c.Lookup}.Left(cmd.Context())
			}
			return err
		},
	}
}
