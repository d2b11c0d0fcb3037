package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Host keeps the trees of a home going that were begun through its API: those in folders that this process has.
//
// Checkouts is the folder of repositories that were checked out.
func Host(ctx context.Context, a *App, folders []string, checkouts string,
	tell func(context.Context, host.News) error, dial func(string, troupe.Caller) host.Peer) *host.Host {
	system := troupe.Caller{Name: "troupe", Right: troupe.RightSystem, Surface: troupe.SurfaceServer}
	h := host.New(ctx, host.Options{Records: a.db, Trees: standings{a}, System: a.As(system), Now: a.env.Now,
		Log: a.env.Log, Folders: folders, Dial: dial, Checkouts: checkouts, TakesRepositories: len(a.env.GitHosts) > 0,
		Tell:     tell,
		CheckOut: func(ctx context.Context, b wire.Begin) (wire.Begin, error) { return checkOut(ctx, a, b) }})
	kept := a.env.Metrics.Gauge("troupe_sessions_kept", "Sessions of the database that are kept going, by their state "+
		"as this process sees it.", "state")
	a.env.Metrics.Ask(func(context.Context) {
		metrics.Reset(kept, h.Kept(), func(state string) []string {
			return []string{strings.ReplaceAll(state, " ", "_")}
		})
	})
	return h
}

// Ready makes this process one that can run trees, and says how it is known to others.
func Ready(ctx context.Context, a *App) (troupe.Owner, error) {
	e, err := a.start(ctx)
	if err != nil {
		return troupe.Owner{}, err
	}
	o, _, err := a.db.Owner(ctx, e.owner)
	return o, err
}

// standings implements host.Trees.
type standings struct{ app *App }

// Alive implements host.Trees.
func (a standings) Alive(ctx context.Context, id troupe.OwnerID) (bool, error) {
	_, alive, err := a.app.db.Owner(ctx, id)
	if isNotFound(err) {
		return false, nil
	}
	return alive, err
}

// Held implements host.Trees.
func (a standings) Held(root troupe.SessionID) (host.Standing, bool) {
	e := a.app.hosting(root)
	switch {
	case e == nil:
		return 0, false
	case session.AtWork(e.hub, root):
		return host.Here, true
	}
	return host.Rests, e.hub.Runs(root)
}

// Stand implements host.Trees.
func (a standings) Stand(ctx context.Context, root troupe.SessionID) (host.Stand, error) {
	var s troupe.Session
	var l troupe.Lease
	err := a.app.trees.store.View(ctx, func(r store.Reader) (err error) {
		if s, err = r.Session(root); err == nil {
			l, err = r.Lease(root)
		}
		return err
	})
	if isNotFound(err) {
		return host.Stand{}, nil
	}
	if err != nil {
		return host.Stand{}, fmt.Errorf("look at tree %s: %w", root, err)
	}
	stand := func(st host.Standing) host.Stand { return host.Stand{Standing: st, Cwd: s.Cwd, Owner: l.Owner} }
	if e := a.app.hosting(root); e != nil {
		if st, held := a.Held(root); held {
			return stand(st), nil
		}
		// It was lost, and is let go of; or it is about to be taken up, and stays.
		now, cancel := context.WithCancel(ctx)
		cancel()
		if err := e.hub.Leave(now, root); err != nil && a.app.hosting(root) != nil {
			return stand(host.Here), nil
		}
	}
	if !a.app.isOwner(l.Owner) {
		_, alive, err := a.app.trees.owner(ctx, l)
		if err != nil || alive {
			return stand(host.There), err
		}
	}
	if !s.AsleepAt.IsZero() {
		return stand(host.Asleep), nil
	}
	if s.Status.Live() {
		return stand(host.Left), nil
	}
	events, err := a.app.trees.events(ctx, root, 0, 0)
	if err != nil {
		return host.Stand{}, err
	}
	st, err := turn.Fold(events)
	if err != nil {
		return host.Stand{}, fmt.Errorf("read session %s: %w", root, err)
	}
	more, err := a.app.trees.unfinished(ctx, root, &st)
	if err != nil {
		return host.Stand{}, err
	}
	if more {
		return stand(host.Left), nil
	}
	return stand(host.Over), nil
}
