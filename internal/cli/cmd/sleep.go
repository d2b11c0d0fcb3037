package cmd

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newSleep makes the command.
func newSleep(c *console.Console) *cobra.Command {
	var asJSON, now, take bool
	var within time.Duration
	cmd := &cobra.Command{
		Use: "sleep ID|NAME", Short: "Put a session away until you wake it, from any terminal",
		Long: `Put a session away with all its agents, whether a process runs it or none. What models and tools are in
the middle of has ten seconds to come to its end (--within); what takes longer is cut off and said. Then nothing of it
goes on, in no process, until ` + "`troupe wake`" + ` has it go on where it stopped: messages wait, requests stay
open, a restart changes nothing. Worktrees and copies of its agents are saved and removed, and made again when it
wakes; one with files that cannot be kept stays.`,
		Example:           "troupe sleep fix-login\ntroupe sleep 7k3f --now\ntroupe wake fix-login",
		Args:              oneSession,
		ValidArgsFunction: c.Sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if within < 0 || now && cmd.Flags().Changed("within") {
				return console.Usage("--within is a time, such as 30s, and --now is none")
			}
			order := wire.Sleep{Now: true}
			if !now && within > 0 {
				order = wire.Sleep{WithinMS: max(1, within.Milliseconds())}
			}
			return c.With(cmd.Context(), troupe.SurfaceCommand, func(h *home.Home) error {
				if err := takeOver(cmd.Context(), c, h, args[0], take); err != nil {
					return err
				}
				s, err := h.API.Find(cmd.Context(), args[0], c.Cwd)
				if err != nil {
					return err
				}
				if !order.Now {
					defer time.AfterFunc(time.Second, func() {
						fmt.Fprintf(c.Err, "Waiting up to %s for what models and tools are in the middle of.\n", within)
					}).Stop()
				}
				slept, err := h.API.Sleep(cmd.Context(), s.ID, order)
				if err != nil {
					return err
				}
				if asJSON {
					return c.JSON(slept)
				}
				name := cmp.Or(s.Name, string(s.ID)) // "main" would be the newest
				_, err = fmt.Fprintf(c.Out, "%s: %s", console.Line(name, 0), console.Slept(c, name, slept))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "Cut off at once what is under way")
	cmd.Flags().DurationVar(&within, "within", 10*time.Second, "How long to wait for what is under way, up to 3m")
	takeOverFlag(cmd, &take)
	jsonFlag(cmd, &asJSON)
	return cmd
}
