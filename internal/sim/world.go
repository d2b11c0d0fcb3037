package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// Options shape a run. Everything else is drawn from the seed.
type Options struct {
	Seed  uint64
	Trace io.Writer // every step, if not nil
	// MaxSteps bounds a run; reaching it is a failure (something goes round in circles).
	MaxSteps int
	// Plant changes what each process is made of. It is there to plant bugs at the seams.
	Plant func(*session.Deps)
}

// world is one run: the store and the disk that outlive processes, the processes, and the
// people who talk to them.
type world struct {
	rng     *rand.Rand
	opt     Options
	climate climate
	store   store.Store
	kill    func(troupe.OwnerID)
	now     time.Time
	root    troupe.SessionID
	res     Result
	fault   error // the first broken promise

	schedule
	owners

	watch    watch
	audience audience
	people   people
	lasting
	// verdicts are what the judge said last about each call.
	verdicts map[string]troupe.Judgement
	autoSaid map[string]troupe.Effect        // what the model of mode auto said, by the question
	sent     map[troupe.SessionID]sentBefore // the last request of each session
	calls    int                             // model calls so far
}

// lasting is what processes have done to the world.
type lasting struct {
	effects map[string]int               // how often each call with effects happened
	runs    map[string]int               // how often each command was run
	grounds map[troupe.SessionID]*ground // folders of sessions, by whom they were made for
	bases   int                          // commits that they began with
	caller  *repository                  // that the folders were made from
	// Files that merges wrote, and those that a log said would be written.
	brought, announced map[string]bool
}

// schedule is what is under way, in all processes.
type schedule struct {
	tasks   []*task
	seq     int
	running *task // what runs now, if it is a task
	idle    []*coroutine
	stalled time.Time // when the machine last went on after it had not kept up
	stopped time.Time // and since when it had not
}

// owners are the processes that matter to the tree.
type owners struct {
	live   *process   // whom the tree belongs to, by the log; it may be dead
	left   *process   // live, if it has let go of the tree since
	coming []*process // those that are about to own the tree
	before []*process // those that owned it; some do not know
	procs  int
	lives  int // how often the tree was begun anew after it had come to rest
}

// askedFor is a reply of a session, and sentFor a request for it.
type (
	askedFor struct {
		session troupe.SessionID
		reply   int
	}
	sentFor struct {
		model string
		body  []byte
	}
)

// sentBefore is the last request of one session.
type sentBefore struct {
	generation int
	body       []byte
}

// Run plays one seed and checks what it leaves.
func Run(opt Options, st store.Store, kill func(troupe.OwnerID)) (Result, error) {
	w := &world{
		rng: rand.New(rand.NewPCG(opt.Seed, 0x7e0)), opt: opt, store: st, kill: kill,
		now:      time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		lasting:  lasting{effects: make(map[string]int), runs: make(map[string]int)},
		verdicts: make(map[string]troupe.Judgement),
		autoSaid: make(map[string]troupe.Effect),
		sent:     make(map[troupe.SessionID]sentBefore),
	}
	w.watch = newWatch(w)
	defer w.close()
	err := w.play()
	if err != nil {
		err = fmt.Errorf("seed %d: %w", opt.Seed, err)
	}
	return w.res, err
}

func (w *world) play() error {
	w.climate = drawClimate(w.rng)
	w.climate.judge = w.one(3)
	if w.one(6) {
		w.climate.mode = troupe.ModeAuto
	}
	switch w.rng.IntN(10) {
	case 0, 1:
		w.climate.steps, w.climate.teams, w.climate.fallback = w.drawFlow(), false, ""
	case 2:
		w.climate.coordinator, w.climate.teams = true, false
	}
	w.climate.begun = w.climate.teams && w.one(3)
	w.trace("%+v", w.climate)
	id, err := troupe.NewRootID(byteReader{w.rng})
	if err != nil {
		return err
	}
	w.root = id
	w.audience = newAudience(w)
	for more := true; more && err == nil; {
		if w.res.Steps++; w.res.Steps > w.opt.MaxSteps {
			return fmt.Errorf("still busy after %d steps", w.opt.MaxSteps)
		}
		more, err = w.step()
		w.audience.look()
		if w.fault != nil {
			return w.fault
		}
	}
	if err == nil {
		err = w.check()
	}
	if err == nil {
		w.audience.rest()
		err = w.fault
	}
	return err
}

// broken notes the first promise that was broken.
func (w *world) broken(format string, args ...any) {
	if w.fault == nil {
		w.fault = fmt.Errorf(format, args...)
	}
}

