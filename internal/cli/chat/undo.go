package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

const undoHint = "/undo goes back to before the last prompt that changed a file, /undo TURN to before that turn; " +
	"/undo merge ID takes one merge back, and /undo redo the last undo. --force replaces what was changed since too."

// undoOrder reads what stands behind /undo: what `troupe undo` takes, and short words for it.
func undoOrder(words string) (o wire.UndoOrder, err error) {
	fs := pflag.NewFlagSet("/undo", pflag.ContinueOnError)
	fs.Usage = func() {}
	console.UndoFlags(fs, &o)
	if err = fs.Parse(strings.Fields(words)); err == nil {
		err = console.CheckUndo(fs, o)
	}
	if err != nil {
		return o, &troupe.UserError{Problem: "/undo: " + problemOf(err)}
	}
	n, notNumber := strconv.Atoi(fs.Arg(0))
	switch {
	case fs.NArg() == 0:
		return o, nil
	case o.Turn > 0 || o.Redo || o.Merge != "":
	case fs.NArg() == 1 && fs.Arg(0) == "redo":
		o.Redo = true
		return o, nil
	case fs.NArg() == 2 && fs.Arg(0) == "merge":
		o.Merge = fs.Arg(1)
		return o, nil
	case fs.NArg() == 1 && notNumber == nil && n > 0:
		o.Turn = n
		return o, nil
	}
	return o, &troupe.UserError{Problem: fmt.Sprintf("%q is no turn", strings.Join(fs.Args(), " "))}
}

// planUndo shows what /undo would do, and proposes it.
func planUndo(ctx context.Context, v *conversation, args string) error {
	order, err := undoOrder(args)
	var u wire.Undo
	var about aboutUndo
	switch {
	case err != nil:
	case order.Turn > 0 || order.Redo || order.Merge != "":
		u, err = v.trees.api.PlanUndo(ctx, v.tree.root, order)
	default:
		u, about, err = lastPrompt(ctx, v)
		if order.Turn = u.Turn; u.Merge != nil {
			order.Merge = u.Merge.ID
		}
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
		if f.Stays(order.Force) {
			stays++
		}
	}
	refused := stays > 0 && !order.Force || stays == len(u.Files)
	plan := about.passedText() + undoPlan(v.trees.next.Cwd, u, about.prompt, order.Force, refused)
	if stays > 0 && !order.Force {
		plan += fmt.Sprintf("Nothing is put back as long as a file stays; /undo%s --force puts back those that can "+
			"be.\n",
			targetOf(order))
	}
	v.flow(v.wrap(console.Clean(strings.TrimRight(plan, "\n"))) + "\n")
	if refused {
		return nil
	}
	order.Plan = u.Plan
	v.undo = order
	v.perform(ctx, v.m.propose(order.Redo))
	return nil
}

