package schedule

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	lookEvery = time.Second
	// othersWithin is how long what is due is left to processes that have its folder, before another one says that none
	// has.
	othersWithin = 10 * time.Second
	// deliveredWithin is the same of what was delivered: its sender was told that it begins.
	deliveredWithin = 10 * time.Minute
	mostBirths      = 8
	// bornWithin is how long a birth may take.
	bornWithin = 2 * time.Minute
	// longestPause is how long after the last try what could not begin is tried again at the latest: after a second
	// first, and twice as long each time. leastTries are made however late it is, and none after a day.
	longestPause = time.Minute
	leastTries   = 5
	worthWithin  = 24 * time.Hour
	// mostFailed is how often in a row none may begin before a schedule is paused.
	mostFailed = 3
)

// Users are the users of a server.
type Users interface {
	Users(ctx context.Context) ([]wire.User, error)
}

// Host says what a process takes on.
type Host interface {
	Has(folder string) bool
	Drains() bool // it takes on nothing any more
}

// Options are what a Keeper needs.
type Options struct {
	Records store.Records
	Trees   Trees
	Users   Users
	Now     func() time.Time
	Log     *slog.Logger
	// Owner is how others know this process.
	Owner troupe.OwnerID
	Host  Host
	// As is the api for a caller: what is begun with it is kept going.
	As func(troupe.Caller) api.API
	// Note notes that a run is about to begin, and end what came of it.
	Note func(ctx context.Context, c troupe.Caller, b wire.Begin) (end func(context.Context, error), err error)
}

// Keeper is this process as one that begins what is due.
type Keeper struct {
	o      Options
	all    plans // of every kind
	cancel context.CancelFunc
	kicked chan struct{} // what has begun may let the next one begin
	ended  chan struct{}

	births sync.WaitGroup
	mu     sync.Mutex
	bears  map[id]bool // whose claims are being carried out

	// Of the goroutine that looks: since when it has seen what is due and not done, the records as they were, and who
	// has which folders as of this look; nil: it has not asked.
	due     map[id]time.Time
	plans   map[int64]plan
	serving [][]string
}

// id is the kind and the name of a plan.
type id [2]string

// Keep begins to begin what is due.
func Keep(ctx context.Context, o Options) *Keeper {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &Keeper{o: o, all: plans{"", o.Records, o.Trees, o.Now}, cancel: cancel, ended: make(chan struct{}),
		kicked: make(chan struct{}, 1), bears: map[id]bool{}, due: map[id]time.Time{}, plans: map[int64]plan{}}
	go k.run(ctx)
	return k
}

// Close ends the looking. What it was about to begin is begun by another process, or by the next one.
func (k *Keeper) Close() {
	k.cancel()
	<-k.ended
	k.births.Wait()
}

func (k *Keeper) run(ctx context.Context) {
	defer close(k.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.o.Log.Warn("look at what is to begin by itself", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-k.kicked:
		}
	}
}

// look looks at every record once. What is wrong with one keeps no other from being begun.
func (k *Keeper) look(ctx context.Context) error {
	tend := k.tend
	if k.o.Host.Drains() {
		clear(k.due)
		tend = k.giveBack
	}
	k.serving = nil
	all, err := k.o.Records.Records(ctx, kind, "", 0)
	if err != nil {
		clear(k.due) // the others have had no time either
		return err
	}
	hooks, err := k.o.Records.Records(ctx, kindHook, "", 0)
	if err != nil {
		clear(k.due)
		return err
	}
	all = append(all, hooks...)
	plans := make(map[int64]plan, len(all))
	for _, r := range all {
		p, known := k.plans[r.Version]
		if !known {
			if p, err = planOf(r); err != nil {
				k.o.Log.Warn("read what begins by itself", "err", err)
				continue
			}
		}
		plans[r.Version] = p
		if !p.isDue(k.o.Now()) || k.isBearing(id{r.Kind, r.Key}) {
			delete(k.due, id{r.Kind, r.Key})
			continue
		}
		// Where another process or a person was faster, the next look sees what they wrote.
		if err := tend(ctx, r, p); err != nil && ctx.Err() == nil && !errors.Is(err, troupe.ErrChanged) {
			delete(k.due, id{r.Kind, r.Key})
			k.o.Log.Warn("begin what is due", r.Kind, r.Key, "err", err)
		}
	}
	k.plans = plans
	return nil
}

