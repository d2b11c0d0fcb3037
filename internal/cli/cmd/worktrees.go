package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

const worktreesLong = `List the folders that agents have of their own beside this one: whose each is, its branch, and what
it holds that this folder does not have. --all lists those beside every folder.

unmerged: it has work that no branch of yours has and your files do not show. pushed: a branch of the
remote has that. merged: you have all of it. nothing: its agent changed nothing. A folder that is gone
is kept on its branch.`

// lookingAt is what a terminal is told while worktrees are looked at.
const lookingAt = "Looking at what the worktrees hold"

// newWorktrees makes the command with its part.
func newWorktrees(c *console.Console) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "worktrees", Short: "List the folders that agents have of their own", Long: worktreesLong,
		Args:    console.NoArgs,
		Example: "troupe worktrees\ntroupe worktrees --all --json\ntroupe worktrees prune --dry-run",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			ctx, stop := console.Waiting(ctx, c, lookingAt)
			list, err := a.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{Cwd: c.Cwd, All: all})
			stop()
			if err != nil {
				return err
			}
			if asJSON {
				return jsonList(c, list)
			}
			return c.WorktreeList(list, all)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "Those beside every folder, not only this one")
	cmd.AddCommand(newWorktreesPrune(c))
	return cmd
}

// newWorktreesPrune makes the part that removes them.
func newWorktreesPrune(c *console.Console) *cobra.Command {
	p := wire.WorktreePrune{Cwd: c.Cwd}
	var asJSON, yes bool
	cmd := &cobra.Command{
		Use: "prune [NAME...]", Short: "Remove the folders whose work you have", Args: console.Args(0, -1),
		Long: `Remove the folders that agents have of their own, and what is kept for them, where you have all of their
work or where there is none. What would be lost stays, and is told with the reason. The branches
that troupe made for them go too; commits that no branch of yours has stay below refs/troupe.

--discard throws work away that you do not want: it is said how much that is, and you are asked. It is on no
branch then but one that is checked out, which is named; the ref that is printed still has all of it, but for
ignored files, which are named.`,
		Example: "troupe worktrees prune --dry-run\ntroupe worktrees prune\ntroupe worktrees prune fixer\n" +
			"troupe worktrees prune --discard fixer",
		ValidArgsFunction: c.Worktrees,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			p.Names = args
			if p.Discard && !p.DryRun && !yes {
				if on, err := confirmDiscard(ctx, c, a, p); err != nil || !on {
					return err
				}
			}
			looks, stop := console.Waiting(ctx, c, lookingAt)
			list, err := a.Setup().Workspaces().PruneWorktrees(looks, p)
			stop()
			if err != nil {
				return err
			}
			if asJSON {
				err = jsonList(c, list)
			} else {
				err = writePruned(c, list, p)
			}
			for _, w := range list {
				if !w.Removed && len(args) > 0 && err == nil {
					return &console.Exit{Code: 1} // it was asked for by its name, and is said why not
				}
			}
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&p.All, "all", false, "Those beside every folder, not only this one")
	cmd.Flags().BoolVar(&p.DryRun, "dry-run", false, "Say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&p.Discard, "discard", false, "Also work that is nowhere else, of those that are named")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "Do not ask before work is discarded")
	return cmd
}

// confirmDiscard says what would be thrown away, and asks.
func confirmDiscard(ctx context.Context, c *console.Console, a api.API, p wire.WorktreePrune) (bool, error) {
	p.DryRun = true
	list, err := a.Setup().Workspaces().PruneWorktrees(ctx, p)
	if err != nil {
		return false, err
	}
	lone := false
	for _, w := range list {
		if w.Removed && goesForGood(w.Worktree) {
			lone = true
			fmt.Fprintln(c.Err, discards(w.Worktree))
		}
	}
	if !lone {
		return true, nil
	}
	in, ok := c.In.(*os.File)
	if !ok || !term.IsTerminal(in.Fd()) {
		return false, &troupe.UserError{
			Problem: "nothing was discarded: this needs your confirmation, and you cannot be asked here",
			Hint:    "Add --yes to discard without being asked, or --dry-run to see what would go.",
			Code:    troupe.ExitUsage}
	}
	yes, err := confirm(in, c.Err, "Discard it?")
	if err != nil || !yes {
		fmt.Fprintln(c.Err, "Nothing was discarded.")
	}
	return yes, err
}

// goesForGood reports whether to discard a worktree throws something away.
func goesForGood(w wire.Worktree) bool {
	return w.State == wire.WorktreeUnmerged && !w.Pushed || w.There && w.Kept != ""
}

// discards says how much a worktree holds that is nowhere else.
func discards(w wire.Worktree) string {
	s, text := w.WorktreeSums, console.Line(w.Name, 64)+": "
	if w.State == wire.WorktreeUnmerged && !w.Pushed {
		text += fmt.Sprintf("%s +%d -%d, %s, nowhere else; ", console.Count(s.Files, "file"), s.Added, s.Removed,
			console.Count(s.Commits, "commit"))
	}
	if w.There && w.Kept != "" {
		text += console.Line(w.Kept, 0)
	}
	return strings.TrimSuffix(text, "; ")
}

func writePruned(c *console.Console, list []wire.PrunedWorktree, asked wire.WorktreePrune) error {
	dry, all := asked.DryRun, asked.All
	removed, kept := 0, 0
	for _, p := range list {
		text, name := "kept     ", console.Line(p.Worktree.Name, 64)
		switch {
		case p.Removed && dry:
			text = "would go "
		case p.Removed:
			text = "removed  "
		}
		if p.Removed {
			removed++
		} else {
			kept++
		}
		if dry && p.Removed && asked.Discard && goesForGood(p.Worktree) {
			name = discards(p.Worktree)
		}
		if p.Why != "" {
			name += ": " + console.Line(p.Why, 0)
		}
		if !all {
			text = c.Beside(p.Worktree) + text
		}
		if _, err := fmt.Fprintln(c.Out, text+name); err != nil {
			return err
		}
		if ref := console.Line(p.Discarded, 0); ref != "" {
			if err := c.Printf("         all of it is kept as %s; to have it back: git branch %s %s\n",
				ref, name, ref); err != nil {
				return err
			}
		}
		if p.Lost != "" {
			if _, err := fmt.Fprintln(c.Out, "         gone with it: "+console.Line(p.Lost, 0)); err != nil {
				return err
			}
		}
		for _, said := range p.Hooks {
			if _, err := fmt.Fprintln(c.Out, "         "+console.Line(said, 0)); err != nil {
				return err
			}
		}
	}
	word := "Removed"
	if dry {
		word = "Would remove"
	}
	err := c.Printf("%s %d, kept %d.\n", word, removed, kept)
	return err
}
