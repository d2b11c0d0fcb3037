package cmd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

const worktreesLong = `List the folders that agents have of their own beside this one: whose each is, its branch, and what
it holds that this folder does not have. --all lists those beside every folder.

unmerged: it has work that no branch of yours has and your files do not show. merged: you have all of
it. nothing: its agent changed nothing. A folder that is gone is kept on its branch.`

// newWorktrees makes the command with its part.
func newWorktrees(c *console.Console) *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use: "worktrees", Short: "List the folders that agents have of their own", Long: worktreesLong,
		Args:    console.NoArgs,
		Example: "troupe worktrees\ntroupe worktrees --all --json\ntroupe worktrees prune --dry-run",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{Cwd: c.Cwd, All: all})
			if err != nil {
				return err
			}
			if asJSON {
				return jsonList(c, list)
			}
			return writeWorktrees(c, list, all)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "Those beside every folder, not only this one")
	cmd.AddCommand(newWorktreesPrune(c))
	return cmd
}

func writeWorktrees(c *console.Console, list []wire.Worktree, all bool) error {
	if len(list) == 0 {
		text := "No agent has a folder of its own beside this one; --all lists those beside others."
		if all {
			text = "No agent has a folder of its own. One that is started with isolation: worktree has."
		}
		_, err := fmt.Fprintln(c.Out, text)
		return err
	}
	type col = console.Column
	columns := []col{{Title: "NAME"}, {Title: "AGENT", Spare: 3}, {Title: "AGE", Spare: 2}, {Title: "BRANCH", Spare: 5},
		{Title: "SIZE", Spare: 4}}
	if all {
		columns = append(columns, col{Title: "BESIDE", Spare: 1})
	}
	t := c.Table(append(columns, col{Title: "HOLDS", Uncut: true})...).Whole()
	for _, w := range list {
		row := []any{console.Line(w.Name, 40), console.Line(worktreeOwner(w), 32), worktreeAge(c.Now().Sub(w.Made)),
			console.Line(cmp.Or(w.Branch, "-"), 48), worktreeSize(w.Bytes)}
		if all {
			row = append(row, console.Line(c.ShortPath(w.Of), 40))
		}
		t.Row(append(row, console.Line(worktreeHolds(w), 0))...)
	}
	return t.Write()
}

// worktreeOwner is the agent whose it is, and its session.
func worktreeOwner(w wire.Worktree) string {
	if w.Agent == "" {
		return "(removed) " + string(w.Session)
	}
	return w.Agent + " " + string(w.Session)
}

// worktreeHolds says in words what is in it.
func worktreeHolds(w wire.Worktree) (text string) {
	switch w.State {
	case wire.WorktreeWorking:
		return "at work"
	case wire.WorktreeEmpty:
		text = "nothing"
	case wire.WorktreeMerged:
		text = "merged"
	case wire.WorktreeUnmerged:
		text = "unmerged: " + worktreeSums(w.WorktreeSums)
		if n := len(w.Conflicts); n > 0 {
			text += fmt.Sprintf(", conflicts in %s", console.Count(n, "file"))
		}
		if !w.There && w.Branch != "" {
			text += "; folder gone, kept on " + w.Branch
		}
	case wire.WorktreeUnknown:
		text = "not known: " + w.Problem
	}
	if w.There && w.Kept != "" && w.State != wire.WorktreeUnknown {
		text += "; folder stays: " + w.Kept
	}
	return text
}

// worktreeSums are how much was changed.
func worktreeSums(s wire.WorktreeSums) string {
	if s.Files == 0 && s.Commits > 0 {
		return console.Count(s.Commits, "commit")
	}
	return fmt.Sprintf("%s +%d -%d", console.Count(s.Files, "file"), s.Added, s.Removed)
}

// worktreeAge is how long ago something was, in one unit.
func worktreeAge(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// worktreeSize is how much of the disk something takes.
func worktreeSize(n int64) string {
	const step = 1024
	size := float64(n)
	for _, unit := range []string{"B", "KB", "MB", "GB"} {
		switch {
		case unit == "B" && size < step:
			return fmt.Sprintf("%d B", n)
		case size < step && size < 10:
			return fmt.Sprintf("%.1f %s", size, unit)
		case size < step:
			return fmt.Sprintf("%.0f %s", size, unit)
		}
		size /= step
	}
	return fmt.Sprintf("%.1f TB", size)
}

// newWorktreesPrune makes the part that removes them.
func newWorktreesPrune(c *console.Console) *cobra.Command {
	p := wire.WorktreePrune{Cwd: c.Cwd}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "prune [NAME...]", Short: "Remove the folders whose work you have", Args: console.Args(0, -1),
		Long: `Remove the folders that agents have of their own, and what is kept for them, where you have all of their
work or where there is none. What would be lost stays, and is told with the reason. The branches
that troupe made for them go too; commits that no branch of yours has stay below refs/troupe.`,
		Example:           "troupe worktrees prune --dry-run\ntroupe worktrees prune\ntroupe worktrees prune fixer",
		ValidArgsFunction: c.Worktrees,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			p.Names = args
			list, err := a.Setup().Workspaces().PruneWorktrees(ctx, p)
			if err != nil {
				return err
			}
			if asJSON {
				err = jsonList(c, list)
			} else {
				err = writePruned(c, list, p.DryRun)
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
	return cmd
}

func writePruned(c *console.Console, list []wire.PrunedWorktree, dry bool) error {
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
		if p.Why != "" {
			name += ": " + console.Line(p.Why, 0)
		}
		if _, err := fmt.Fprintln(c.Out, text+name); err != nil {
			return err
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
	_, err := fmt.Fprintf(c.Out, "%s %d, kept %d.\n", word, removed, kept)
	return err
}
