package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Options shape a run. Everything else is drawn from the seed.
type Options struct {
	Seed  uint64
	Trace io.Writer // every step, if not nil
	// MaxSteps bounds a run; reaching it is a failure (something goes round in circles).
	MaxSteps int
}

// Result says what a run was made of, so that a test can see that it covered something.
type Result struct {
	Steps, Crashes, Zombies, Stops, Sessions, Effects, Faults int
}

// errCrash is what a process gets from the store once it has died.
var errCrash = errors.New("the process has crashed")

// task is something a process would have done on a goroutine. It runs as a coroutine: after
// a write it may be set aside, so that others come in between the write and what follows.
type task struct {
	proc *process
	name string
	at   time.Time // not before
	fn   func()
	seq  int
	off  bool

	resume func() (struct{}, bool) // once it was set aside
	drop   func()
}

// world is one run: the store and the disk that outlive processes, and the processes.
type world struct {
	rng   *rand.Rand
	opt   Options
	store store.Store
	kill  func(troupe.OwnerID)
	now   time.Time
	tasks []*task
	seq   int
	live  *process
	procs int
	root  troupe.SessionID
	caps  troupe.Caps
	res   Result

	effects map[string]int              // how often each call with effects happened
	sent    map[troupe.SessionID][]byte // the last request of each session
	fault   error                       // the first broken promise
	pause   func()                      // sets the running task aside; nil outside of tasks
	lives   int                         // how often the ended tree was begun anew
	stops   int
}

// process is one run of the program: an owner, its hub, and whether it is still there.
type process struct {
	w      *world
	owner  troupe.OwnerID
	hub    *session.Hub
	dead   bool // its tasks do not run any more
	zombie bool // it has been given up by everybody else, and does not know
}

// Run plays one seed and checks what it leaves.
func Run(opt Options, st store.Store, kill func(troupe.OwnerID)) (Result, error) {
	w := &world{
		rng: rand.New(rand.NewPCG(opt.Seed, 0x7e0)), opt: opt, store: st, kill: kill,
		now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		effects: make(map[string]int), sent: make(map[troupe.SessionID][]byte),
	}
	err := w.play()
	if err != nil {
		err = fmt.Errorf("seed %d: %w", opt.Seed, err)
	}
	return w.res, err
}

func (w *world) play() error {
	w.caps = troupe.Caps{MaxDepth: 1 + w.rng.IntN(2), MaxActive: w.rng.IntN(4), MaxTotal: 2 + w.rng.IntN(12)}
	id, err := troupe.NewRootID(byteReader{w.rng})
	if err != nil {
		return err
	}
	w.root = id
	for w.live == nil {
		p := w.start()
		err := p.hub.Begin(w.ctx(), fleet.Birth{
			Root: id, ID: id, Cwd: "/sim", Title: "the job", Caps: &w.caps,
			Profile:   profile("main", 12),
			Authority: troupe.Authority{Mode: troupe.ModeBypass},
			Prompt:    []troupe.Block{troupe.Text("do the job")},
		})
		if err == nil {
			w.live = p
			break
		}
		if _, lookup := w.session(id); lookup == nil {
			// It crashed after the birth was written: somebody resumes it.
			if err := w.takeOver(); err != nil {
				return err
			}
		}
	}
	for {
		w.res.Steps++
		if w.res.Steps > w.opt.MaxSteps {
			return fmt.Errorf("still busy after %d steps", w.opt.MaxSteps)
		}
		more, err := w.step()
		if err != nil {
			return err
		}
		if w.fault != nil {
			return w.fault
		}
		if !more {
			break
		}
	}
	return w.check()
}

