package cmd

import (
	"cmp"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newExport makes the command.
func newExport(c *console.Console) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "export ID|NAME [-o FILE|-]", Short: "Write a session that sleeps or has ended to a file, for another " +
			"home",
		Long: `Write a session with all its agents to one file, with which ` + "`troupe import`" + ` makes it in another
home: logs, waiting messages, the task list, stored outputs, plans, the scratchpad, and the work of agents in worktrees,
committed or not, with the history that it builds on. The session stays as it is. It has to be asleep (` +
			"`troupe sleep`" + `) or have ended. Settings, permissions, keys, logins and memories never go into the file;
credentials are masked in it as they are in the log, but what agents wrote to files is there as it is.`,
		Example: "troupe sleep fix-login\ntroupe export fix-login -o fix-login.troupe\ntroupe export 7k3f " +
			"-o - | ssh other troupe import -",
		Args:              oneSession,
		ValidArgsFunction: c.Sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd.Context(), troupe.SurfaceCommand, func(h *home.Home) error {
				s, err := h.API.Find(cmd.Context(), args[0], c.Cwd)
				if err != nil {
					return err
				}
				to := home.ExportTo{File: wholePath(c, cmp.Or(file, string(s.Root)+".troupe"))}
				if file == "-" {
					to = home.ExportTo{Out: c.Out}
				}
				ctx, stop := console.Waiting(cmd.Context(), c, lookingAt)
				left, err := h.Export(ctx, s.Root, to)
				if stop(); err != nil {
					return err
				}
				for _, what := range left {
					c.Warn("not in the file: " + console.Line(what, 0))
				}
				if file != "-" {
					name, of := console.Line(c.ShortPath(to.File), 0), s.Path
					if s.Name == "" || s.Parent != "" {
						of = string(s.Root) // "main" would be the newest
					}
					_ = c.Printf("%s: written to %s; in the other home: troupe import %s --cwd PROJECT\n",
						console.Line(of, 0), name, name)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "Write to this file, which must not exist; - is standard output "+
		"(default ID.troupe)")
	return cmd
}

// newImport makes the command.
func newImport(c *console.Console) *cobra.Command {
	var o wire.Import
	cmd := &cobra.Command{
		Use: "import FILE|- [--cwd DIR] [--name NAME]", Short: "Make a session of a file that troupe export wrote, " +
			"asleep",
		Long: `Make the session of a file that ` + "`troupe export`" + ` wrote, with all its agents, asleep in this home.
All of it works in the current folder from then on, or in --cwd DIR: a clone of its project, if agents have worktrees.
Nothing in the file can allow anything here: what was granted there ends, permissions and limits are those of this home,
calls that were under way have ended, and undo does not go back behind it. A file that was changed, cut off or made up is
refused, and then nothing was made.`,
		Example: "troupe import fix-login.troupe --cwd ~/src/shop\ntroupe wake fix-login",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			from := io.Reader(c.In)
			if args[0] != "-" {
				f, err := os.Open(wholePath(c, args[0]))
				if err != nil {
					return &troupe.UserError{Problem: "the file cannot be read: " + err.Error(), Code: troupe.ExitUsage,
						Hint: "`troupe export NAME` writes one.", Err: err}
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				from = f
			}
			o.Cwd = wholePath(c, o.Cwd)
			return c.With(cmd.Context(), troupe.SurfaceCommand, func(h *home.Home) error {
				out, err := h.Import(cmd.Context(), from, o)
				if err != nil {
					return err
				}
				name := cmp.Or(out.Name, string(out.Session))
				_ = c.Printf("%s: asleep in %s; wake it with: troupe wake %s\n", console.Line(name, 0),
					console.Line(c.ShortPath(out.Cwd), 0), console.Line(name, 0))
				_ = c.Printf("  it worked in %s; nothing that was allowed there is allowed here\n",
					console.Line(out.From, 0))
				for _, note := range out.Notes {
					_ = c.Printf("  %s\n", console.Line(note, 0))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&o.Cwd, "cwd", c.Cwd, "Folder in which it is to work (default: this one)")
	cmd.Flags().StringVar(&o.Name, "name", "", "Give it this name")
	cmd.Flags().StringVarP(&o.Model, "model", "m", "", "Have all its agents use this model")
	return cmd
}
