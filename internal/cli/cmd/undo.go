package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

type undoFlags struct {
	wire.UndoOrder

	list, dryRun, yes, asJSON bool
}

const undoLong = `Restore the files that a session's tools changed, its sub-agents' tools included, to what they
were before a turn of the main agent. Without --to, the last turn that changed files, or the last
merge, is undone; run it again to undo the one before.

What you merged with troupe merge is a step of its own, and has an entry in --list. --merge takes
back that merge and nothing else, whatever came after it in other files; so it does of merges by agents.

If something else has changed one of the files since, or between, no file is restored, unless --force is
given. Changes made by shell commands are not known and are not undone; the commands are
listed. Only in a folder of an agent's own, such as a worktree, is everything known and
undone, what commands changed included, apart from ignored files, links and commits. An undo
can be reverted with --redo.`

// newUndo makes the command.
func newUndo(c *console.Console) *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use: "undo [ID|NAME]", Short: "Put back the files that a session's tools changed", Long: undoLong,
		Example: "troupe undo --list\ntroupe undo --to 3 --dry-run\ntroupe undo --merge 1\n" +
			"troupe undo 7k3f --yes\ntroupe undo --redo",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return console.Usage("troupe undo takes one session; it is the newest of this folder if none is named")
			}
			return nil
		},
		ValidArgsFunction: c.Sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list && (f.UndoOrder != wire.UndoOrder{} || f.dryRun || f.yes) {
				return console.Usage("--list changes nothing and goes with --json only")
			}
			if err := console.CheckUndo(cmd.Flags(), f.UndoOrder); err != nil {
				return err
			}
			ref := "main"
			if len(args) > 0 {
				ref = args[0]
			}
			return c.With(cmd.Context(), troupe.SurfaceCommand, func(h *home.Home) error {
				return undo(cmd.Context(), c, h.API, ref, f)
			})
		},
	}
	console.UndoFlags(cmd.Flags(), &f.UndoOrder)
	cmd.Flags().BoolVar(&f.list, "list", false, "List the turns and merges, what each changed and what it ran")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "Say what would happen, and change nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "Do not ask")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "Print JSON; it does not ask, so it needs --yes or --dry-run")
	return cmd
}

func undo(ctx context.Context, c *console.Console, a api.API, ref string, f undoFlags) error {
	s, err := a.Find(ctx, ref, c.Cwd)
	if err != nil {
		return err
	}
	if s.Parent != "" {
		return &troupe.UserError{
			Problem: fmt.Sprintf("session %s is a sub-agent of %s; what it changed belongs to the turns of that one",
				s.ID, s.Root),
			Hint: fmt.Sprintf("See `troupe undo %s --list`.", s.Root), Code: troupe.ExitUsage,
		}
	}
	if f.list {
		turns, err := a.Turns(ctx, s.ID)
		if err != nil {
			return err
		}
		if f.asJSON {
			return c.JSON(turnList{s.ID, turns})
		}
		return writeTurns(c, s, turns)
	}
	order := f.UndoOrder
	u, err := a.PlanUndo(ctx, s.ID, order)
	unknown := order.Merge != "" && errors.Is(err, troupe.ErrNotFound)
	if err != nil && (unknown || order == (wire.UndoOrder{Force: f.Force})) {
		return orElsewhere(ctx, c, a, s, order.Merge, err)
	}
	if err != nil {
		return err
	}
	order.Plan = u.Plan
	if f.asJSON {
		return undoInJSON(ctx, c, a, u, order, f)
	}
	return undoInWords(ctx, c, a, s, u, order, f)
}

// turnList is what --list --json prints.
type turnList struct {
	Session troupe.SessionID `json:"session_id"`
	Turns   []wire.Turn      `json:"turns"`
}

func undoInJSON(ctx context.Context, c *console.Console, a api.API, u wire.Undo, order wire.UndoOrder,
	f undoFlags) error {
	if !f.dryRun {
		if !f.yes {
			return noOneToAsk()
		}
		var err error
		if u, err = a.Undo(ctx, u.Session, order); err != nil {
			return orForced(err, order)
		}
	}
	if err := c.JSON(u); err != nil {
		return err
	}
	if f.dryRun && len(u.Files) > 0 && refused(u, f.Force) {
		return &console.Exit{Code: troupe.ExitFailed}
	}
	return leftOver(u)
}

