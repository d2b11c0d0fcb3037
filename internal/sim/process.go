package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/follow"
	"github.com/troupe-dev/troupe/internal/model/governor"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// errCrash is what a process gets from the store once it has died.
var errCrash = errors.New("the process has crashed")

// process is one run of the program: an owner, its hub, and whether it is still there.
type process struct {
	dozing bool // it puts the tree away
	w      *world
	owner  troupe.OwnerID
	hub    *session.Hub
	dead   bool          // its tasks do not run any more
	zombie bool          // the tree has been taken from it, and it may not know
	asks   time.Duration // how long somebody there is asked; 0: nobody is there
	gov    *lane

	followers *follow.Broker
	logged    map[troupe.SessionID]int64 // the last event of each session that it committed
}

// start begins a new process.
func (w *world) start() *process {
	w.procs++
	p := &process{w: w, owner: troupe.OwnerID(fmt.Sprintf("proc%d", w.procs)), logged: make(map[troupe.SessionID]int64)}
	p.followers = w.broker(p)
	if !w.one(5) && (!w.climate.teams || w.one(2)) {
		p.asks = time.Duration(10+w.rng.IntN(600)) * time.Second
	}
	if _, err := w.store.Register(w.ctx(), troupe.Owner{ID: p.owner, PID: w.procs}); err != nil {
		w.broken("register %s: %w", p.owner, err)
	}
	d := session.Deps{
		Store: &crashStore{Store: w.store, p: p}, Owner: p.owner,
		Models: models{p, ""}, Tools: tools(p), Profiles: profiles{w}, Sched: p,
		Now:         func() time.Time { return w.now },
		Environment: func(string) session.Surroundings { return session.Surroundings{Place: "env"} },
		OutputDir:   outputDir,
		SaveResult:  func(string, string) error { return nil },
		Guard:       guard{w},
		Plans:       plans{w},
		Auto:        autoModel{p},
		Handoff:     checker{p},
		Workspaces:  places{p: p},
		Notify: func(root, id troupe.SessionID, seq int64, events []troupe.Event) {
			w.watch.law.placed(p, id, seq)
			w.audience.announced(p, root, id, seq, events)
		},
		Deltas: p.followers.Delta,
	}
	if w.climate.judge {
		d.Judge = judge{p}
	}
	if w.climate.lane > 0 {
		p.gov = &lane{p: p, real: governor.New(governor.Options{
			Max: func(string) int { return w.climate.lane }, Now: d.Now, After: p.After,
		})}
		d.Governor = p.gov
	}
	if w.opt.Plant != nil {
		w.opt.Plant(&d)
	}
	p.hub = session.New(d)
	w.trace("%s begins", p.owner)
	return p
}

// settings are what the process starts a run with.
func (p *process) settings() *troupe.Settings {
	return &troupe.Settings{AskFor: p.asks, Fallback: p.w.climate.fallback, Policy: p.w.climate.policy,
		HandoffModel: p.w.climate.checks}
}

func outputDir(id troupe.SessionID) string { return "/sim-out/" + string(id) }

// exit ends a process in good order.
func (p *process) exit() {
	p.dead = true
	p.w.kill(p.owner)
}

// die ends a process in the middle of whatever it does.
func (p *process) die(why string) {
	p.w.res.Crashes++
	p.w.trace("crash of %s: %s", p.owner, why)
	p.exit()
}

// Go implements session.Scheduler.
func (p *process) Go(fn func(context.Context)) {
	if p.dead {
		return
	}
	p.w.add(&task{proc: p, name: "run", at: p.w.now, fn: func() { fn(p.w.ctx()) }})
}

// After implements session.Scheduler.
func (p *process) After(d time.Duration, fn func()) func() {
	if p.dead {
		return func() {}
	}
	t := p.w.add(&task{proc: p, name: "timer", at: p.w.now.Add(d), fn: fn})
	return func() { t.off = t.off || t.co == nil }
}

// Sleep implements session.Scheduler.
func (p *process) Sleep(ctx context.Context, d time.Duration) { p.w.sleep(ctx, d) }

// lane is the real governor, with a pause between the leave that it gives and the news of it,
// in which the caller may give up. It counts who went and who came back.
type lane struct {
	p      *process
	real   *governor.Governor
	inside int
}

func (g *lane) Enter(provider string, ready func()) (bool, func()) {
	now, cancel := g.real.Enter(provider, func() {
		g.inside++
		g.p.Go(func(context.Context) { ready() })
	})
	if now {
		g.inside++
	}
	return now, cancel
}

func (g *lane) Leave(provider string, err error) {
	g.inside--
	if g.inside < 0 && !g.p.dead {
		g.p.w.broken("%s: a call left the governor that had not entered it", g.p.owner)
	}
	g.real.Leave(provider, err)
}

// crashStore is the store as one process sees it: any write may be the last thing that it
// does, before or after it took effect, and others may come in right behind it.
type crashStore struct {
	store.Store
	p *process
}

func (s *crashStore) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	w := s.p.w
	if s.p.dead {
		return errCrash
	}
	n := w.rng.IntN(500)
	mayDie := w.res.Crashes < w.climate.crashes
	if n == 0 && mayDie {
		s.p.die("before a write")
		return errCrash
	}
	if n >= 400 {
		// Somebody else comes first.
		w.aside()
		if s.p.dead {
			return errCrash
		}
	}
	var tx *watchTx
	err := s.Store.Update(ctx, root, func(real store.Tx) error {
		tx = &watchTx{Tx: real, p: s.p}
		return fn(tx)
	})
	if err == nil {
		w.watch.committed(s.p, tx)
	}
	if n == 1 && mayDie {
		s.p.die("after a write")
		return errCrash
	}
	if n < 150 {
		w.aside()
		if s.p.dead {
			return errCrash
		}
	}
	if err != nil && errors.Is(err, troupe.ErrFenced) {
		w.trace("%s is refused: %v", s.p.owner, err)
	}
	return err
}

func (s *crashStore) View(ctx context.Context, fn func(store.Reader) error) error {
	if s.p.dead {
		return errCrash
	}
	return s.Store.View(ctx, func(r store.Reader) error { return fn(watchReader{r, &s.p.w.watch}) })
}
