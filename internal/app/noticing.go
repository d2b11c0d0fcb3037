package app

import (
	"context"

	"github.com/troupe-dev/troupe/internal/app/notice"
	"github.com/troupe-dev/troupe/internal/tool/web"
	"github.com/troupe-dev/troupe/internal/wire"
)

// noticing implements api.Targets.
type noticing struct{ bound }

// posterOf posts notices as the settings of the home allow it. Where these cannot be read, no host nearby is reached.
func posterOf(a *App) notice.Poster {
	o := web.Options{Local: a.settings.Home.NotifyHosts, Setting: "notify.local_hosts"}
	client, err := web.Client(o)
	check := func(address string) error { return web.Check(o, address) }
	if err != nil {
		check = func(string) error { return err } // nothing is posted
	}
	return notice.Poster{Client: client, Check: check, Agent: "troupe/" + a.env.Version, Now: a.env.Now}
}

func targetsOf(a *App) *notice.Targets { return notice.New(a.db, posterOf(a)) }

// NoticesOf tells the targets of a home what happens, once it is begun.
func NoticesOf(a *App) *notice.Teller {
	t := notice.NewTeller(notice.Options{Poster: posterOf(a), Store: a.trees.store, Records: a.db,
		Alive: standings{a}.Alive, Mask: a.Mask, Log: a.env.Log, Metrics: a.env.Metrics})
	if m, ok := a.trees.store.(*measured); ok {
		changed := t.Changed
		m.news.Store(&changed)
	}
	return t
}

// Targets implements api.Targets, as do the methods below.
func (a noticing) Targets(ctx context.Context) ([]wire.Target, error) {
	return targetsOf(a.app).List(ctx)
}

func (a noticing) Target(ctx context.Context, name string) (wire.Target, error) {
	return targetsOf(a.app).One(ctx, name)
}

func (a noticing) SetTarget(ctx context.Context, t wire.TargetTerms) (out wire.TargetChanged, err error) {
	err = a.noted(ctx, "set-target", wire.TargetTerms{Name: t.Name}, func() error {
		out, err = targetsOf(a.app).Set(ctx, a.caller, t)
		return err
	})
	return out, err
}

func (a noticing) RemoveTarget(ctx context.Context, name string) error {
	return a.noted(ctx, "remove-target", wire.TargetTerms{Name: name}, func() error {
		return targetsOf(a.app).Remove(ctx, name)
	})
}

func (a noticing) TestTarget(ctx context.Context, name string) (out wire.NoticeTry, err error) {
	err = a.noted(ctx, "test-target", wire.TargetTerms{Name: name}, func() error {
		out, err = targetsOf(a.app).Test(ctx, name)
		return err
	})
	return out, err
}

func (a noticing) ReplayTarget(ctx context.Context, name string, r wire.Replay) (out wire.Replayed, err error) {
	err = a.noted(ctx, "replay-target", wire.TargetTerms{Name: name}, func() error {
		out, err = targetsOf(a.app).Replay(ctx, name, r)
		return err
	})
	return out, err
}