// targetOf is what an undo is of, as /undo takes it: without it that is about the last one.
func targetOf(o wire.UndoOrder) string {
	switch {
	case o.Merge != "":
		return " merge " + console.Line(o.Merge, 64)
	case o.Redo:
		return " redo"
	case o.Turn > 0:
		return fmt.Sprintf(" %d", o.Turn)
	}
	return ""
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

// lastPrompt is the undo of the last prompt, or of the last merge by a person, that has something to put back.
func lastPrompt(ctx context.Context, v *conversation) (u wire.Undo, about aboutUndo, err error) {
	turns, err := v.trees.api.Turns(ctx, v.tree.root)
	if err != nil {
		return u, about, err
	}
	for _, d := range doings(turns) {
		order := wire.UndoOrder{Turn: turns[d.turn].Number}
		what := promptOf(turns, d.turn, v.o.Local)
		if d.merge != nil {
			order = wire.UndoOrder{Merge: d.merge.ID}
			what = "the merge of " + console.Line(d.merge.Name, 60)
		}
		u, err = v.trees.api.PlanUndo(ctx, v.tree.root, order)
		if err != nil || len(u.Files) > 0 {
			about.prompt = what
			return u, about, err
		}
		if what == "" {
			what = fmt.Sprintf("turn %d", turns[d.turn].Number)
		}
		about.passed = append(about.passed, what)
	}
	if len(about.passed) > 0 {
		u.Turn, u.Merge = 0, nil // none has anything to put back
		return u, about, nil
	}
	u, err = v.trees.api.PlanUndo(ctx, v.tree.root, wire.UndoOrder{})
	return u, about, err
}

// doing is what /undo takes back in one step: a prompt, by its first turn, or a merge that a person made.
type doing struct {
	turn  int // index
	merge *wire.Merge
}

// doings are those that were not undone, the last one first.
func doings(turns []wire.Turn) (out []doing) {
	for i := len(turns) - 1; i >= 0; i-- {
		for j := len(turns[i].Merges) - 1; j >= 0; j-- {
			if m := &turns[i].Merges[j]; m.By == "" && !m.Undone {
				out = append(out, doing{i, m})
			}
		}
		if len(turns[i].Files) == 0 || turns[i].Undone {
			continue
		}
		for i > 0 && turns[i].Asked != "" && samePrompt(turns[i-1], turns[i]) {
			i--
		}
		out = append(out, doing{turn: i})
	}
	return out
}

// promptOf says what asked for the changes since a turn that is the first of a prompt: that prompt, forks that a person
// asked for, or both; "" if no prompt did.
func promptOf(turns []wire.Turn, first int, local *time.Location) string {
	forks, only := forksSince(turns[first:])
	t := turns[first]
	if t.Asked == "" || only {
		return strings.Join(forks, " and ")
	}
	about := fmt.Sprintf("your prompt “%s”", console.Line(t.Asked, 60))
	if n, of := alike(turns, first); of > 1 {
		about += fmt.Sprintf(", number %d of %d with these words", n, of)
	}
	if !t.At.IsZero() {
		about += ", at " + t.At.In(local).Format("15:04")
	}
	return strings.Join(append([]string{about}, forks...), " and ")
}

// forksSince are the forks that changed files in turns that were not undone; only says that nothing else did.
func forksSince(turns []wire.Turn) (about []string, only bool) {
	for _, t := range turns {
		if t.Undone {
			continue
		}
		for _, f := range t.Forks {
			text := fmt.Sprintf("your fork “%s”", console.Line(f.Asked, 60))
			if !slices.Contains(about, text) {
				about = append(about, text)
			}
		}
	}
	return about, len(about) > 0 && !slices.ContainsFunc(turns, func(t wire.Turn) bool {
		return !t.Undone && slices.ContainsFunc(t.Files, func(f wire.FileChange) bool {
			return slices.ContainsFunc(f.Agents, func(agent string) bool { return !byFork(t, agent) })
		})
	})
}

// byFork reports whether an agent is a fork that a person asked for, or one below it.
func byFork(t wire.Turn, agent string) bool {
	return slices.ContainsFunc(t.Forks, func(f wire.ForkAsked) bool {
		return agent == f.Agent || strings.HasPrefix(agent, f.Agent+"/")
	})
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

func undoPlan(cwd string, u wire.Undo, about string, force, refused bool) string {
	var b strings.Builder
	is := "is "
	if refused && len(u.Files) > 0 {
		is = "would be "
	}
	switch {
	case u.Type == wire.RedoType:
		fmt.Fprintf(&b, "What the last undo put back %schanged again:\n", is)
	case u.Merge != nil && len(u.Files) == 0:
		fmt.Fprintf(&b, "Of the merge of %s nothing is left to take back.\n", console.Line(u.Merge.Name, 60))
	case u.Merge != nil:
		fmt.Fprintf(&b, "The merge of %s %staken back, and nothing else:\n", console.Line(u.Merge.Name, 60), is)
	case u.Turn > 0:
		if about != "" {
			about = ", " + about
		}
		fmt.Fprintf(&b, "Back to before turn %d%s:\n", u.Turn, about)
	}
	for _, f := range u.Files {
		what := "put back"
		switch {
		case f.Action == wire.UndoRemove && u.Type == wire.RedoType:
			what = "removed again"
		case f.Action == wire.UndoRemove:
			what = "removed; it was not there"
		case f.Action == wire.UndoCreate:
			what = "made again"
		}
		if what = is + what; f.Stays(force) {
			what = "stays: " + console.Line(f.Problem, 200)
		}
		if f.Mixed && !f.Stays(force) {
			what += "; what something else changed in between goes too"
		}
		fmt.Fprintf(&b, "  %s  +%d −%d  %s\n", console.Line(strings.TrimPrefix(f.Path, cwd+"/"), 200), f.Added,
			f.Removed, what)
	}
	b.WriteString(console.KeptAs(u))
	for _, m := range u.Merges {
		fmt.Fprintf(&b, "The merge of %s was made since, and is taken back too.\n", console.Line(m.Name, 60))
	}
	if len(u.Files) == 0 && (u.Merge == nil || u.Type == wire.RedoType) {
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