func noOneToAsk() error {
	return &troupe.UserError{
		Problem: "nothing was put back: this needs your confirmation, and you cannot be asked here",
		Hint:    "Add --yes to undo without being asked, or --dry-run to see what would change.",
		Code:    troupe.ExitUsage,
	}
}

// leftOver fails a command that did not do all it was asked for; what it is, is printed.
func leftOver(u wire.Undo) error {
	if len(u.Left) > 0 {
		return &console.Exit{Code: troupe.ExitFailed}
	}
	return nil
}

func undoInWords(ctx context.Context, c *console.Console, a api.API, s wire.Session, u wire.Undo, order wire.UndoOrder,
	f undoFlags) error {
	if err := writePlan(c, s, u, f.Force); err != nil {
		return err
	}
	switch {
	case len(u.Files) == 0 && (u.Merge == nil || f.dryRun):
		return nil
	case len(u.Files) == 0: // what was decided by the merge may be open again
		_, err := a.Undo(ctx, s.ID, order)
		return err
	case f.dryRun:
		if !refused(u, f.Force) {
			return nil
		}
		fmt.Fprintln(c.Out, "Nothing would be put back.")
		return &console.Exit{Code: troupe.ExitFailed}
	case refused(u, f.Force):
		// Nothing will be put back; there is no use in asking first.
	case !f.yes:
		in, ok := c.In.(*os.File)
		if !ok || !term.IsTerminal(in.Fd()) {
			return noOneToAsk()
		}
		if yes, err := confirm(in, c.Err,
			fmt.Sprintf("Put back %s?", console.Count(len(u.Files)-staying(u, f.Force), "file"))); err != nil || !yes {
			fmt.Fprintln(c.Err, "Nothing was put back.")
			return err
		}
	}
	r, err := a.Undo(ctx, s.ID, order)
	if err != nil {
		return orForced(err, order)
	}
	_ = c.Printf("Put back %s.", console.Count(len(r.Files), "file"))
	if r.TakeBack != "" {
		_ = c.Printf(" To take that back: %s", console.Line(r.TakeBack, 0))
	}
	fmt.Fprintln(c.Out)
	for _, x := range r.Left {
		_ = c.Printf("left     %s: %s\n", shortIn(s, x.Path), console.Line(x.Problem, 0))
	}
	return leftOver(r)
}

// orForced says how to force an undo that was refused for files that cannot be put back.
func orForced(err error, order wire.UndoOrder) error {
	if order.Force || !errors.Is(err, troupe.ErrBlocked) {
		return err
	}
	return hinted(err, "Add --force for that.")
}

// othersLooked is among how many sessions of the folder a merge is looked for.
const othersLooked = 20

// orElsewhere says of an undo that found nothing in a session which other one of its folder has the last merge, or the
// last that is called so.
func orElsewhere(ctx context.Context, c *console.Console, a api.API, of wire.Session, called string,
	err error) error {
	says := "The last merge here was of %s, for another session: troupe undo %s --merge %s."
	if called != "" {
		says = "Another session has such a merge, of %s: troupe undo %s --merge %s."
	}
	list, lerr := a.List(ctx, wire.Listing{Cwd: c.Cwd, Limit: othersLooked})
	if lerr != nil {
		return err
	}
	var last wire.Merge
	hint := ""
	for _, s := range list {
		if s.ID == of.ID {
			continue
		}
		turns, terr := a.Turns(ctx, s.ID)
		for _, t := range turns {
			for _, m := range t.Merges {
				is := m.By == ""
				if called != "" {
					is = m.ID == called || strings.HasPrefix(m.Name, called)
				}
				if terr == nil && is && !m.Undone && m.At.After(last.At) {
					last, hint = m, fmt.Sprintf(says, console.Line(m.Name, 60), s.ID, console.Line(m.ID, 20))
				}
			}
		}
	}
	if hint == "" {
		return err
	}
	return hinted(err, hint)
}

// confirm takes only a plain yes for one.
func confirm(in io.Reader, out io.Writer, question string) (bool, error) {
	fmt.Fprint(out, question+" y/n + Enter? ")
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	default:
		return false, nil
	}
}
