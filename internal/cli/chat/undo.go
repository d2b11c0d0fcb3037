package chat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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
	var about aboutUndo
	switch {
	case args == "":
		u, about, err = lastPrompt(ctx, v)
		order.Turn = u.Turn
	case order.Redo || err == nil && n > 0:
		u, err = v.trees.api.PlanUndo(ctx, v.tree.root, order)
	default:
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
	plan := about.passedText() + undoPlan(v.trees.next.Cwd, u, about.prompt)
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
	v.perform(ctx, v.m.propose(order.Redo))
	return nil
}

// aboutUndo says which prompt an undo goes back to, and which later ones it passed: their files hold what they
// held before them.
type aboutUndo struct {
	prompt string
	passed []string
}

// passedShown is how many passed prompts are named.
const passedShown = 3

func (a aboutUndo) passedText() string {
	var b strings.Builder
	for i, p := range a.passed {
		if i == passedShown {
			fmt.Fprintf(&b, "Passed: %s more\n", console.Count(len(a.passed)-i, "prompt"))
			break
		}
		fmt.Fprintf(&b, "Passed: %s; its files are already as they were before it\n", p)
	}
	return b.String()
}

// lastPrompt is the undo to before the last prompt that has something to put back.
func lastPrompt(ctx context.Context, v *conversation) (u wire.Undo, about aboutUndo, err error) {
	turns, err := v.trees.api.Turns(ctx, v.tree.root)
	if err != nil {
		return u, about, err
	}
	for _, first := range changingPrompts(turns) {
		u, err = v.trees.api.PlanUndo(ctx, v.tree.root, wire.UndoOrder{Turn: turns[first].Number})
		prompt := promptOf(turns, first, v.o.Local)
		if err != nil || len(u.Files) > 0 {
			about.prompt = prompt
			return u, about, err
		}
		if prompt == "" {
			prompt = fmt.Sprintf("turn %d", turns[first].Number)
		}
		about.passed = append(about.passed, prompt)
	}
	if len(about.passed) > 0 {
		u.Turn = 0 // no turn has anything to put back
		return u, about, nil
	}
	u, err = v.trees.api.PlanUndo(ctx, v.tree.root, wire.UndoOrder{})
	return u, about, err
}

// changingPrompts are the first turns of the prompts that changed a file, the last one first: indexes of turns.
func changingPrompts(turns []wire.Turn) []int {
	var out []int
	for i := len(turns) - 1; i >= 0; i-- {
		if len(turns[i].Files) == 0 || turns[i].Undone {
			continue
		}
		for i > 0 && turns[i].Asked != "" && samePrompt(turns[i-1], turns[i]) {
			i--
		}
		out = append(out, i)
	}
	return out
}

// promptOf says which prompt a turn is the first of; "" if no prompt asked for it.
func promptOf(turns []wire.Turn, first int, local *time.Location) string {
	t := turns[first]
	if t.Asked == "" {
		return ""
	}
	about := fmt.Sprintf("your prompt “%s”", console.Line(t.Asked, 60))
	if n, of := alike(turns, first); of > 1 {
		about += fmt.Sprintf(", number %d of %d with these words", n, of)
	}
	if !t.At.IsZero() {
		about += ", at " + t.At.In(local).Format("15:04")
	}
	return about
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
		switch {
		case order.Redo:
			text = "The last undo was taken back: " + text
		case u.TakeBack != "":
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
	switch {
	case u.Type == wire.RedoType:
		b.WriteString("What the last undo put back is changed again:\n")
	case u.Turn > 0:
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