// one is true once in n times.
func (w *world) one(n int) bool { return w.rng.IntN(n) == 0 }

// step plays one task, or a calamity, or lets somebody speak. It returns false when the tree
// has come to rest and nobody wants anything any more.
func (w *world) step() (bool, error) {
	w.bury()
	if len(w.coming) == 0 && (w.live == nil || w.live.dead || w.live == w.left) {
		if w.live != nil && w.one(3) {
			w.letter()
		}
		return true, w.takeOver()
	}
	if !w.busy() {
		if err := w.rest(); err != nil {
			return false, err
		}
		return w.again()
	}
	switch n := w.rng.IntN(1000); {
	case n < 10 && w.res.Crashes < w.climate.crashes:
		w.crash("kill -9")
	case n < 14 && w.live != nil && w.procs < w.climate.crashes:
		w.res.Zombies++
		w.trace("somebody else takes the tree")
		return true, w.takeOver()
	case n > 995 && w.res.Sleeps < 2 && w.live != nil && !w.live.dead && len(w.coming) == 0 && w.live != w.left:
		return true, w.putAway()
	case n < 14+w.climate.talk, n < w.climate.attend && w.urgent():
		w.speak()
	default:
		w.playTask()
	}
	return true, nil
}

// busy reports whether something is under way that the tree's life depends on.
func (w *world) busy() bool {
	return slices.ContainsFunc(w.tasks, func(t *task) bool {
		return !t.off && !t.proc.dead && (t.proc == w.live || slices.Contains(w.coming, t.proc))
	})
}

// again decides whether a tree that is at rest is left alone: perhaps somebody has another
// word for it, or begins it anew as with --resume. Processes that were given up may still be
// at it; they must not change anything.
func (w *world) again() (bool, error) {
	switch {
	case w.people.left(w) && w.one(2):
		w.speak()
		return true, nil
	case w.lives < 1 && w.one(4):
		w.lives++
		w.trace("resume")
		w.crash("it was closed")
		return true, w.takeOver()
	case w.lives < 2 && w.one(4):
		w.lives++
		return true, w.leave()
	case slices.ContainsFunc(w.tasks, func(t *task) bool { return !t.off && !t.proc.dead }):
		w.playTask()
		return true, nil
	}
	return false, nil
}

// leave has the process that owns the tree let go of it, as nothing is under way. What is said to the
// tree then waits for the process that takes it up.
func (w *world) leave() error {
	w.res.Left++
	w.trace("%s leaves the tree", w.live.owner)
	if err := w.live.hub.Leave(w.expired(), w.root); err != nil {
		return fmt.Errorf("%s cannot leave the tree, and nothing is under way: %w", w.live.owner, err)
	}
	if w.live.hub.Knows(w.root) {
		return fmt.Errorf("%s has left the tree, and hosts it", w.live.owner)
	}
	w.left = w.live
	if w.one(2) {
		w.letter()
	}
	return w.takeOver()
}

// crash ends the process that owns the tree.
func (w *world) crash(why string) {
	if w.live != nil && !w.live.dead {
		w.live.die(why)
	}
}

// takeOver starts a process that goes on with the tree, or that begins it; sometimes two that
// do not know of each other. The one before may be alive: then it is given up from the moment
// at which the tree is taken.
func (w *world) takeOver() error {
	if w.procs > 100 {
		return errors.New("100 processes were started for one tree")
	}
	if _, err := w.session(w.root); errors.Is(err, troupe.ErrNotFound) {
		w.arrive("begin", w.start(), func(p *process) error {
			return p.hub.Begin(w.ctx(), w.birth(p),
				w.newMembers()...)
		})
		return nil
	} else if err != nil {
		return err
	}
	rivals := 1
	if w.one(6) {
		rivals = 2
	}
	for range rivals {
		ad, err := w.adoption()
		if err != nil {
			return err
		}
		p := w.former()
		had := p != nil
		if !had {
			p = w.start()
		}
		if !w.one(4) {
			ad.Settings = p.settings()
		}
		w.arrive("adopt", p, func(p *process) error {
			err := p.hub.Adopt(w.ctx(), ad)
			p.followers.Moved(w.root)
			if errors.Is(err, troupe.ErrAsleep) && !ad.Wake {
				w.res.Refused++
				w.trace("%s was refused a tree that sleeps", p.owner)
				if !had {
					p.exit()
				}
				return nil
			}
			if errors.Is(err, troupe.ErrFenced) {
				if held, lookup := w.leaseOf(w.root); lookup == nil && held == ad.Expect {
					return fmt.Errorf("refused although nobody was faster: %w", err)
				}
				w.trace("%s was not the first", p.owner)
				if !had {
					p.exit()
				}
				return nil
			}
			return err
		})
	}
	return nil
}