// step plays one task, or a calamity. It returns false when the tree has ended and nothing
// is left to do.
func (w *world) step() (bool, error) {
	if err := w.checkActive(); err != nil {
		return false, err
	}
	busy := slices.ContainsFunc(w.tasks, func(t *task) bool { return !t.proc.dead && t.proc == w.live })
	root, err := w.session(w.root)
	if err != nil {
		return false, err
	}
	if root.Status.Live() && w.live.dead {
		return true, w.takeOver()
	}
	if !busy {
		if err := w.live.hub.Wait(w.expired(), w.root); err != nil && !errors.Is(err, context.Canceled) {
			// Its store failed under it: the program ends, and is started again.
			w.crash("a failed write")
			return true, w.takeOver()
		}
		if root.Status.Live() {
			return false, fmt.Errorf("parked for ever: session %s is %s %s and nothing is under way", root.ID, root.Status, root.Waiting)
		}
		if len(w.tasks) == 0 {
			return w.again()
		}
	}
	switch n := w.rng.IntN(1000); {
	case n < 12 && root.Status.Live():
		w.crash("kill -9")
		return true, w.takeOver()
	case n < 16 && root.Status.Live():
		w.stop()
		return true, nil
	}
	w.playTask()
	return true, nil
}

func (w *world) playTask() {
	w.tasks = slices.DeleteFunc(w.tasks, func(t *task) bool {
		gone := t.proc.dead || (t.off && t.resume == nil)
		if gone && t.drop != nil {
			t.drop()
		}
		return gone
	})
	if len(w.tasks) == 0 {
		return
	}
	var due []*task
	soonest := w.tasks[0]
	for _, t := range w.tasks {
		if !t.at.After(w.now) {
			due = append(due, t)
		}
		if t.at.Before(soonest.at) {
			soonest = t
		}
	}
	if len(due) == 0 {
		w.now = soonest.at
		due = append(due, soonest)
	}
	t := due[w.rng.IntN(len(due))]
	w.tasks = slices.DeleteFunc(w.tasks, func(x *task) bool { return x == t })
	w.trace("%s: %s #%d", t.proc.owner, t.name, t.seq)
	w.now = w.now.Add(time.Millisecond)
	w.run(t)
}

// run plays a task to its end, or until it is set aside.
func (w *world) run(t *task) {
	if t.resume == nil {
		t.resume, t.drop = iter.Pull(func(yield func(struct{}) bool) {
			here := func() { yield(struct{}{}) }
			w.pause = here
			t.fn()
		})
	}
	_, aside := t.resume()
	w.pause = nil
	if aside {
		t.name = "continue"
		w.tasks = append(w.tasks, t)
	}
}

// again sometimes begins a tree anew that has ended, as a person would with --resume.
func (w *world) again() (bool, error) {
	if w.lives >= 2 || w.rng.IntN(3) > 0 {
		return false, nil
	}
	w.lives++
	w.trace("resume")
	w.live.dead = true
	w.kill(w.live.owner)
	return true, w.takeOver()
}

// start begins a new process.
func (w *world) start() *process {
	w.procs++
	p := &process{w: w, owner: troupe.OwnerID(fmt.Sprintf("proc%d", w.procs))}
	if _, err := w.store.Register(w.ctx(), troupe.Owner{ID: p.owner, PID: w.procs}); err != nil {
		w.fault = fmt.Errorf("register %s: %w", p.owner, err)
	}
	p.hub = session.New(session.Deps{
		Store: &crashStore{Store: w.store, p: p}, Owner: p.owner,
		Models: models{p}, Tools: tools{p}, Profiles: profiles{w}, Sched: p,
		Now:         func() time.Time { return w.now },
		Policy:      turn.Policy{MaxAttempts: 6, MaxDenials: 3},
		Environment: func(string) string { return "env" },
		OutputDir:   outputDir,
	})
	return p
}

func outputDir(id troupe.SessionID) string { return "/sim-out/" + string(id) }

// crash ends the live process. Sometimes it lingers: everybody holds it for dead, but what
// it had begun still runs and tries to write.
func (w *world) crash(why string) {
	w.res.Crashes++
	w.trace("crash of %s: %s", w.live.owner, why)
	if !w.live.dead && w.rng.IntN(3) == 0 {
		w.live.zombie = true
		w.res.Zombies++
	} else {
		w.live.dead = true
	}
	w.kill(w.live.owner)
}

