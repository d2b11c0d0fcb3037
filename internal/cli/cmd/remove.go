package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newRemove makes the command.
func newRemove(c *console.Console) *cobra.Command {
	var asJSON, dry bool
	var older, keep string
	cmd := &cobra.Command{
		Use: "rm ID|NAME...", Short: "Delete sessions: their agents, logs and stored outputs",
		Example: "troupe rm 7k3f\ntroupe rm --older-than 30d --dry-run   # what would go\ntroupe rm --older-than 30d",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && older == "":
				return console.Usage("troupe rm takes one or more sessions, or --older-than")
			case len(args) > 0 && older != "":
				return console.Usage("troupe rm takes either sessions or --older-than")
			case keep != "" && len(args) != 1:
				return console.Usage("--keep-scratchpad is for one session")
			}
			return nil
		},
		ValidArgsFunction: c.Sessions,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			roots, err := chooseTrees(ctx, c, a, args, older)
			if err != nil {
				return err
			}
			removed, verb := make([]troupe.SessionID, 0, len(roots)), "removed"
			if dry {
				verb = "would remove"
			}
			for _, s := range roots {
				var left []wire.Worktree
				if !dry {
					if err := keepScratchpad(ctx, c, a, s, keep); err != nil {
						return err
					}
					if left, err = unmergedOf(ctx, a, s); err != nil {
						return err
					}
					if err := a.Remove(ctx, s.ID); err != nil {
						return err
					}
				}
				removed = append(removed, s.ID)
				if !asJSON {
					_ = c.Printf("%s %s %s\n", verb, s.ID, console.Line(s.Title, 60))
					for _, w := range left {
						name := console.Line(w.Name, 64)
						w.Status = "" // its session is gone
						_ = c.Printf("  its worktree %s stays: %s; troupe merge %s, or troupe worktrees prune "+
							"--discard %s\n",
							name, console.Line(console.WorktreeHolds(w), 0), name, name)
					}
				}
			}
			switch {
			case asJSON:
				return c.JSON(map[string]any{"removed": removed})
			case len(roots) == 0:
				_ = c.Printf("No session has been quiet for %s.\n", older)
			}
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&older, "older-than", "",
		"Every session that ended, or was left behind, longer ago than this: 12h, 30d, 8w")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "Only say what would be removed")
	cmd.Flags().StringVar(&keep, "keep-scratchpad", "", "First copy what its agents shared into this new folder")
	return cmd
}

// unmergedOf are the worktrees of a tree's agents with work that is nowhere else: they outlive it.
func unmergedOf(ctx context.Context, a api.API, root wire.Session) (out []wire.Worktree, err error) {
	t, err := a.Tree(ctx, root.ID)
	if err != nil {
		return nil, err
	}
	others := func(w wire.Worktree) bool {
		return !slices.ContainsFunc(t.Sessions, func(s wire.Session) bool { return s.ID == w.Session })
	}
	known, err := a.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{All: true, Names: true})
	for _, w := range slices.DeleteFunc(known, others) {
		list, lerr := a.Setup().Workspaces().Worktrees(ctx, wire.WorktreeQuery{Cwd: w.Of, Name: string(w.Session)})
		if lerr != nil {
			return nil, lerr
		}
		out = append(out,
			slices.DeleteFunc(list, func(w wire.Worktree) bool {
				return w.State != wire.WorktreeUnmerged ||
					w.Pushed
			})...)
	}
	return out, err
}

// keepScratchpad copies what the agents of a session shared. Links stay what they are; if anything cannot be copied,
// the session is not removed.
func keepScratchpad(ctx context.Context, c *console.Console, a api.API, s wire.Session, into string) error {
	if into == "" {
		return nil
	}
	if !filepath.IsAbs(into) {
		into = filepath.Join(c.Cwd, into)
	}
	if _, err := os.Lstat(into); err == nil {
		return &troupe.UserError{Problem: into + " is there already", Code: troupe.ExitUsage,
			Hint: "Nothing was removed. Name a folder that does not exist yet."}
	}
	report, err := a.Report(ctx, s.ID)
	if err != nil {
		return err
	}
	if report.Scratchpad == nil {
		fmt.Fprintf(c.Err, "%s has nothing in its scratchpad\n", s.ID)
		return nil
	}
	left, err := copyFiles(into, report.Scratchpad.Folder)
	if err != nil {
		return &troupe.UserError{Problem: fmt.Sprintf("the scratchpad of %s could not be copied: %v", s.ID, err),
			Hint: "Nothing was removed. It is in " + report.Scratchpad.Folder, Err: err}
	}
	for _, name := range left {
		fmt.Fprintf(c.Err, "not copied, for it is no file: %s\n", troupe.VisibleLine(name))
	}
	fmt.Fprintf(c.Err, "its scratchpad is in %s\n", into)
	return nil
}

// plainFS is a folder without what is neither file, folder nor link: a pipe would be waited for.
type plainFS struct {
	fs.ReadLinkFS
	left []string
}

func (p *plainFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(p.ReadLinkFS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		odd := !e.IsDir() && !e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0
		if odd {
			p.left = append(p.left, path.Join(name, e.Name()))
		}
		return odd
	}), err
}

// copyFiles copies a folder to a place where nothing is, or nothing of it. Left is what is no file.
func copyFiles(into, from string) (left []string, err error) {
	all, ok := os.DirFS(from).(fs.ReadLinkFS)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	p := &plainFS{ReadLinkFS: all}
	if err := os.CopyFS(into, p); err != nil {
		return nil, errors.Join(err, os.RemoveAll(into))
	}
	return p.left, nil
}

// chooseTrees looks all up before the first is removed: a mistyped one removes nothing.
func chooseTrees(
	ctx context.Context, c *console.Console, a api.API, refs []string, older string,
) ([]wire.Session, error) {
	if older != "" {
		age, err := parseAge(older)
		if err != nil {
			return nil, err
		}
		return a.List(ctx, wire.Listing{QuietMS: age.Milliseconds()})
	}
	var roots []wire.Session
	for _, ref := range refs {
		s, err := a.Find(ctx, ref, c.Cwd)
		if err != nil {
			return nil, err
		}
		if s.Parent != "" {
			return nil, &troupe.UserError{
				Problem: fmt.Sprintf("session %s is a sub-agent of %s; its log belongs to that tree", s.ID, s.Root),
				Hint:    fmt.Sprintf("Name the whole tree: %s", s.Root), Code: troupe.ExitUsage,
			}
		}
		if !slices.ContainsFunc(roots, func(r wire.Session) bool { return r.ID == s.ID }) {
			roots = append(roots, s)
		}
	}
	return roots, nil
}

// parseAge reads a duration as people write ages: 12h, 30d, 8w.
func parseAge(s string) (time.Duration, error) {
	unit := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	for suffix, u := range unit {
		count, ok := strings.CutSuffix(s, suffix)
		if n, err := strconv.Atoi(count); ok && err == nil && n > 0 && n < 10_000 {
			return time.Duration(n) * u, nil
		}
	}
	return 0, console.Usage("--older-than %q is not an age; write 12h, 30d or 8w", s)
}