// tend does what is due. A plan is this look's own: what it shares with the one that is kept is never changed in place.
func (k *Keeper) tend(ctx context.Context, r store.Record, p plan) error {
	goesOn, err := k.goesOn(ctx, p.Latest)
	if err != nil {
		return err
	}
	has := k.o.Host.Has(p.Begin.Cwd)
	waits := goesOn && p.Claim == nil && p.Overlap != wire.OverlapAllow
	if !has && !waits {
		if waits, err = k.isServed(ctx, p.Begin.Cwd); err != nil {
			return err
		}
	}
	if !has && !k.othersHadTime(p, waits) {
		return nil
	}
	if p.Claim != nil {
		return k.takeOver(ctx, r, p, has)
	}
	changed, err := p.collect(k.o.Now().UTC(), goesOn)
	if err != nil {
		return err
	}
	switch {
	case !p.waits():
	case !goesOn || p.Overlap == wire.OverlapAllow:
		return k.claim(ctx, r, p, has)
	case p.Overlap == wire.OverlapCancel && !p.Stopped && len(p.Owed) > 0: // no run is stopped for what was delivered
		if changed { // what waits is written before anything is stopped for it
			if err := k.all.write(ctx, &r, p); err != nil {
				return err
			}
		}
		p.Stopped, changed = true, true
		err = k.stop(ctx, p)
		if err != nil && !isRefusal(err) {
			return err // the next look tries it again
		}
		if err != nil {
			p.fail(p.take().At, "the last run could not be stopped: "+reason(err))
			p.Owed = nil
		}
	}
	if !changed {
		return nil
	}
	return k.all.write(ctx, &r, p)
}

// othersHadTime reports whether processes that have a folder have had the time to begin what is due there. waits: it is
// not to begin yet.
func (k *Keeper) othersHadTime(p plan, waits bool) bool {
	at, within := p.id(), othersWithin
	if p.Hook != nil {
		within = deliveredWithin
	}
	if waits {
		delete(k.due, at)
		return false
	}
	if _, known := k.due[at]; !known {
		k.due[at] = time.Now()
	}
	return time.Since(k.due[at]) >= within
}

func (p *plan) id() id {
	if p.Hook != nil {
		return id{kindHook, p.Name}
	}
	return id{kind, p.Name}
}

// isServed reports whether a living process has a folder and takes on what works there.
func (k *Keeper) isServed(ctx context.Context, folder string) (is bool, err error) {
	if k.serving == nil {
		k.serving, err = host.Serving(ctx, k.o.Records, k.o.Trees)
	}
	return slices.ContainsFunc(k.serving, func(f []string) bool { return troupe.WithinAny(folder, f) }), err
}

// giveBack leaves what this process has claimed, and is not about to begin, to whoever has the folder.
func (k *Keeper) giveBack(ctx context.Context, r store.Record, p plan) error {
	if p.Claim == nil || p.Claim.Owner != k.o.Owner {
		return nil
	}
	c := *p.Claim
	c.Owner = ""
	p.Claim = &c
	return k.all.write(ctx, &r, p)
}

// stop has the last run stop, for the one that waits.
func (k *Keeper) stop(ctx context.Context, p plan) error {
	c, err := mayAct(ctx, k.o.Users, p)
	if err != nil {
		return err
	}
	return k.o.As(c).Stop(ctx, p.Latest, wire.Stop{Now: true, Tree: true})
}

// goesOn reports whether a run is not over.
func (k *Keeper) goesOn(ctx context.Context, root troupe.SessionID) (bool, error) {
	if root == "" {
		return false, nil
	}
	s, err := k.o.Trees.Stand(ctx, root)
	return s.Standing == host.Here || s.Standing == host.There || s.Standing == host.Left, err
}

// claim takes the first of what is owed, unless something is against it, and begins its run.
func (k *Keeper) claim(ctx context.Context, r store.Record, p plan, has bool) error {
	first := p.take()
	if first.Delivery != "" {
		is, err := waits(ctx, k.o.Records, first.Delivery)
		if err != nil || !is {
			return errors.Join(err, k.all.write(ctx, &r, p))
		}
	}
	b, why, err := k.all.room(ctx, &p)
	if err != nil {
		return err
	}
	refuse := func(why string) error {
		if err := cameOf(ctx, k.o.Records, first.Delivery, "", why); err != nil {
			return err
		}
		return k.all.write(ctx, &r, p)
	}
	if !has {
		p.fail(first.At, "no process has the folder "+p.Begin.Cwd)
		return refuse(p.Last.Why)
	}
	if why != "" {
		p.miss(wire.ScheduleRun{At: first.At, Why: why})
		return refuse(why)
	}
	if b.ID = first.Root; b.ID == "" {
		if b.ID, err = troupe.NewRootID(rand.Reader); err != nil {
			return err
		}
	}
	p.Claim = &claim{Root: b.ID, At: first.At, Owner: k.o.Owner, Delivery: first.Delivery, begun: b}
	if err := k.all.write(ctx, &r, p); err != nil {
		return err
	}
	k.beside(ctx, p)
	return nil
}

