package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/model/governor"
	"github.com/troupe-dev/troupe/internal/session"
)

// start makes this process an owner and gives it a hub, unless it has them.
func (a *App) start(ctx context.Context) (*engine, error) {
	a.starting.Lock()
	defer a.starting.Unlock()
	if e := a.engine.Load(); e != nil {
		return e, nil
	}
	guard := a.newGuard(ctx)
	guard.sweep()
	tools, err := a.newToolbox(guard, mergerOf(a, guard))
	if err != nil {
		return nil, err
	}
	id, err := troupe.NewRootID(rand.Reader)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	owner := troupe.Owner{ID: troupe.OwnerID(id), PID: os.Getpid(), Host: host, StartedAt: a.env.Now()}
	served := a.serve(ctx, owner.ID)
	if served != nil {
		owner.Socket = served.Path()
	}
	release, err := a.trees.store.Register(ctx, owner)
	if err != nil {
		if served != nil {
			err = errors.Join(err, served.Close(ctx))
		}
		return nil, fmt.Errorf("register as an owner: %w", err)
	}
	environ, _ := config.Environment(a.env.Environ, a.settings)
	pool := session.NewPool(context.WithoutCancel(ctx))
	lanes := governor.New(governor.Options{Max: a.models.maxRequests, Now: a.env.Now, After: pool.After})
	e := &engine{
		pool: pool, guard: guard, tools: tools, owner: owner.ID, release: release, log: a.env.Log,
		served: served, ctx: func() context.Context { return context.WithoutCancel(ctx) },
		governor: lanes,
	}
	e.servers = newServerHost(ctx, a, guard)
	// What is hidden is as of the start of a command: the folder is there before the first one runs.
	for _, dir := range []string{a.dirs.Logins(), a.dirs.Ledgers()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			a.env.Log.Warn("make a folder of the home", "folder", dir, "err", err)
		}
	}
	deps := session.Deps{
		Store: a.trees.store, Owner: owner.ID, Models: a.models, Tools: e.tools.Set,
		Profiles: roles{tools, a.models, a.newRunner(e, e.servers.shell, environ), e.servers.Registry, a.dirs,
			lookingForAgents(a, tools), &a.defined.made},
		Sched:    pool,
		Now:      a.env.Now,
		Governor: e.governor,
		Ask: func(ctx context.Context, s troupe.Session, question, text string) (string, troupe.Usage, troupe.Money,
			error) {
			return e.askSmall(ctx, a.models, s, askerFetch, question, text)
		},
		SaveResult: saveResult, Plans: plansOf(a), Memories: memories{a}, Deltas: a.followers.Delta,
		Keep: a.keep, Kept: a.kept, Guard: e.guard,
		Environment: func(cwd string) session.Surroundings {
			p, err := a.policyOf(cwd)
			if err != nil {
				a.env.Log.Warn("skills are left out: settings cannot be read", "folder", cwd, "err", err)
				p = &policy{}
			}
			s, _ := e.surroundings(a, cwd, p, p.skillFiles(a.dirs, cwd),
				LookAt(context.WithoutCancel(ctx), cwd, a.env.Environ, a.env.Now))
			return s // what of it is left out was said when the run began
		},
		About: func(cwd, file string) []session.Instruction {
			files, _ := e.instructions.load(a, e.guard, cwd, false).About(file)
			return append(a.blocks(files), e.instructions.skillsFor(skills{a, e.guard}, cwd, file)...)
		},
		Readable: []string{documents(a.dirs)}, Scratchpads: scratchpadsOf(a),
		OutputDir: a.outputDir, Environ: environ, Home: resolved(a.dirs.Home), Mask: a.masker(), Masked: masked,
		Notify: a.followers.Commit, Log: a.env.Log, PulseEvery: pulseEvery,
	}
	e.places = &workspaces{keeper: a.keeper, app: a, guard: guard}
	deps.Workspaces = e.places
	second := opinions{e, a.models, a.env.Now}
	deps.Auto = autoModel{second}
	deps.Handoff = handoffModel{second}
	if p := a.models.player; p != nil {
		deps.Tools, deps.Replay, deps.Governor = replayTools(deps.Tools, p), p, nil
		deps.Workspaces = played{p}
	}
	e.hub = session.New(deps)
	observe(a.env.Metrics, e.hub, lanes)
	a.engine.Store(e)
	pool.Go(a.removeOrphans)
	pool.Go(func(ctx context.Context) { tidyMerges(ctx, a) })
	return e, nil
}

// pulseEvery is how long a process that was frozen goes on, once it wakes, with a tree that another has taken over, and
// how soon it hears what others have left in the database.
const pulseEvery = time.Second

// serve opens the socket by which other processes reach what runs here. Without one the run
// goes on; it can then only be reached through the home, when it looks for mail again.
func (a *App) serve(ctx context.Context, id troupe.OwnerID) Served {
	if a.env.Serve == nil {
		return nil
	}
	s, err := a.env.Serve(ctx, a, filepath.Join(a.dirs.Data, "run", string(id)+".sock"))
	if err != nil {
		a.env.Log.Warn("no socket: other processes cannot reach this one", "err", err)
		return nil
	}
	return s
}

// resolved follows links, so that rules about ~/ hold for the folder itself too.
func resolved(home string) string {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		return real
	}
	return home
}
