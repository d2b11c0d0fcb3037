package chat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

const undoHint = "/undo goes back to before the last prompt that changed a file, /undo TURN to before that turn; " +
	"/undo redo takes the last undo back."

// planUndo shows what /undo [TURN] or /undo redo would do, and proposes it.
func planUndo(ctx context.Context, v *conversation, args string) error {
	n, err := strconv.Atoi(args)
	order := wire.UndoOrder{Turn: n, Redo: args == "redo"}
	var u wire.Undo
	about := ""
	if args == "" {
		order.Turn, about = turnOfPrompt(ctx, v)
	}
	if args == "" || order.Redo || err == nil && n > 0 {
		u, err = v.trees.api.PlanUndo(ctx, v.tree.root, order)
	} else {
		err = &troupe.UserError{Problem: fmt.Sprintf("%q is no turn", args)}
	}
	if err != nil {
		var said *troupe.UserError
		if errors.As(err, &said) {
			err = &troupe.UserError{Problem: said.Problem, Hint: undoHint, Code: said.Code, Err: err}
		}
		return err
	}
	stays := 0
	for _, f := range u.Files {
		if f.Stays(false) {
			stays++
		}
	}
	plan := undoPlan(v.trees.next.Cwd, u, about)
	if stays > 0 {
		plan += fmt.Sprintf("Nothing is put back as long as a file stays; "+
			"troupe undo %s --force puts back those that can be.\n", v.tree.root)
	}
	v.flow(v.wrap(console.Clean(strings.TrimRight(plan, "\n"))) + "\n")
	if len(u.Files) == 0 || stays > 0 {
		return nil
	}
	order.Plan = u.Plan
	v.undo = order
	v.perform(ctx, v.m.propose())
	return nil
}

// turnOfPrompt is the first turn of the last prompt that changed a file, and says which prompt that was; 0
// leaves the choice to the plan.
func turnOfPrompt(ctx context.Context, v *conversation) (turn int, about string) {
	turns, err := v.trees.api.Turns(ctx, v.tree.root)
	if err != nil {
		return 0, ""
	}
	last := -1
	for i, t := range turns {
		if len(t.Files) > 0 && !t.Undone {
			last = i
		}
	}
	if last < 0 {
		return 0, ""
	}
	for last > 0 && turns[last].Asked != "" && samePrompt(turns[last-1], turns[last]) {
		last--
	}
	t := turns[last]
	if t.Asked == "" {
		return t.Number, ""
	}
	about = fmt.Sprintf("your prompt “%s”", console.Line(t.Asked, 60))
	if n, of := alike(turns, last); of > 1 {
		about += fmt.Sprintf(", number %d of %d with these words", n, of)
	}
	if !t.At.IsZero() {
		about += ", at " + t.At.In(v.o.Local).Format("15:04")
	}
	return t.Number, about
}

// samePrompt reports whether two turns next to each other belong to one prompt.
func samePrompt(a, b wire.Turn) bool { return a.Asked == b.Asked && a.Prompt == b.Prompt }

// alike counts the prompts with the words of a turn's, and says which of them its own is.
func alike(turns []wire.Turn, at int) (n, of int) {
	for i, t := range turns {
		if t.Asked != turns[at].Asked || i > 0 && samePrompt(turns[i-1], t) {
			continue
		}
		if of++; i <= at {
			n = of
		}
	}
	return n, of
}

// applyUndo carries out what was proposed. The session is told of it, so the tree must be in hand.
func applyUndo(ctx context.Context, v *conversation) error {
	order := v.undo
	if v.undo = (wire.UndoOrder{}); order.Plan == "" {
		return nil
	}
	return v.tree.held(ctx, func() error {
		u, err := v.trees.api.Undo(ctx, v.tree.root, order)
		if err != nil {
			return err
		}
		were := "were"
		if len(u.Files) == 1 {
			were = "was"
		}
		text := fmt.Sprintf("%d of %s %s put back.", len(u.Files), console.Count(len(u.Files)+len(u.Left), "file"),
			were)
		if u.TakeBack != "" && !order.Redo {
			text += " /undo redo takes that back."
		}
		v.flow(v.wrap(text) + "\n")
		return nil
	})
}

// undoCommands is how many commands a plan lists.
const undoCommands = 10

func undoPlan(cwd string, u wire.Undo, about string) string {
	var b strings.Builder
	if u.Turn > 0 {
		if about != "" {
			about = ", " + about
		}
		fmt.Fprintf(&b, "Back to before turn %d%s:\n", u.Turn, about)
	}
	for _, f := range u.Files {
		what := "is put back"
		switch {
		case f.Stays(false):
			what = "stays: " + console.Line(f.Problem, 200)
		case f.Action == wire.UndoRemove:
			what = "is removed; it was not there"
		case f.Action == wire.UndoCreate:
			what = "is made again"
		}
		if f.Mixed {
			what += "; what something else changed in between goes too"
		}
		fmt.Fprintf(&b, "  %s  +%d −%d  %s\n", console.Line(strings.TrimPrefix(f.Path, cwd+"/"), 200), f.Added,
			f.Removed, what)
	}
	if len(u.Files) == 0 {
		b.WriteString("  There is nothing to put back.\n")
	}
	for i, cmd := range u.Commands {
		if i == 0 {
			b.WriteString("Commands ran since; what they changed is not known and is not undone:\n")
		}
		if i == undoCommands {
			fmt.Fprintf(&b, "  … and %d more\n", len(u.Commands)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", console.Line(cmd.Text, 100))
	}
	return b.String()
}
