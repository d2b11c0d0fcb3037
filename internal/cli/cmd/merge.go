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

// newDiff makes the command.
func newDiff(c *console.Console) *cobra.Command {
	var stat, asJSON bool
	cmd := &cobra.Command{
		Use: "diff NAME", Short: "Show what an agent changed in a folder of its own", Args: console.Args(1, 1),
		Long: `Show what was changed in a folder that an agent has of its own since it began, committed or not, as git
diff does. NAME is that of the worktree beside this folder, or of its agent, a beginning that no other has,
or its session. One beside another folder is found by the whole id of its session only. In a pipe or a file
it is a patch for git apply, whole and with what binary files hold.`,
		Example:           "troupe diff fixer\ntroupe diff fixer --stat\ntroupe diff 7k3f | git apply",
		ValidArgsFunction: c.Worktrees,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			ctx, stop := console.Waiting(ctx, c, lookingAt)
			defer stop()
			d, err := a.Setup().Workspaces().DiffWorktree(ctx,
				wire.WorktreeLook{WorktreeQuery: one(c, args), Stat: stat, Patch: !c.OutTTY})
			switch {
			case err != nil:
				return err
			case asJSON:
				return c.JSON(d)
			case d.Text == "":
				fmt.Fprintf(c.Err, "Nothing was changed in %s.\n", console.Line(d.Worktree.Name, 64))
				return nil
			case c.OutTTY || stat: // a list is for people, a patch for git too
				d.Text = console.Source(d.Text)
			}
			fmt.Fprint(c.Err, c.Beside(d.Worktree))
			_, err = fmt.Fprint(console.Verbatim(c.Out), console.PaintDiff(c.Color(c.OutTTY), d.Text))
			if err == nil && d.Cut {
				fmt.Fprintf(c.Err, "\nIt goes on. All of it: troupe diff %s > FILE\n",
					console.Line(d.Worktree.Name, 64))
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "Only how much of each file")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// one is a query for the one that an argument names.
func one(c *console.Console, args []string) wire.WorktreeQuery {
	return wire.WorktreeQuery{Cwd: c.Cwd, Name: args[0]}
}

const mergeLong = `Bring what an agent did in a folder of its own to the folder that it is beside. The changes arrive in your
files, uncommitted; your index is not touched. What you have not committed counts as what you have.

If you and the agent have changed the same place, nothing at all is written, and each place is shown
with both sides. --take mine keeps what is in your folder of each file that conflicts, and --take theirs
takes what the agent did, whole files; all other files are merged. --hand-back has the agent resolve what
conflicts: its worktree gets what your folder has, with the conflicts between markers, and the agent a
message; merge again when it has ended. --into puts the agent's commits on a branch that is not checked
out instead, or on a new one; your files stay as they are. The command that is printed takes exactly this
merge back; where its files were changed since, it says by what, and changes nothing.

It is your own act: no rule of the agents judges it. Files that commands of agents may never write, such
as hooks, settings that run commands and what is in .git, are left out and named.`

// newMerge makes the command.
func newMerge(c *console.Console) *cobra.Command {
	var m wire.WorktreeMerge
	var asJSON bool
	cmd := &cobra.Command{
		Use: "merge NAME", Short: "Bring an agent's work from its own folder to yours", Args: console.Args(1, 1),
		Long: mergeLong,
		Example: "troupe merge fixer --dry-run\ntroupe merge fixer\ntroupe merge fixer --take theirs\n" +
			"troupe merge fixer --into fix-login\ntroupe merge fixer --hand-back",
		ValidArgsFunction: c.Worktrees,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckMerge(cmd.Flags(), m); err != nil {
				return err
			}
			m.WorktreeQuery = one(c, args)
			return inHome(c, func(ctx context.Context, a api.API, _ []string) error {
				return merge(ctx, c, a, m, asJSON)
			})(cmd, args)
		},
	}
	console.MergeFlags(cmd.Flags(), &m)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func merge(ctx context.Context, c *console.Console, a api.API, m wire.WorktreeMerge, asJSON bool) error {
	ctx, stop := console.Waiting(ctx, c, lookingAt)
	defer stop()
	out, err := a.Setup().Workspaces().MergeWorktree(ctx, m)
	if err != nil {
		return err
	}
	var said string
	if m.HandBack {
		if said, err = console.TellHandedBack(ctx, a, out); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
		err = c.JSON(out)
	case m.HandBack:
		err = c.HandedBack(out, said)
	default:
		err = c.Merged(out)
	}
	if m.HandBack {
		return err
	}
	if err == nil && (len(out.Conflicts) > 0 || out.Stopped != "") {
		return &console.Exit{Code: troupe.ExitFailed}
	}
	return err
}
