package chat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/app/follow"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// askFor is how long a request waits for a person in front of a conversation: they may have
// gone home for the night.
const askFor = 24 * time.Hour

// Local holds conversations in this process. r is what every new one begins with; what
// Opening says replaces its prompt and what it resumes.
func Local(a *app.App, r app.Request) Backend {
	if r.AskFor == 0 {
		r.AskFor = askFor
	}
	l := &local{a: a, r: r, runs: make(map[troupe.SessionID]*app.Run)}
	return Backend{Talk: talk{l}, Look: a, Begin: l.begin, Model: l.model, Undo: l.undo}
}

type local struct {
	a  *app.App
	r  app.Request
	mu sync.Mutex
	// runs are the trees that this process has in hand. One that is left for another
	// conversation stays, and can be returned to.
	runs map[troupe.SessionID]*app.Run
}

func (l *local) begin(ctx context.Context, o Opening) (*Tree, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, err := l.again(ctx, o); t != nil || err != nil {
		return t, err
	}
	r := l.r
	r.Prompt, r.Images = o.Message.Text, o.Message.Images
	r.Resume, r.Continue = o.Resume, o.Continue
	if o.Resume != "" || o.Continue {
		if !o.flags {
			r = grown(r)
		}
		r.Idle = r.Prompt == "" && len(r.Images) == 0
	}
	if o.Model != "" {
		r.Model = o.Model
	}
	if o.Mode != "" {
		r.Mode = string(o.Mode)
	}
	run, err := l.a.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	l.runs[run.Root] = run
	l.r.Name = "" // taken
	if o.Resume != "" || o.Continue {
		l.r = grown(l.r)
	}
	f := split(run.Follow(ctx, true))
	return &Tree{
		Root: run.Root, Warnings: run.Warnings, Before: run.Before(), Events: f, Deltas: f.deltas,
		Wait: run.Wait, Close: func() error { return nil },
	}, nil
}

// splitter is a follower that hands deltas on by a channel, as far as they fit.
type splitter struct {
	*follow.Follower
	deltas chan wire.Delta
}

func split(f *follow.Follower) splitter { return splitter{f, make(chan wire.Delta, 512)} }

func (s splitter) Next(ctx context.Context) ([]troupe.Event, error) {
	for {
		b, err := s.Follower.Next(ctx)
		for _, d := range b.Deltas {
			select {
			case s.deltas <- d:
			default:
			}
		}
		if len(b.Events) > 0 || err != nil || ctx.Err() != nil {
			return b.Events, err
		}
	}
}

func (s splitter) All(ctx context.Context) ([]troupe.Event, error) { return s.Rest(ctx) }

// grown is a request without what is for the birth of the first session; one that goes on has
// its own.
func grown(r app.Request) app.Request {
	r.Name, r.AppendText, r.MaxTurns, r.MaxTime = "", "", 0, 0
	return r
}

// model is what the first session would begin with.
func (l *local) model(name string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name == "" {
		name = l.r.Model
	}
	return l.a.FirstModel(name, l.r.Cwd)
}

// again returns to a tree that this process has in hand; nil if it has not.
func (l *local) again(ctx context.Context, o Opening) (*Tree, error) {
	if o.Resume == "" {
		return nil, nil
	}
	s, err := l.a.Find(ctx, o.Resume, l.r.Cwd)
	if err != nil {
		return nil, err
	}
	run := l.runs[s.ID]
	if run == nil {
		return nil, nil
	}
	if held, err := l.a.Holds(ctx, s.ID); err != nil || !held {
		return nil, err // somebody else has gone on with it: it is taken up as any other
	}
	f := split(run.Follow(ctx, true))
	if _, err := f.All(ctx); err != nil { // it was shown
		f.Close()
		return nil, err
	}
	t, err := l.a.Tree(ctx, s.ID)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Tree{
		Root: s.ID, Before: t.Sessions, Events: f, Deltas: f.deltas, Wait: run.Wait,
		Close: func() error { return nil },
	}, nil
}

// undo plans what /undo [TURN] or /undo redo says.
func (l *local) undo(ctx context.Context, root troupe.SessionID, args string) (string, func(context.Context) (string, error), error) {
	var u app.Undo
	var err error
	switch n, nerr := strconv.Atoi(args); {
	case args == "redo":
		u, err = l.a.PlanRedo(ctx, root)
	case args == "" || (nerr == nil && n > 0):
		u, err = l.a.PlanUndo(ctx, root, n)
	default:
		err = &troupe.UserError{Problem: fmt.Sprintf("%q is no turn", args), Hint: undoHint}
	}
	if err != nil {
		var said *troupe.UserError
		if errors.As(err, &said) {
			err = &troupe.UserError{Problem: said.Problem, Hint: undoHint, Code: said.Code, Err: err}
		}
		return "", nil, err
	}
	plan := undoPlan(l.r.Cwd, u)
	if blocked := u.Blocked(false); len(u.Files) == 0 || len(blocked) > 0 {
		if len(blocked) > 0 {
			plan += fmt.Sprintf("Nothing is put back as long as a file stays; troupe undo %s --force puts back those that can be.\n", root)
		}
		return plan, nil, nil
	}
	return plan, func(ctx context.Context) (string, error) {
		// The session is told of it, so it must be ours.
		if held, err := l.a.Holds(ctx, root); err != nil {
			return "", err
		} else if !held {
			if err := l.retake(ctx, root); err != nil {
				return "", err
			}
		}
		r, err := l.a.ApplyUndo(ctx, u, false)
		if err != nil {
			return "", err
		}
		all, were := amount(len(r.Files)+len(r.Left), "file"), "were"
		if len(r.Files) == 1 {
			were = "was"
		}
		text := fmt.Sprintf("%d of %s %s put back.", len(r.Files), all, were)
		if r.TakeBack != "" {
			text += " /undo redo takes that back."
		}
		return text, nil
	}, nil
}

const undoHint = "/undo goes back to before the last turn that changed a file, /undo TURN to before that one; /undo redo takes the last undo back."

// undoCommands is how many commands a plan lists.
const undoCommands = 10

func undoPlan(cwd string, u app.Undo) string {
	var b strings.Builder
	if u.Turn > 0 {
		fmt.Fprintf(&b, "Back to before turn %d:\n", u.Turn)
	}
	for _, f := range u.Files {
		what := "is put back"
		switch {
		case f.Obstacle != app.ObstacleNone:
			what = "stays: " + console.Line(f.Problem, 200)
		case f.To == "":
			what = "is removed; it was not there"
		case f.Now == "":
			what = "is made again"
		}
		if f.Mixed {
			what += "; what something else changed in between goes too"
		}
		fmt.Fprintf(&b, "  %s  +%d −%d  %s\n", console.Line(strings.TrimPrefix(f.Path, cwd+"/"), 200), f.Added, f.Removed, what)
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
