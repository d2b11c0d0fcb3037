package app

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/app/schedule"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// scheduling implements api.Schedules.
type scheduling struct{ bound }

func schedulesOf(a *App) *schedule.Schedules {
	return schedule.New(a.db, spending{standings{a}}, a.env.Now)
}

// KeepSchedules begins what is due in folders that this process has, with what as is for a caller.
func KeepSchedules(ctx context.Context, a *App, owner troupe.OwnerID, h *host.Host,
	as func(troupe.Caller) api.API) *schedule.Keeper {
	return schedule.Keep(ctx, schedule.Options{Records: a.db, Trees: spending{standings{a}}, Users: PeopleOf(a),
		Now: a.env.Now, Log: a.env.Log, Owner: owner, Host: h, As: as,
		Note: func(ctx context.Context, c troupe.Caller, b wire.Begin) (func(context.Context, error), error) {
			about, with := wire.Told(b)
			return ActsOf(a).Begin(ctx, wire.Act{By: personOf(c), Right: c.Right, Verb: "begin", About: about,
				With: with})
		}})
}

// spending implements schedule.Trees.
type spending struct{ standings }

// Spent implements schedule.Trees. A tree that is gone has spent nothing that is known.
func (a spending) Spent(ctx context.Context, root troupe.SessionID) (troupe.Money, troupe.Status, troupe.Cause, error) {
	var t troupe.Tree
	var s troupe.Session
	err := a.app.trees.store.View(ctx, func(r store.Reader) (err error) {
		if t, err = r.Tree(root); err == nil {
			s, err = r.Session(root)
		}
		return err
	})
	if isNotFound(err) {
		err = nil
	}
	return t.Tally.Cost, s.Status, s.Cause, err
}

// Schedules implements api.Schedules, as do the methods below.
func (a scheduling) Schedules(ctx context.Context) ([]wire.Schedule, error) {
	return schedulesOf(a.app).List(ctx)
}

func (a scheduling) Schedule(ctx context.Context, name string) (wire.Schedule, error) {
	return schedulesOf(a.app).One(ctx, name)
}

func (a scheduling) SetSchedule(ctx context.Context, t wire.ScheduleTerms) (out wire.Schedule, err error) {
	if t.Begin, err = beginnable(a.app, t.Begin, false); err != nil {
		return out, err
	}
	err = a.noted(ctx, "set-schedule", t, func() error {
		out, err = schedulesOf(a.app).Set(ctx, a.caller, t)
		return err
	})
	return out, err
}

func (a scheduling) RemoveSchedule(ctx context.Context, name string) error {
	return a.noted(ctx, "remove-schedule", wire.ScheduleTerms{Name: name}, func() error {
		return schedulesOf(a.app).Remove(ctx, a.caller, name)
	})
}

func (a scheduling) RunSchedule(ctx context.Context, name string) (out wire.Schedule, err error) {
	err = a.noted(ctx, "run-schedule", wire.ScheduleTerms{Name: name}, func() error {
		out, err = schedulesOf(a.app).Run(ctx, a.caller, name)
		return err
	})
	return out, err
}

// pausing is what is noted of a pause, and of its end.
type pausing struct {
	Name string
	End  bool
}

func (a scheduling) PauseSchedule(ctx context.Context, name string, p wire.SchedulePause) (out wire.Schedule,
	err error) {
	err = a.noted(ctx, "pause-schedule", pausing{name, p.End}, func() error {
		out, err = schedulesOf(a.app).Pause(ctx, a.caller, name, !p.End)
		return err
	})
	return out, err
}