// beside carries a claim out beside the looking. For one that finds no place a later look does.
func (k *Keeper) beside(ctx context.Context, p plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.bears) >= mostBirths {
		return
	}
	k.bears[p.id()] = true
	k.births.Go(func() {
		if err := k.carryOut(ctx, p); err != nil && ctx.Err() == nil {
			k.o.Log.Warn("begin what is due", p.id()[0], p.Name, "err", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.bears, p.id())
		select {
		case k.kicked <- struct{}{}:
		default:
		}
	})
}

func (k *Keeper) isBearing(at id) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bears[at]
}

// room says what a run may cost, or why none may begin today.
func (s plans) room(ctx context.Context, p *plan) (b begun, why string, err error) {
	_, zone, err := p.moments()
	if err != nil {
		return b, "", err
	}
	if day := dayOf(s.now(), zone); p.Day != day {
		p.Day, p.Today = day, nil
	}
	b.Most = troupe.Dollars(p.Begin.MaxUSD)
	if most := p.MaxRunsPerDay; most > 0 && len(p.Today) >= most {
		return b, fmt.Sprintf("%d runs have begun today, and no more may", most), nil
	}
	most := troupe.Dollars(p.MaxCostPerDay)
	if most == 0 {
		return b, "", nil
	}
	var sum troupe.Money
	for _, x := range p.Today {
		spent, status, cause, err := s.trees.Spent(ctx, x.ID)
		switch {
		case err != nil:
			return b, "", err
		case x.Rest && cause == troupe.CauseLimit:
			spent = most // it was given all that was left, and it was not enough
		case status.Live():
			spent = max(spent, x.Most)
		}
		sum += spent
	}
	if sum >= most {
		return b, fmt.Sprintf("what has begun today costs %v, and no more may", most), nil
	}
	if left := most - sum; b.Most == 0 || b.Most > left {
		b.Most, b.Rest = left, true
	}
	return b, "", nil
}

// takeOver carries out what was claimed and is not known to have been begun.
func (k *Keeper) takeOver(ctx context.Context, r store.Record, p plan, has bool) error {
	c := *p.Claim
	if c.pauses(k.o.Now()) {
		return nil
	}
	if c.Owner != k.o.Owner {
		if c.Owner != "" { // else it was given back
			if alive, err := k.o.Trees.Alive(ctx, c.Owner); err != nil || alive {
				return err
			}
		}
		c.Owner = k.o.Owner
		p.Claim = &c
		if err := k.all.write(ctx, &r, p); err != nil {
			return err
		}
	}
	if !has {
		return k.settle(ctx, p, c, refusal("no process has the folder "+p.Begin.Cwd))
	}
	k.beside(ctx, p)
	return nil
}

// carryOut begins what is claimed, unless it was born.
func (k *Keeper) carryOut(ctx context.Context, p plan) error {
	born := func() (bool, error) {
		s, err := k.o.Trees.Stand(ctx, p.Claim.Root)
		return s.Standing != host.Unborn, err
	}
	is, err := born()
	if err != nil {
		return err
	}
	var failed error
	if !is {
		if failed = k.begin(ctx, p); failed != nil { // it may have been born for all that
			if is, err = born(); err != nil {
				return err
			} else if is {
				failed = nil
			}
		}
	}
	if failed != nil && k.o.Host.Drains() {
		return nil // it is given back
	}
	// Where this process ends, nothing can be written any more: who comes next begins it.
	return k.settle(ctx, p, *p.Claim, failed)
}

