package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/internal/workspace/worktree"
)

// undoing implements api.Undoing.
type undoing struct{ bound }

func (a undoing) Turns(ctx context.Context, root troupe.SessionID) ([]wire.Turn, error) {
	turns, err := a.changes(ctx, root)
	out := []wire.Turn{}
	for _, t := range turns {
		w := wire.Turn{Number: t.Number, At: t.At.UTC(), Asked: t.Asked, Undone: t.Undone, Prompt: t.Prompt,
			Files: []wire.FileChange{}, Commands: commands(t.Commands), Merges: shownMerges(t.Merges),
			Forks: t.Forks}
		w.Files = append(w.Files, t.Files...)
		out = append(out, w)
	}
	return out, err
}

func (a undoing) plan(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (Undo, wire.Undo, error) {
	var p Undo
	var err error
	switch {
	case o.Redo:
		p, err = a.planRedo(ctx, root)
	case o.Merge != "":
		p, err = a.planMerge(ctx, root, o.Merge)
	default:
		p, err = a.planUndo(ctx, root, o.Turn)
	}
	if err == nil && p.Merge != nil && p.Redo == 0 {
		err = a.blameOthers(ctx, &p)
	}
	if err != nil {
		return p, wire.Undo{}, err
	}
	for i := range p.Gone {
		g := &p.Gone[i]
		if g.Pruned = worktree.Pruned(a.app.keeper, g.Session); g.Pruned {
			g.Branch = ""
		}
	}
	out := shown(p)
	if p.Merge != nil && p.Redo == 0 {
		out.KeptAs = prunedAs(ctx, a.app, p.from)
	}
	// What was shown is these files as they are, and what becomes of each.
	text, err := json.Marshal(struct {
		Turn, Redo int
		Merge      *wire.MergeRef
		Files      []UndoFile
	}{p.Turn, p.Redo, out.Merge, p.Files})
	sum := sha256.Sum256(text)
	out.Plan = hex.EncodeToString(sum[:8])
	return p, out, err
}

func (a undoing) PlanUndo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	_, out, err := a.plan(ctx, root, o)
	return out, err
}

func (a undoing) Undo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	if err := a.maySteer(ctx, root); err != nil {
		return wire.Undo{}, err
	}
	p, now, err := a.plan(ctx, root, o)
	if err != nil {
		return wire.Undo{}, err
	}
	if o.Plan != now.Plan {
		return wire.Undo{}, &troupe.UserError{
			Problem: fmt.Sprintf("files of session %s have changed since the undo was shown; nothing was put back",
				root),
			Hint: "Look again at what there is to undo.", Code: troupe.ExitUsage, Err: troupe.ErrFenced,
		}
	}
	if err := mayUndo(ctx, a.bound, p); err != nil {
		return wire.Undo{}, err
	}
	// Before anything is put back: the agents could not be told of it otherwise.
	if _, err := a.checkHeard(ctx, root); err != nil {
		return wire.Undo{}, inConversation(err, p)
	}
	r, err := a.applyUndo(ctx, p, o.Force)
	if err != nil {
		return wire.Undo{}, err
	}
	out := shown(r.Undo)
	out.Applied, out.Left, out.TakeBack = true, shownFiles(r.Left), r.TakeBack
	return out, nil
}

// inConversation says of an undo that the process which has the tree does not take how it is done there.
func inConversation(err error, p Undo) error {
	var said *troupe.UserError
	if !errors.As(err, &said) {
		return err
	}
	words := fmt.Sprintf("/undo %d", p.Turn)
	switch {
	case p.Redo > 0:
		words = "/undo redo"
	case p.Merge != nil:
		words = "/undo merge " + p.Merge.id
	}
	return &troupe.UserError{Problem: said.Problem, Code: said.Code, Err: err,
		Hint: "If that is a conversation, type there: " + words +
			". If the process is just ending, try again in a moment."}
}

// shown is an undo as surfaces see it.
func shown(p Undo) wire.Undo {
	out := wire.Undo{
		Type: wire.UndoType, Session: p.Root, Turn: p.Turn, Files: shownFiles(p.Files), Left: []wire.UndoFile{},
		Same: p.Same, Commands: commands(p.Commands), Links: p.Links, Gone: p.Gone,
		Merges: p.Merges,
	}
	if p.Merge != nil {
		ref := p.Merge.ref()
		out.Merge = &ref
	}
	if p.Redo > 0 {
		out.Type = wire.RedoType
	}
	if out.Same == nil {
		out.Same = []string{}
	}
	return out
}

func shownFiles(list []UndoFile) []wire.UndoFile {
	out := make([]wire.UndoFile, len(list))
	for i, f := range list {
		out[i] = f.UndoFile
	}
	return out
}

func commands(list []Command) []wire.Command {
	out := make([]wire.Command, 0, len(list))
	for _, c := range list {
		w := wire.Command{Turn: c.Turn, Agent: c.Agent, Tool: c.Tool, Text: c.Text, State: c.State, Known: c.Known}
		if c.State == wire.CommandEnded {
			w.ExitCode = &c.ExitCode
		}
		out = append(out, w)
	}
	return out
}
