package app

import (
	"context"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// trees reads what the store has of them.
type trees struct {
	store store.Store
	by    string // whose newest main agent is meant by "main"; "": that of anyone
}

// own is whose newest main agent a caller means: at a server, where there are others, their own.
func own(c troupe.Caller) string {
	if c.Surface == troupe.SurfaceServer {
		return c.Name
	}
	return ""
}

// sessions implements api.Sessions.
type sessions struct{ bound }

func (a sessions) Find(ctx context.Context, ref, cwd string) (wire.Session, error) {
	s, err := trees{a.app.trees.store, own(a.caller)}.find(ctx, ref, cwd)
	if err != nil {
		return wire.Session{}, err
	}
	path := s
	name := ""
	var sum troupe.Tree
	var lease troupe.Lease
	err = a.app.trees.store.View(ctx, func(r store.Reader) error {
		path = s
		for name = displayName(path); path.Parent != ""; name = displayName(path) + "/" + name {
			var err error
			if path, err = r.Session(path.Parent); err != nil {
				return err
			}
		}
		var err error
		if sum, err = r.Tree(s.Root); err != nil {
			return err
		}
		lease, err = r.Lease(s.Root)
		return err
	})
	if err != nil {
		return wire.Session{}, err
	}
	_, held, err := a.app.trees.owner(ctx, lease)
	out := a.app.wireSession(s, name, held)
	out.Result = s.Result
	if err == nil {
		var ends map[troupe.SessionID]troupe.Outcome
		ends, err = a.app.trees.ends(ctx, []troupe.Session{s})
		out.Structured = ends[s.ID].Structured
	}
	if s.Parent == "" {
		out.Tree = wire.SumsOf(sum)
	}
	return out, err
}

func (a sessions) List(ctx context.Context, l wire.Listing) ([]wire.Session, error) {
	if l.QuietMS == 0 {
		return a.list(ctx, l)
	}
	if (l != wire.Listing{Cwd: l.Cwd, Limit: l.Limit, QuietMS: l.QuietMS}) {
		return nil, &troupe.UserError{Problem: "sessions that have been quiet for a time are listed by their folder " +
			"alone",
			Hint: "Leave out the other conditions.", Code: troupe.ExitUsage}
	}
	old, err := a.app.trees.olderThan(ctx, a.app.env.Now().Add(-time.Duration(l.QuietMS)*time.Millisecond))
	if err != nil {
		return nil, err
	}
	out := []wire.Session{}
	for _, s := range old {
		if (l.Cwd == "" || l.Cwd == s.Cwd) && (l.Limit == 0 || len(out) < l.Limit) {
			out = append(out, a.app.wireSession(s, displayName(s), false))
		}
	}
	return out, nil
}

func (a sessions) Tree(ctx context.Context, id troupe.SessionID) (wire.Tree, error) {
	s, err := a.app.trees.session(ctx, id)
	if err != nil {
		return wire.Tree{}, err
	}
	t, err := a.app.tree(ctx, s.Root)
	if err != nil {
		return wire.Tree{}, err
	}
	out := wire.Tree{Sessions: a.app.rows(t), Running: t.Running, Here: t.Running && a.app.isOwner(t.Lease.Owner)}
	if o := t.Owner; o.ID != "" {
		out.Owner = wire.Owner{PID: o.PID, Host: o.Host, Socket: o.Socket}
	}
	return out, nil
}

func (a sessions) Events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	return a.app.trees.events(ctx, id, after, limit)
}

// rows are the sessions of a tree as surfaces see them.
func (a *App) rows(t Tree) []wire.Session {
	out := make([]wire.Session, len(t.Sessions))
	for i, s := range t.Sessions {
		out[i] = a.wireSession(s, t.Paths[s.ID], t.Running)
		out[i].DurationMS = wire.DurationMS(s, t.now(s.ID, a.env.Now()))
		out[i].Number = i // in order of birth, the main agent first
	}
	out[0].Tree = wire.SumsOf(t.Sum)
	return out
}

// wireSession is a session as surfaces see it. held: a live process has its tree in hand.
func (a *App) wireSession(s troupe.Session, path string, held bool) wire.Session {
	out := wire.NewSession(s, path, a.env.Now())
	_, priced := a.models.Cost(s.Model, troupe.Usage{})
	out.Unpriced, out.Running = !priced && s.Tally.Turns > 0, held && s.Status.Live()
	return out
}

// displayName is a session's name among its siblings.
func displayName(s troupe.Session) string {
	if s.Name == "" {
		return "main"
	}
	return s.Name
}