// former is sometimes a process that had the tree before, and is still there: it takes the tree
// back, with all that it has left of it.
func (w *world) former() *process {
	if w.left != nil && !w.left.dead && !slices.Contains(w.coming, w.left) && w.one(2) {
		return w.left
	}
	if !w.one(3) {
		return nil
	}
	there := slices.DeleteFunc(slices.Clone(w.before), func(p *process) bool {
		return p.dead || !p.zombie || slices.Contains(w.coming, p)
	})
	if len(there) == 0 {
		return nil
	}
	w.res.Returns++
	return there[w.rng.IntN(len(there))]
}

// arrive has a process do fn, by which it gets the tree.
func (w *world) arrive(name string, p *process, fn func(*process) error) {
	w.coming = append(w.coming, p)
	w.add(&task{proc: p, name: name, at: w.now, fn: func() {
		err := fn(p)
		w.coming = slices.DeleteFunc(w.coming, func(x *process) bool { return x == p })
		if err != nil && !p.dead {
			w.broken("%s of %s: %w", name, p.owner, err)
		}
	}})
}

func (w *world) birth(p *process) fleet.Birth {
	caps := w.climate.caps
	out := fleet.Birth{
		Root: w.root, ID: w.root, Cwd: "/sim", Title: "the job", Caps: &caps, Settings: p.settings(),
		Profile:   w.climate.profile("main"),
		Authority: troupe.Authority{Mode: w.climate.mode, Rules: w.climate.rules, AutoModel: "sim/two"},
		Prompt:    []troupe.Block{troupe.Text("do the job")},
	}
	if w.climate.begun {
		out.Team = &troupe.TeamChanged{Team: &troupe.Team{Name: crew}}
	}
	if w.follows() {
		text, err := document(w.climate.steps)
		if err != nil {
			w.broken("write a workflow: %w", err)
		}
		out.Prompt = []troupe.Block{troupe.Text(text)}
	}
	return out
}

// adoption is how the next process goes on with the tree: sometimes with new words, under
// another model, mode or limit.
func (w *world) adoption() (session.Adoption, error) {
	ad := session.Adoption{Root: w.root, Idle: !w.one(4)}
	var err error
	if ad.Expect, err = w.leaseOf(w.root); err != nil {
		return ad, err
	}
	root, err := w.session(w.root)
	if err != nil {
		return ad, err
	}
	ad.Wake = !root.AsleepAt.IsZero() && !w.one(4)
	if w.one(8) && w.people.left(w) {
		ad.Prompt = []troupe.Block{troupe.Text("and another thing")}
		ad.MailID = troupe.MailID(fmt.Sprintf("adopt:%d", w.procs))
	}
	if w.one(8) {
		ad.Events = append(ad.Events, troupe.AuthorityChanged{Authority: troupe.Authority{Mode: w.climate.mode,
			AutoModel: "sim/two"}})
	}
	if w.one(8) {
		ad.Events = append(ad.Events, troupe.ModelChanged{Model: w.moved(w.root, "sim/two"), Why: "--model"})
	}
	if w.one(8) {
		caps := w.climate.caps
		caps.MaxTokens, caps.MaxCost = 2*caps.MaxTokens, 2*caps.MaxCost
		ad.Caps = &caps
	}
	return ad, nil
}

func (w *world) ctx() context.Context { return context.Background() }

// expired is a context that is over, for asking without waiting.
func (w *world) expired() context.Context {
	ctx, cancel := context.WithCancel(w.ctx())
	cancel()
	return ctx
}

func (w *world) session(id troupe.SessionID) (s troupe.Session, err error) {
	err = w.store.View(w.ctx(), func(r store.Reader) error { s, err = r.Session(id); return err })
	return s, err
}

func (w *world) leaseOf(id troupe.SessionID) (l troupe.Lease, err error) {
	err = w.store.View(w.ctx(), func(r store.Reader) error { l, err = r.Lease(id); return err })
	return l, err
}

func (w *world) trace(format string, args ...any) {
	if w.opt.Trace != nil {
		fmt.Fprintf(w.opt.Trace, "%6d %9s %s\n", w.res.Steps, w.now.Format("04:05.000"), fmt.Sprintf(format, args...))
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