// settle writes what came of a claim, beside what was changed meanwhile. What came of a delivery stands in its record
// first: where this process ends between the two, the claim is carried out again, and finds what was born.
func (k *Keeper) settle(ctx context.Context, of plan, c claim, failed error) error {
	root, why := c.Root, ""
	if failed != nil {
		root, why = "", reason(failed)
	}
	again := failed != nil && !isRefusal(failed) && of.isWorth(c, k.o.Now())
	if !again {
		if err := cameOf(ctx, k.o.Records, c.Delivery, root, why); err != nil {
			return err
		}
	}
	all := k.all
	all.kind = of.id()[0]
	for {
		r, p, err := all.read(ctx, of.Name)
		if err != nil {
			if errors.Is(err, troupe.ErrNotFound) {
				return nil
			}
			return err
		}
		if p.Claim == nil || p.Claim.Root != c.Root {
			return nil
		}
		was := *p.Claim
		p.Claim = nil
		if failed != nil && !again && c.Delivery != "" {
			anew, err := waits(ctx, k.o.Records, c.Delivery)
			if err != nil {
				return err
			}
			if anew { // it was delivered again meanwhile, and its sender was told that it begins
				p.Arrived = append(slices.Clone(p.Arrived), arrival{At: c.At, Delivery: c.Delivery, Root: c.Root})
			}
		}
		switch {
		case again:
			was.Tries, was.Tried, was.Why = was.Tries+1, k.o.Now().UTC(), why
			p.Claim = &was
		case errors.Is(failed, troupe.ErrBlocked), // an admin has paused the folder
			failed != nil && !isRefusal(failed):
			p.miss(wire.ScheduleRun{At: c.At, Why: why})
		case failed != nil:
			p.fail(c.At, why)
		default:
			p.Latest, p.Failed, p.Last = c.Root, 0, &wire.ScheduleRun{At: c.At, Root: c.Root}
			c.Of = c.At
			p.Today = append(p.Today, c.begun)
		}
		if err := k.all.write(ctx, &r, p); !errors.Is(err, troupe.ErrChanged) {
			return err
		}
	}
}

// refusal is why a run may not begin, or cannot with its terms.
type refusal string

func (r refusal) Error() string { return string(r) }

// isRefusal reports whether an error says that a run may not or cannot be: another try would say the same.
func isRefusal(err error) bool {
	for _, passes := range []error{troupe.ErrUnavailable, api.ErrUnreachable, api.ErrLost} {
		if errors.Is(err, passes) {
			return false
		}
	}
	return errors.As(err, new(*troupe.UserError)) || errors.As(err, new(refusal))
}

// reason is an error on one line.
func reason(err error) string {
	if user, ok := errors.AsType[*troupe.UserError](err); ok {
		return user.Problem
	}
	return err.Error()
}

// begin begins a run as the user of its schedule may begin one now.
func (k *Keeper) begin(ctx context.Context, p plan) error {
	caller, err := mayAct(ctx, k.o.Users, p)
	if err != nil {
		return err
	}
	b := p.Begin
	if p.Hook != nil {
		var d delivery
		if _, d, err = deliveryOf(ctx, k.o.Records, p.Claim.Delivery); err != nil {
			return err
		}
		b.Prompt, b.Typed = d.Prompt, &d.Typed
	}
	real, err := filepath.EvalSymlinks(b.Cwd)
	if err != nil {
		return refusal("the folder is not to be had: " + err.Error())
	}
	if !k.o.Host.Has(real) {
		return refusal(fmt.Sprintf("%s leads to %s, which is in no folder of the server", b.Cwd, real))
	}
	if real != b.Cwd {
		p.Begin.Cwd = real
		if caller, err = mayAct(ctx, k.o.Users, p); err != nil { // there they may have less
			return err
		}
	}
	b.Root, b.Cwd, b.MaxUSD = p.Claim.Root, real, p.Claim.Most.Dollars()
	ctx, cancel := context.WithTimeout(ctx, bornWithin)
	defer cancel()
	end, err := k.o.Note(ctx, caller, b)
	if err == nil {
		_, err = k.o.As(caller).Begin(ctx, b)
		end(ctx, err)
	}
	return err
}

// mayAct is the user of a schedule, with the right that they have now in its folder, if that is enough for what it
// begins.
func mayAct(ctx context.Context, users Users, p plan) (troupe.Caller, error) {
	c := troupe.Caller{Name: p.By, Right: troupe.RightOwner, Surface: troupe.SurfaceSchedule}
	if p.Hook != nil {
		c.Surface = troupe.SurfaceWebhook
	}
	if p.Owner {
		return c, nil
	}
	all, err := users.Users(ctx)
	if err != nil {
		return c, err
	}
	i := slices.IndexFunc(all, func(u wire.User) bool { return u.Name == p.By })
	if i < 0 {
		return c, refusal(p.By + " is no user of this server any more")
	}
	c.Right, c.Projects = all[i].Right, all[i].Projects
	c = c.In(p.Begin.Cwd)
	for _, needs := range []troupe.Right{troupe.RightOperator, p.Begin.Needs().Right} {
		if needs != "" && !c.Right.Covers(needs) {
			return c, refusal(fmt.Sprintf("it takes the right %q, and %s has %q", needs, p.By,
				cmp.Or(c.Right, troupe.RightNone)))
		}
	}
	return c, nil
}