// takeOver starts a process that goes on with the tree, which may crash in turn.
func (w *world) takeOver() error {
	for range 50 {
		p := w.start()
		w.live = p
		ad, err := w.adoption()
		if err != nil {
			return err
		}
		err = p.hub.Adopt(w.ctx(), ad)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errCrash) {
			return fmt.Errorf("adopt the tree: %w", err)
		}
		p.dead = true
		w.kill(p.owner)
	}
	return errors.New("50 processes in a row crashed while they took over")
}

// stop ends the run of the root or of one of its descendants.
func (w *world) stop() {
	all := w.all()
	s := all[w.rng.IntN(len(all))]
	w.res.Stops++
	w.trace("stop %s", s.ID)
	w.stops++
	err := w.live.hub.Send(w.ctx(), w.root, func(tx store.Tx) ([]troupe.Mail, error) {
		m, live, err := session.StopMail(tx, s.ID, troupe.Stop{Now: true, Tree: true, By: "a person"}, w.now, troupe.MailID(fmt.Sprintf("stop%d", w.stops)))
		if err != nil || !live {
			return nil, err
		}
		return []troupe.Mail{m}, nil
	})
	if err != nil && !errors.Is(err, errCrash) {
		w.fault = fmt.Errorf("stop %s: %w", s.ID, err)
	}
}

// Go implements session.Scheduler.
func (p *process) Go(fn func(context.Context)) {
	p.w.seq++
	p.w.tasks = append(p.w.tasks, &task{proc: p, name: "run", at: p.w.now, seq: p.w.seq, fn: func() { fn(p.w.ctx()) }})
}

// After implements session.Scheduler.
func (p *process) After(d time.Duration, fn func()) func() {
	p.w.seq++
	t := &task{proc: p, name: "timer", at: p.w.now.Add(d), seq: p.w.seq, fn: fn}
	p.w.tasks = append(p.w.tasks, t)
	return func() { t.off = true }
}

// crashStore is the store as one process sees it: any write may be the last thing that it
// does, before or after it took effect.
type crashStore struct {
	store.Store
	p *process
}

func (s *crashStore) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	w := s.p.w
	if s.p.dead {
		return errCrash
	}
	n := w.rng.IntN(400)
	if n == 0 {
		s.die("before a write")
		return errCrash
	}
	err := s.Store.Update(ctx, root, fn)
	if n == 1 {
		s.die("after a write")
		return errCrash
	}
	if pause := w.pause; pause != nil && n < 250 {
		pause()
		w.pause = pause
		if s.p.dead {
			return errCrash
		}
	}
	if err != nil && s.p.zombie && errors.Is(err, troupe.ErrFenced) {
		w.trace("%s is refused: %v", s.p.owner, err)
		s.p.dead = true
	}
	return err
}

func (s *crashStore) die(when string) {
	s.p.w.res.Crashes++
	s.p.w.trace("crash of %s %s", s.p.owner, when)
	s.p.dead = true
	s.p.w.kill(s.p.owner)
}

func (s *crashStore) View(ctx context.Context, fn func(store.Reader) error) error {
	if s.p.dead {
		return errCrash
	}
	return s.Store.View(ctx, fn)
}

func (w *world) trace(format string, args ...any) {
	if w.opt.Trace != nil {
		fmt.Fprintf(w.opt.Trace, "%6d %s\n", w.res.Steps, fmt.Sprintf(format, args...))
	}
}

// byteReader draws bytes from the seed.
type byteReader struct{ r *rand.Rand }

func (b byteReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b.r.Uint32())
	}
	return len(p), nil
}

// Add sums up what two runs were made of.
func (r Result) Add(o Result) Result {
	return Result{
		r.Steps + o.Steps, r.Crashes + o.Crashes, r.Zombies + o.Zombies, r.Stops + o.Stops,
		r.Sessions + o.Sessions, r.Effects + o.Effects, r.Faults + o.Faults,
	}
}
