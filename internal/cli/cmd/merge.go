package cmd

import (
	"context"
	"fmt"
	"strings"

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
			case c.OutTTY:
				d.Text = console.Visible(d.Text)
			}
			fmt.Fprint(c.Err, c.Beside(d.Worktree))
			if _, err = fmt.Fprint(console.Verbatim(c.Out), console.PaintDiff(c.Color(c.OutTTY), d.Text)); err == nil && d.Cut {
				fmt.Fprintf(c.Err, "\nIt goes on. All of it: troupe diff %s > FILE\n", console.Line(d.Worktree.Name, 64))
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
			into := cmd.Flags().Changed("into")
			switch {
			case into && m.Into == "":
				return console.Usage("--into takes the name of a branch, and it is empty; is a variable not set?")
			case into && m.Take != "":
				return console.Usage("--take is for conflicts with your files, and --into writes none of them")
			case into && m.DryRun:
				return console.Usage("--dry-run says what would be written to your files, and --into writes none")
			case m.HandBack && (into || m.DryRun || m.Take != ""):
				return console.Usage("--hand-back writes to its worktree alone: leave out --into and --dry-run, " +
					"and --take")
			}
			m.WorktreeQuery = one(c, args)
			return inHome(c, func(ctx context.Context, a api.API, _ []string) error {
				return merge(ctx, c, a, m, asJSON)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&m.Into, "into", "", "Put its commits on this `BRANCH`")
	cmd.Flags().StringVar(&m.Take, "take", "", "Of files that conflict take this `SIDE`: mine (your folder) or theirs")
	cmd.Flags().BoolVar(&m.DryRun, "dry-run", false, "Say what would be written, and write nothing")
	cmd.Flags().BoolVar(&m.HandBack, "hand-back", false, "Have its agent resolve what conflicts")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func merge(ctx context.Context, c *console.Console, a api.API, m wire.WorktreeMerge, asJSON bool) error {
	out, err := a.Setup().Workspaces().MergeWorktree(ctx, m)
	if err != nil {
		return err
	}
	var said string
	if m.HandBack {
		if said, err = tellHandedBack(ctx, a, out); err != nil {
			return err
		}
	}
	switch {
	case asJSON:
		err = c.JSON(out)
	case m.HandBack:
		err = writeHandedBack(c, out, said)
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

// tellHandedBack sends the agent what it is to do, and says what happens now.
func tellHandedBack(ctx context.Context, a api.API, m wire.MergedWorktree) (string, error) {
	if len(m.HandedBack) == 0 && len(m.Conflicts) == 0 {
		return fmt.Sprintf("What conflicted is no conflict any more, and its markers are gone. Now: troupe merge %s\n",
			console.Line(m.Worktree.Name, 64)), nil
	}
	if m.Worktree.Status == "" {
		return "Its session was removed: resolve them there yourself.\n", nil
	}
	if m.Worktree.Left {
		return "Its agent went back out of it: resolve them there yourself.\n", nil
	}
	top := strings.TrimSuffix(m.Worktree.Folder, "/") + "/"
	var b strings.Builder
	b.WriteString("Your work conflicts with what is in the folder that it is to be merged into. Your worktree has " +
		"what that folder has now.\n")
	if len(m.HandedBack) > 0 {
		b.WriteString("The conflicts are between markers in:\n")
		for _, path := range m.HandedBack {
			b.WriteString("  " + troupe.VisibleLine(strings.TrimPrefix(path, top)) + "\n")
		}
		b.WriteString("Resolve each of them so that what both sides are for is kept, and take the markers out.\n")
	}
	for _, x := range m.Conflicts {
		fmt.Fprintf(&b, "No marker can show this one; change the file so that both sides fit: %s: %s\n",
			troupe.VisibleLine(strings.TrimPrefix(x.Path, top)), troupe.VisibleLine(x.Why))
	}
	t, err := a.Tree(ctx, m.Worktree.Session)
	if err != nil {
		return "", err
	}
	typed := "" // these are no words of the person who merges: some are names of files
	sent, err := a.Send(ctx, m.Worktree.Session, wire.Message{Text: b.String(), Spoken: wire.Spoken{Typed: &typed}})
	if err != nil {
		return "", fmt.Errorf("the conflicts are in the worktree %s, but its agent was not told: %w", m.Worktree.Name,
			err)
	}
	return fmt.Sprintf("%s: %s\nWhen it has ended: troupe merge %s\n", console.Line(m.Worktree.Agent, 64),
		sentText(t, sent, false), console.Line(m.Worktree.Name, 64)), nil
}

// writeHandedBack says what its agent finds now.
func writeHandedBack(c *console.Console, m wire.MergedWorktree, said string) error {
	var b strings.Builder
	b.WriteString(c.Beside(m.Worktree))
	for _, path := range m.HandedBack {
		fmt.Fprintf(&b, "marked   %s\n", console.Line(console.InFolder(m.Worktree.Folder, path), 0))
	}
	for _, x := range m.Conflicts {
		fmt.Fprintf(&b, "conflict %s: %s\n", console.Line(console.InFolder(m.Worktree.Folder, x.Path), 0),
			console.Line(x.Why, 0))
	}
	if len(m.HandedBack) > 0 || len(m.Conflicts) > 0 {
		fmt.Fprintf(&b, "Your files are as they were; the conflicts are in %s.\n", console.Line(m.Worktree.Folder, 0))
	}
	_, err := fmt.Fprint(c.Out, b.String()+said)
	return err
}
