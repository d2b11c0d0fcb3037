package sim_test

import (
	"context"
	"strconv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// onWorkspaces plants a bug in what makes folders.
func onWorkspaces(wrap func(session.Workspaces) session.Workspaces) func() func(*session.Deps) {
	return func() func(*session.Deps) {
		return func(d *session.Deps) { d.Workspaces = wrap(d.Workspaces) }
	}
}

// without leaves a step of what is done to folders out.
func without(step string) func() func(*session.Deps) {
	return onWorkspaces(func(w session.Workspaces) session.Workspaces {
		if m, ok := w.(interface {
			Without(step string) session.Workspaces
		}); ok {
			return m.Without(step)
		}
		return w
	})
}

// unmade says that a folder is there before it is.
type unmade struct{ session.Workspaces }

func (unmade) Open(context.Context, session.Opening) (troupe.WorkspaceBase, error) {
	return troupe.WorkspaceBase{Commit: "base1"}, nil
}

// rebased begins a folder anew each time it is opened.
type rebased struct {
	session.Workspaces

	n int
}

func (w *rebased) Open(ctx context.Context, o session.Opening) (troupe.WorkspaceBase, error) {
	b, err := w.Workspaces.Open(ctx, o)
	w.n++
	b.Commit += strconv.Itoa(w.n)
	return b, err
}

// elsewhere keeps another folder than that of the session that ends.
type elsewhere struct{ session.Workspaces }

func (w elsewhere) Close(ctx context.Context, s troupe.Session, c session.Closing) (troupe.WorkspaceResult,
	error) {
	out, err := w.Workspaces.Close(ctx, s, c)
	out.Tip += "0"
	return out, err
}

// crowded removes a folder in which others still work.
type crowded struct{ session.Workspaces }

func (w crowded) Close(ctx context.Context, s troupe.Session, c session.Closing) (troupe.WorkspaceResult, error) {
	c.Stay = ""
	return w.Workspaces.Close(ctx, s, c)
}

// counted says of each checkpoint how it differs from the one that was made last, in the log or not.
type counted struct {
	session.Workspaces

	last map[troupe.SessionID]string
}

func (w counted) Save(ctx context.Context, s troupe.Session, u session.Unsaved) (troupe.Checkpoint, error) {
	if last := w.last[s.Workspace.Owner]; last != "" {
		u.Last = last
	}
	out, err := w.Workspaces.Save(ctx, s, u)
	if out.Tree != "" {
		w.last[s.Workspace.Owner] = out.Tree
	}
	return out, err
}

// foretold writes a merge before it is announced.
type foretold struct{ session.Workspaces }

func (w foretold) Merge(ctx context.Context, s troupe.Session, into session.Into) (session.Merge, error) {
	out, err := w.Workspaces.Merge(ctx, s, into)
	if err == nil && len(out.Files) > 0 {
		err = out.Write(ctx)
	}
	return out, err
}

// unwritten says that all was written, and writes nothing.
type unwritten struct{ session.Workspaces }

func (w unwritten) Merge(ctx context.Context, s troupe.Session, into session.Into) (session.Merge, error) {
	out, err := w.Workspaces.Merge(ctx, s, into)
	out.Write = func(context.Context) error { return nil }
	return out, err
}

// sly has the gate asked about another file than is written.
type sly struct{ session.Workspaces }

func (w sly) Merge(ctx context.Context, s troupe.Session, into session.Into) (session.Merge, error) {
	out, err := w.Workspaces.Merge(ctx, s, into)
	for i := range out.Files {
		out.Files[i].Path += ".txt"
	}
	return out, err
}
