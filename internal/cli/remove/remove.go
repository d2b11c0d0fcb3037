// Package remove is `troupe rm`.
package remove

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// New makes the command.
func New(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rm ID|NAME...", Short: "Forget sessions: their agents, logs and stored outputs",
		Example: "troupe rm 7k3f",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.Usage("troupe rm takes one or more sessions")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd.Context(), func(a *app.App) error {
				// All are looked up before the first is removed: a mistyped one removes nothing.
				var roots []troupe.Session
				for _, ref := range args {
					s, err := a.Find(cmd.Context(), ref, c.Cwd)
					if err != nil {
						return err
					}
					if s.Parent != "" {
						return &troupe.UserError{Problem: fmt.Sprintf("session %s is a sub-agent of %s; its log belongs to that tree", s.ID, s.Root), Hint: fmt.Sprintf("Remove the whole tree: troupe rm %s", s.Root), Code: console.ExitUsage}
					}
					if !slices.ContainsFunc(roots, func(r troupe.Session) bool { return r.ID == s.ID }) {
						roots = append(roots, s)
					}
				}
				removed := make([]troupe.SessionID, 0, len(roots))
				for _, s := range roots {
					if err := a.Remove(cmd.Context(), s.ID); err != nil {
						return err
					}
					removed = append(removed, s.ID)
					if !asJSON {
						fmt.Fprintf(c.Out, "removed %s %s\n", s.ID, console.Line(s.Title, 60))
					}
				}
				if asJSON {
					return c.JSON(map[string]any{"removed": removed})
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}
