package app

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/audit"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// server implements api.Server, and api.Hosting.
type server struct{ bound }

// People implements api.Server.
func (a server) People() api.People { return peopling(a) }

// Hosting implements api.Server.
func (a server) Hosting() api.Hosting { return a }

// Schedules implements api.Server.
func (a server) Schedules() api.Schedules { return scheduling(a) }

// Webhooks implements api.Server.
func (a server) Webhooks() api.Webhooks { return webhooks(a) }

// Targets implements api.Server.
func (a server) Targets() api.Targets { return noticing(a) }

// Stored implements api.Server.
func (a server) Stored() api.Stored { return storing(a) }

// personOf is the name of who acts, as all users of a server read it.
func personOf(c troupe.Caller) string {
	if c.Right == troupe.RightOwner {
		return "the server's owner"
	}
	return c.Name
}

func (a server) admin() host.Admin {
	return host.Admin{Records: a.app.db, Trees: standings{a.app}, Now: a.app.env.Now, By: personOf(a.caller)}
}

// Hosted implements api.Hosting, as do the methods below.
func (a server) Hosted(ctx context.Context) (wire.Hosted, error) {
	out, err := a.admin().Hosted(ctx)
	if err != nil {
		return out, err
	}
	for i := range out.Sessions {
		k := &out.Sessions[i]
		var s troupe.Session
		var l troupe.Lease
		var sum troupe.Tree
		err := a.app.trees.store.View(ctx, func(r store.Reader) (err error) {
			if s, err = r.Session(k.ID); err == nil {
				l, err = r.Lease(k.ID)
			}
			if err == nil {
				sum, err = r.Tree(k.ID)
			}
			return err
		})
		if isNotFound(err) {
			continue // it is not born yet, or was just removed
		}
		if err != nil {
			return out, err
		}
		if k.Title = s.Title; k.State == "at work" && s.Status.Ended() && sum.Active == 0 {
			k.State = "rests" // another process holds it for the next words to it
		}
		for j := range out.Workers {
			if w := &out.Workers[j]; w.ID == l.Owner && k.State != "over" {
				k.Worker = w.ID
				w.Kept++
			}
		}
	}
	return out, nil
}

func (a server) Drain(ctx context.Context, d wire.Drain) error {
	return a.noted(ctx, "drain", d, func() error { return a.admin().Drain(ctx, d) })
}

func (a server) Pause(ctx context.Context, p wire.Pause) error {
	return a.noted(ctx, "pause", p, func() error { return a.admin().Pause(ctx, p) })
}

// Acts implements api.Server.
func (a server) Acts(ctx context.Context, q wire.ActQuery) ([]wire.Act, error) {
	return ActsOf(a.app).Acts(ctx, q)
}

// ActsOf is where it is noted who did what at a server.
func ActsOf(a *App) *audit.Log { return a.once.acts() }

// noted notes what is done to a server on its own machine. What its users do from elsewhere is noted as it comes in.
func (a bound) noted(ctx context.Context, verb string, in any, fn func() error) error {
	if a.caller.Right != troupe.RightOwner {
		return fn()
	}
	about, with := wire.Told(in)
	end, err := ActsOf(a.app).Begin(ctx, wire.Act{By: personOf(a.caller), Right: a.caller.Right, Verb: verb,
		About: about,
		With:  with})
	if err != nil {
		return err
	}
	err = fn()
	end(ctx, err)
	return err
}
