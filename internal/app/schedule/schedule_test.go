package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is trees, users and processes, and what is asked of them.
type world struct {
	t      *testing.T
	s      *memstore.Store
	folder string

	mu     sync.Mutex
	ahead  time.Duration // of the clock
	stands map[troupe.SessionID]host.Standing
	begun  []started
	stops  []troupe.SessionID
	spent  map[troupe.SessionID]troupe.Money
	cause  troupe.Cause
	users  map[string]troupe.Right
	// projects are those of users.
	projects map[string]troupe.Projects
	dead     map[troupe.OwnerID]bool
	drains   bool
	down     bool                                          // the database does not answer
	begin    func(ctx context.Context, b wire.Begin) error // before the birth
	after    func(ctx context.Context) error               // behind it
	stop     error
	n        int
	// What was noted, and why nothing can be.
	noted    []string
	notNoted error
}

// started is a run that was born.
type started struct {
	wire.Begin

	by troupe.Caller
	at time.Time
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

// with changes the world.
func (w *world) with(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// errDown is what a database says that does not answer.
var errDown = &troupe.UserError{Problem: "the database cannot be reached", Err: troupe.ErrUnavailable}

// blinking are records of a database that does not answer now and then.
type blinking struct {
	records
	w *world
}

type records = store.Records

func (b blinking) Records(ctx context.Context, kind, after string, most int) ([]store.Record, error) {
	var down bool
	if b.w.with(func() { down = b.w.down }); down {
		return nil, errDown
	}
	return b.records.Records(ctx, kind, after, most)
}

// announce has a process say that it has the folder.
func (w *world) announce(id string) {
	w.t.Helper()
	_, err := w.s.PutRecord(w.t.Context(), store.Record{Kind: "worker", Key: id,
		Value: []byte(`{"folders":["` + w.folder + `"]}`)})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Held(troupe.SessionID) (host.Standing, bool) { return 0, false }

func (w *world) Stand(_ context.Context, root troupe.SessionID) (host.Stand, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return host.Stand{Standing: w.stands[root], Cwd: w.folder}, nil
}

func (w *world) Alive(_ context.Context, id troupe.OwnerID) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.dead[id], nil
}

func (w *world) Spent(_ context.Context, root troupe.SessionID) (troupe.Money, troupe.Status, troupe.Cause, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stands[root] == host.Here {
		return w.spent[root], troupe.Running, "", nil
	}
	return w.spent[root], troupe.Completed, w.cause, nil
}

func (w *world) Users(context.Context) (out []wire.User, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, right := range w.users {
		out = append(out, wire.User{Name: name, Right: right, Projects: w.projects[name]})
	}
	return out, nil
}

// process is one as its Keeper sees it.
type process struct {
	*world
	api.API

	caller troupe.Caller
	has    bool
}

func (p process) Has(folder string) bool { return p.has && troupe.Within(folder, p.folder) }

func (p process) Drains() (is bool) {
	p.with(func() { is = p.drains })
	return is
}

func (p process) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	now := p.now()
	p.mu.Lock()
	before, after := p.begin, p.after
	p.mu.Unlock()
	if before != nil {
		if err := before(ctx, b); err != nil {
			return wire.Begun{}, err
		}
	}
	p.mu.Lock()
	if p.stands[b.Root] != host.Unborn {
		p.t.Errorf("%s is born twice", b.Root)
	}
	p.stands[b.Root] = host.Here
	p.begun = append(p.begun, started{b, p.caller, now})
	p.mu.Unlock()
	if after != nil {
		return wire.Begun{}, after(ctx)
	}
	return wire.Begun{Root: b.Root}, nil
}

func (p process) Stop(_ context.Context, id troupe.SessionID, s wire.Stop) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.Now || !s.Tree {
		p.t.Errorf("it is stopped by %+v", s)
	}
	p.stops = append(p.stops, id)
	return p.stop
}

// keep begins another process, which has the folder or not.
func (w *world) keep(has bool) *Keeper { return w.keepOn(blinking{w.s, w}, has) }

// keepOn does so on records that do more.
func (w *world) keepOn(records store.Records, has bool) *Keeper {
	w.n++
	p := process{world: w, has: has}
	return Keep(w.t.Context(), Options{Records: records, Trees: w, Users: w, Now: w.now,
		Log:   slog.New(slog.DiscardHandler),
		Owner: troupe.OwnerID(fmt.Sprint("p", w.n)), Host: p, As: func(c troupe.Caller) api.API {
			return process{world: w, caller: c, has: has}
		}, Note: func(_ context.Context, c troupe.Caller, b wire.Begin) (func(context.Context, error), error) {
			w.with(func() { w.noted = append(w.noted, fmt.Sprint(c.Name, " begins ", b.Root)) })
			return func(_ context.Context, err error) {
				w.with(func() { w.noted = append(w.noted, fmt.Sprint(err)) })
			}, w.notNoted
		}})
}

// kill ends a process as if it were killed: nothing of it comes to its end.
func (w *world) kill(k *Keeper) {
	w.mu.Lock()
	w.dead[k.o.Owner] = true
	w.mu.Unlock()
	k.Close()
}

func (w *world) all() *Schedules { return New(w.s, w, w.now) }

// set makes a schedule of ann's, an operator.
func (w *world) set(t wire.ScheduleTerms) wire.Schedule {
	w.t.Helper()
	t.Name = "n"
	t.Begin.Prompt, t.Begin.Cwd = "do it", w.folder
	s, err := w.all().Set(w.t.Context(), ann(), t)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func ann() troupe.Caller { return troupe.Caller{Name: "ann", Right: troupe.RightOperator} }

func (w *world) one() wire.Schedule {
	w.t.Helper()
	s, err := w.all().One(w.t.Context(), "n")
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// why is why nothing began at the last moment.
func (w *world) why() string {
	if l := w.one().Last; l != nil {
		return l.Why
	}
	return ""
}

// over ends all runs.
func (w *world) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for root := range w.stands {
		w.stands[root] = host.Over
	}
}

func (w *world) runs() []started {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.begun)
}

// notes are what was noted.
func (w *world) notes() (all []string) {
	w.with(func() { all = slices.Clone(w.noted) })
	return all
}

func (w *world) stopped() (all []troupe.SessionID) {
	w.with(func() { all = slices.Clone(w.stops) })
	return all
}

// want is how many runs have begun.
func (w *world) want(n int) {
	w.t.Helper()
	if got := len(w.runs()); got != n {
		w.t.Fatalf("%d runs have begun, want %d; it stands at %+v", got, n, w.one())
	}
}

// pass lets time go by, and what is to be done in it.
func pass(d time.Duration) {
	<-time.After(d) // virtual
	synctest.Wait()
}

// in runs a test in virtual time, which begins at midnight of UTC on a Saturday.
func in(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		test(t, &world{t: t, s: memstore.New(memstore.Options{}).Open(), folder: folder,
			stands: map[troupe.SessionID]host.Standing{}, spent: map[troupe.SessionID]troupe.Money{},
			users: map[string]troupe.Right{"ann": troupe.RightOperator}, dead: map[troupe.OwnerID]bool{}})
	})
}

func minutes(n int64) wire.When { return wire.When{EveryMS: n * 60_000} }

// TestBegins: what is due begins within a second, as its user's with the right that they have, once for each moment.
func TestBegins(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		k := w.keep(true)
		defer k.Close()
		s := w.set(wire.ScheduleTerms{When: minutes(30), Begin: wire.Begin{Model: "m", MaxTurns: 3, MaxUSD: 0.5}})
		pass(30*time.Minute - 2*time.Second)
		w.want(0)
		pass(3 * time.Second)
		w.want(1)
		r := w.runs()[0]
		if !reflect.DeepEqual(r.by, troupe.Caller{Name: "ann", Right: troupe.RightOperator,
			Surface: troupe.SurfaceSchedule}) ||
			r.Model != "m" || r.MaxTurns != 3 || r.MaxUSD != 0.5 || r.Prompt != "do it" || r.Cwd != w.folder ||
			r.Root == "" {
			t.Errorf("what began is %+v", r)
		}
		if want := []string{"ann begins " + string(r.Root), "<nil>"}; !slices.Equal(w.noted, want) {
			t.Errorf("noted is %q, want %q", w.noted, want)
		}
		w.over()
		pass(2 * time.Hour)
		w.over()
		if got := w.one(); got.RunsToday != 2 || got.Last.Why == "" || !got.Next.Equal(s.Next.Add(150*time.Minute)) {
			t.Errorf("with a run that goes on it is %+v", got) // the second went on at the third moment
		}
	})
}

// TestOverlap: what is done when a run is due and the last one goes on.
func TestOverlap(t *testing.T) {
	for _, x := range []struct {
		overlap            wire.Overlap
		during, behind     int // runs in half an hour while the first goes on, and in 30 seconds when it is over
		queued, stops      int
		why                string
		leavesOut          bool
		atTheNextMomentToo int
	}{
		{overlap: "", during: 1, behind: 1, why: "goes on", atTheNextMomentToo: 2},
		{overlap: wire.OverlapSkip, during: 1, behind: 1, why: "goes on", atTheNextMomentToo: 2},
		{overlap: wire.OverlapQueue, during: 1, behind: 2, queued: 1, atTheNextMomentToo: 2},
		{overlap: wire.OverlapCancel, during: 1, behind: 2, queued: 1, stops: 1, atTheNextMomentToo: 2},
		{overlap: wire.OverlapAllow, during: 3, behind: 3, atTheNextMomentToo: 4},
	} {
		t.Run(string(x.overlap), func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				k := w.keep(true)
				defer k.Close()
				w.set(wire.ScheduleTerms{When: minutes(10), Overlap: x.overlap})
				pass(35 * time.Minute)
				w.want(x.during)
				if s := w.one(); s.Queued != x.queued || !strings.Contains(s.Last.Why, x.why) ||
					x.why == "" && s.Last.Why != "" {
					t.Errorf("it is %+v", s)
				}
				if got := len(w.stopped()); got != x.stops {
					t.Errorf("%d are stopped", got)
				}
				w.over()
				pass(30 * time.Second)
				w.want(x.behind)
				pass(5 * time.Minute)
				w.want(x.atTheNextMomentToo)
			})
		})
	}
}

// TestCatchesUp: what is done about moments that passed while no process looked. One that passed a few seconds ago is
// no such moment.
func TestCatchesUp(t *testing.T) {
	for _, x := range []struct {
		catchUp wire.CatchUp
		overlap wire.Overlap
		runs    int
	}{
		{"", "", 1}, {wire.CatchUpOne, "", 1}, {wire.CatchUpNone, "", 0},
		{wire.CatchUpAll, wire.OverlapAllow, 10}, {wire.CatchUpAll, wire.OverlapSkip, 10},
	} {
		t.Run(string(x.catchUp+"/")+string(x.overlap), func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.set(wire.ScheduleTerms{When: minutes(10), CatchUp: x.catchUp, Overlap: x.overlap})
				pass(24*time.Hour + 5*time.Minute)
				k := w.keep(true)
				defer func() { k.Close() }()
				for range 30 { // they go one after the other
					pass(2 * time.Second)
					w.over()
				}
				w.want(x.runs)
				if x.runs == 0 && w.why() != "it passed while no server looked" {
					t.Errorf("it is %+v", w.one())
				}
				k.Close()
				pass(4*time.Minute + 5*time.Second) // ten seconds after the next moment
				k = w.keep(true)
				pass(time.Second)
				w.want(x.runs + 1)
			})
		})
	}
}

// TestClocks: where the clock is set back nothing begins twice; where it is put forward, what passed is caught up with.
func TestClocks(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		k := w.keep(true)
		defer k.Close()
		w.set(wire.ScheduleTerms{When: wire.When{Cron: "0 * * * *"}, Overlap: wire.OverlapAllow})
		pass(time.Hour + time.Minute)
		w.want(1)
		w.with(func() { w.ahead = -30 * time.Minute })
		pass(40 * time.Minute) // it is one o'clock again
		w.want(1)
		pass(time.Hour)
		w.want(2)
		w.with(func() { w.ahead = 10000 * time.Hour })
		pass(2 * time.Second)
		w.want(3)
		pass(time.Hour)
		w.want(4)
	})
}

// TestLimits: on a day no more begin than it says, and what they cost together is no more than it says.
func TestLimits(t *testing.T) {
	t.Run("runs", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			k := w.keep(true)
			defer k.Close()
			w.set(wire.ScheduleTerms{When: wire.When{EveryMS: 3_600_000, Zone: "Asia/Tokyo"}, MaxRunsPerDay: 3,
				Overlap: "allow"})
			pass(14 * time.Hour) // in Tokyo it is 23:00
			w.want(3)
			if s := w.one(); s.Last.Why != "3 runs have begun today, and no more may" || s.RunsToday != 3 ||
				s.Paused != "" {
				t.Errorf("it is %+v", s)
			}
			pass(5 * time.Hour)
			w.want(6)
		})
	})
	t.Run("money", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			k := w.keep(true)
			defer k.Close()
			w.set(wire.ScheduleTerms{When: minutes(60), MaxCostPerDay: 1, Begin: wire.Begin{MaxUSD: 0.6},
				Overlap: "allow"})
			next := func(spent float64, goesOn bool) {
				pass(time.Hour + time.Second)
				if !goesOn {
					w.over()
				}
				w.mu.Lock()
				w.spent[w.begun[len(w.begun)-1].Root] = troupe.Dollars(spent)
				w.mu.Unlock()
			}
			next(0.1, true) // it may still cost 0.6
			next(0.2, false)
			pass(time.Hour)
			w.want(3)
			for i, most := range []float64{0.6, 0.4, 0.6} {
				if got := w.runs()[i].MaxUSD; got != most {
					t.Errorf("run %d may cost %v, want %v", i, got, most)
				}
			}
			w.over()
			w.with(func() { w.spent[w.begun[2].Root] = troupe.Dollars(0.7) })
			pass(time.Hour)
			w.want(3)
			if s := w.one(); s.Last.Why != "what has begun today costs $1.00, and no more may" || s.CostToday < 0.99 {
				t.Errorf("it is %+v", s)
			}
			pass(20 * time.Hour)
			if len(w.runs()) < 4 {
				t.Error("on the next day nothing begins")
			}
		})
	})
	// What is left of a day and was not enough is not tried with again.
	t.Run("rest", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			k := w.keep(true)
			defer k.Close()
			w.cause = troupe.CauseLimit
			w.set(wire.ScheduleTerms{When: minutes(60), MaxCostPerDay: 1})
			pass(time.Hour + time.Second)
			w.over()
			w.with(func() { w.spent[w.begun[0].Root] = troupe.Dollars(0.9) })
			pass(4 * time.Hour)
			w.want(1)
		})
	})
}

// TestOneBegins: of several processes one begins what is due.
func TestOneBegins(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		for range 3 {
			k := w.keep(true)
			defer k.Close()
		}
		w.set(wire.ScheduleTerms{When: minutes(1)})
		for i := range 20 {
			pass(time.Minute)
			w.want(i + 1)
			w.over()
		}
	})
}

// TestKills: a process that is killed with a claim in the record, in the middle of a birth, or behind it, leaves one
// run: another process begins it, or finds it born. A living one is left to do so.
func TestKills(t *testing.T) {
	for _, where := range []string{"before the birth", "behind the birth"} {
		t.Run(where, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
				if where == "before the birth" {
					w.begin = func(ctx context.Context, _ wire.Begin) error { return hangs(ctx) }
				} else {
					w.after = hangs
				}
				first := w.keep(true)
				w.set(wire.ScheduleTerms{When: wire.When{At: "2000-01-01 00:01"}})
				pass(time.Minute + time.Second)
				second := w.keep(true)
				defer second.Close()
				pass(5 * time.Second)
				_, p, err := w.all().read(t.Context(), "n")
				if err != nil || p.Claim == nil || p.Claim.Owner != "p1" {
					t.Fatalf("it is claimed by %+v, %v", p.Claim, err)
				}
				w.kill(first)
				w.with(func() { w.begin, w.after = nil, nil })
				pass(2 * time.Second)
				w.want(1)
				if s := w.one(); s.Last.Root != p.Claim.Root || s.Last.Why != "" || s.RunsToday != 1 ||
					!s.Next.IsZero() {
					t.Errorf("it is %+v, and claimed was %s", s.Last, p.Claim.Root)
				}
				pass(time.Hour)
				w.want(1)
			})
		})
	}
}

// TestEnds: a process that ends in the middle of a birth leaves it to the next one, and counts no failure.
func TestEnds(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.begin = func(ctx context.Context, _ wire.Begin) error { <-ctx.Done(); return errors.New("it ends") }
		first := w.keep(true)
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(5*time.Minute + time.Second)
		w.kill(first)
		if s := w.one(); s.Last != nil {
			t.Errorf("it is %+v", s.Last)
		}
		w.with(func() { w.begin = nil })
		defer w.keep(true).Close()
		pass(time.Second)
		w.want(1)
	})
}

// TestMayNotBegin: who may not begin a run any more, or has no folder for it, begins none; the reason stands there, and
// after three in a row the schedule is paused with it, until a person has it go on.
func TestMayNotBegin(t *testing.T) {
	for name, x := range map[string]struct {
		change func(w *world)
		why    string
	}{
		"user removed": {func(w *world) { delete(w.users, "ann") }, "ann is no user of this server any more"},
		"another right": {func(w *world) { w.users["ann"] = troupe.RightViewer },
			`it takes the right "operator", and ann has "viewer"`},
		"folder gone": {func(w *world) { _ = os.Remove(w.folder) }, "the folder is not to be had"},
		"it cannot begin": {func(w *world) {
			w.begin = func(context.Context,
				wire.Begin) error {
				return &troupe.UserError{Problem: "no model"}
			}
		}, "no model"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				defer w.keep(true).Close()
				w.set(wire.ScheduleTerms{When: minutes(5)})
				w.mu.Lock()
				x.change(w)
				w.mu.Unlock()
				pass(11 * time.Minute)
				w.want(0)
				if s := w.one(); !strings.Contains(s.Last.Why, x.why) || s.Paused != "" {
					t.Errorf("it is %+v", s)
				}
				pass(5 * time.Minute)
				s := w.one()
				if !strings.HasPrefix(s.Paused, "Troupe: 3 times in a row") || !strings.Contains(s.Paused, x.why) ||
					!s.Next.IsZero() {
					t.Errorf("it is %+v", s)
				}
				w.with(func() { w.users["ann"], w.begin, w.notNoted = troupe.RightOperator, nil, nil })
				if err := os.MkdirAll(w.folder, 0o700); err != nil {
					t.Fatal(err)
				}
				pass(time.Hour)
				w.want(0)
				if s, err := w.all().Pause(t.Context(), ann(), "n", false); err != nil || s.Paused != "" ||
					s.Next.IsZero() {
					t.Errorf("resumed it is %+v, %v", s, err)
				}
				w.with(func() { x.change(w) })
				pass(5 * time.Minute)
				if s := w.one(); s.Paused != "" || s.Last == nil || s.Last.Why == "" {
					t.Errorf("when it has failed once more it is %+v", s)
				}
				w.with(func() { w.users["ann"], w.begin, w.notNoted = troupe.RightOperator, nil, nil })
				if err := os.MkdirAll(w.folder, 0o700); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Minute)
				w.want(1)
			})
		})
	}
}

// TestNeedsAtTheMoment: what takes the right admin begins for admins alone, also where the schedule was made by one.
func TestNeedsAtTheMoment(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5),
			Begin: wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModeBypass}}})
		pass(6 * time.Minute)
		if w.why() != `it takes the right "admin", and ann has "operator"` {
			t.Errorf("it is %+v", w.one().Last)
		}
		w.mu.Lock()
		w.users["ann"] = troupe.RightAdmin
		w.mu.Unlock()
		pass(5 * time.Minute)
		w.want(1)
	})
}

// TestLinkLeadsOut: a folder that has become a link to elsewhere is none of the server's.
func TestLinkLeadsOut(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(true).Close()
		sub := filepath.Join(w.folder, "sub")
		w.set(wire.ScheduleTerms{When: minutes(5)})
		if _, err := w.all().change(t.Context(), ann(), "n",
			func(p *plan) error { p.Begin.Cwd = sub; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/", sub); err != nil {
			t.Fatal(err)
		}
		pass(6 * time.Minute)
		w.want(0)
		if !strings.Contains(w.why(), "which is in no folder of the server") {
			t.Errorf("it is %+v", w.one().Last)
		}
	})
}

// TestPausedFolder: what begins in a folder that an admin has paused is left out, and is no failure.
func TestPausedFolder(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.begin = func(context.Context, wire.Begin) error {
			return &troupe.UserError{Problem: "bob has paused it", Err: troupe.ErrBlocked}
		}
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(time.Hour)
		if s := w.one(); s.Paused != "" || s.Last.Why != "bob has paused it" {
			t.Errorf("it is %+v", s)
		}
	})
}

// TestFolders: a process that has not the folder leaves what is due to those that have it, however late they come to
// know that the last run is over; where none has it, it says so.
func TestFolders(t *testing.T) {
	t.Run("another one has it", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			defer w.keep(false).Close()
			pass(500 * time.Millisecond)
			k := w.keep(true)
			defer k.Close()
			w.set(wire.ScheduleTerms{When: minutes(5), Overlap: wire.OverlapQueue})
			pass(time.Hour)
			w.over()
			pass(2 * time.Second)
			w.want(2)
		})
	})
	t.Run("none has it", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			defer w.keep(false).Close()
			w.set(wire.ScheduleTerms{When: minutes(5)})
			pass(5*time.Minute + 5*time.Second)
			if w.one().Last != nil {
				t.Error("the others had no time")
			}
			pass(10 * time.Second)
			if w.why() != "no process has the folder "+w.folder {
				t.Errorf("it is %+v", w.one().Last)
			}
		})
	})
	t.Run("its process is gone", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.begin = func(ctx context.Context, _ wire.Begin) error { <-ctx.Done(); return ctx.Err() }
			first := w.keep(true)
			w.set(wire.ScheduleTerms{When: wire.When{At: "2000-01-01 00:01"}})
			defer w.keep(false).Close()
			pass(2 * time.Minute)
			w.kill(first)
			pass(12 * time.Second)
			if w.why() != "no process has the folder "+w.folder {
				t.Errorf("it is %+v", w.one().Last)
			}
		})
	})
}

// TestServedElsewhere: what is due waits for the processes that have its folder, however much they have to do and
// whatever stood in their way; only when none has had it for a while, with a database that answers, is that the end of
// a moment.
func TestServedElsewhere(t *testing.T) {
	const at = "2000-01-01 00:01"
	none := func(w *world) {
		w.t.Helper()
		if s := w.one(); s.Last != nil {
			w.t.Fatalf("it is %+v", s.Last)
		}
	}
	t.Run("backlog", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			defer w.keep(false).Close()
			w.announce("busy")
			w.set(wire.ScheduleTerms{When: wire.When{At: at}})
			pass(time.Hour)
			none(w)
			w.with(func() { w.dead["busy"] = true })
			pass(5 * time.Second)
			none(w)
			pass(10 * time.Second)
			if w.why() != "no process has the folder "+w.folder {
				t.Errorf("it is %+v", w.one().Last)
			}
		})
	})
	t.Run("outage", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			defer w.keep(false).Close()
			w.set(wire.ScheduleTerms{When: wire.When{At: at}})
			pass(time.Minute + 5*time.Second)
			w.with(func() { w.down = true })
			pass(time.Minute)
			w.with(func() { w.down = false }) // those that have the folder come back in a moment
			pass(5 * time.Second)
			none(w)
			defer w.keep(true).Close()
			pass(2 * time.Second)
			w.want(1)
		})
	})
	t.Run("its process is gone", func(t *testing.T) {
		in(t, func(t *testing.T, w *world) {
			w.begin = func(ctx context.Context, _ wire.Begin) error { <-ctx.Done(); return ctx.Err() }
			first := w.keep(true)
			defer w.keep(false).Close()
			w.set(wire.ScheduleTerms{When: wire.When{At: at}})
			w.announce("busy")
			pass(90 * time.Second)
			w.kill(first)
			pass(time.Minute)
			none(w)
		})
	})
}

// TestTriesAgain: what cannot begin and is not refused is tried again, later each time, for as long as its moment is
// worth it, and counts nothing towards the pause.
func TestTriesAgain(t *testing.T) {
	for name, breaks := range map[string]func(w *world, err error){
		"the birth": func(w *world, err error) {
			w.begin = nil
			if err != nil {
				w.begin = func(context.Context, wire.Begin) error { return err }
			}
		},
		"the note": func(w *world, err error) { w.notNoted = err },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				defer w.keep(true).Close()
				w.set(wire.ScheduleTerms{When: minutes(60)})
				w.with(func() { breaks(w, errDown) })
				pass(time.Hour + 10*time.Minute)
				w.want(0)
				if s := w.one(); s.Last != nil || s.Claimed == nil || s.Claimed.By != "p1" ||
					s.Claimed.Why != errDown.Problem {
					t.Errorf("it is %+v, claimed %+v", s, s.Claimed)
				}
				if n := len(w.notes()); n < 10 || n > 50 {
					t.Errorf("it was tried %d times in ten minutes", n/2)
				}
				w.with(func() { breaks(w, nil) })
				pass(time.Minute)
				w.want(1)
				if s := w.one(); s.Last.Root != w.runs()[0].Root || s.Claimed != nil {
					t.Errorf("it is %+v", s)
				}
				w.over()
				w.with(func() { breaks(w, errors.New("reset")) })
				pass(6 * time.Hour)
				if s := w.one(); s.Paused != "" || s.Last.Why != "reset" {
					t.Errorf("it is %+v", s)
				}
				w.with(func() { breaks(w, nil) })
				pass(2 * time.Minute)
				w.want(2)
			})
		})
	}
}

// TestStopsAgain: where the last run cannot be stopped for the next one, and nothing refuses that, it is tried again.
func TestStopsAgain(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.stop = errDown
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5), Overlap: wire.OverlapCancel})
		pass(10*time.Minute + 30*time.Second)
		if s := w.one(); s.Queued != 1 || s.Last.Why != "" || len(w.stopped()) < 3 {
			t.Errorf("it is %+v, and stopped were %v", s, w.stopped())
		}
		w.with(func() { w.stop = nil })
		pass(5 * time.Second)
		n := len(w.stopped())
		if pass(time.Minute); len(w.stopped()) != n {
			t.Error("it is stopped again and again")
		}
		w.over()
		pass(2 * time.Second)
		w.want(2)
	})
}

// TestDrainsGivesBack: what a process has claimed that takes on nothing any more is begun by another one, also where
// that was on its way.
func TestDrainsGivesBack(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.begin = func(ctx context.Context, _ wire.Begin) error {
			<-time.After(3 * time.Second)
			return refusal("nothing begins here any more")
		}
		first := w.keep(true)
		defer first.Close()
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(5*time.Minute + time.Second)
		if c := w.one().Claimed; c == nil || c.By != "p1" || c.Root == "" {
			t.Fatalf("it is claimed by %+v", c)
		}
		w.with(func() { w.drains = true })
		pass(10 * time.Second)
		if c := w.one().Claimed; c == nil || c.By != "" {
			t.Errorf("it is claimed by %+v", c)
		}
		w.with(func() { w.begin, w.drains = nil, false })
		claimed := w.one().Claimed.Root
		first.Close()
		defer w.keep(true).Close()
		pass(2 * time.Second)
		w.want(1)
		if s := w.one(); s.Last.Why != "" || s.Last.Root != claimed || w.runs()[0].Root != claimed {
			t.Errorf("it is %+v", s)
		}
	})
}

// TestRunAtOnce: where several have a run begin at once, and runs may overlap, each has one and is told which; else one
// has, and the others are told why not.
func TestRunAtOnce(t *testing.T) {
	for overlap, runs := range map[wire.Overlap]int{wire.OverlapAllow: 3, wire.OverlapSkip: 1} {
		t.Run(string(overlap), func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.set(wire.ScheduleTerms{When: minutes(60), Overlap: overlap})
				w.announce("p1")
				defer w.keep(true).Close()
				var all sync.WaitGroup
				told := map[troupe.SessionID]bool{}
				refused := 0
				for i := range 3 {
					all.Go(func() {
						<-time.After(time.Duration(i) * time.Second / 3) // all before the first one looks again
						s, err := w.all().Run(t.Context(), ann(), "n")
						w.with(func() {
							if err != nil {
								refused++
								return
							}
							told[s.Last.Root] = true
						})
					})
				}
				all.Wait()
				w.want(runs)
				for _, r := range w.runs() {
					if !told[r.Root] {
						t.Errorf("%s has begun, and that was not told", r.Root)
					}
				}
				if refused != 3-runs || len(told) != runs {
					t.Errorf("%d were told that nothing began, the others of %v", refused, told)
				}
			})
		})
	}
}

// TestDrains: a process that takes on nothing any more begins nothing, and says nothing of what is due.
func TestDrains(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.drains = true
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(6 * time.Minute)
		w.want(0)
		if w.one().Last != nil {
			t.Errorf("it is %+v", w.one())
		}
	})
}

// TestCannotStop: where the last run cannot be stopped for the next one, that is a failure, and is told.
func TestCannotStop(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.stop = &troupe.UserError{Problem: "it hangs"}
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5), Overlap: wire.OverlapCancel})
		pass(11 * time.Minute)
		w.want(1)
		if w.why() != "the last run could not be stopped: it hangs" || w.one().Queued != 0 {
			t.Errorf("it is %+v", w.one())
		}
	})
}

// TestSet: who may make and change a schedule, and that a change says what it was made upon.
func TestSet(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		s := w.set(wire.ScheduleTerms{When: minutes(5)})
		bob := troupe.Caller{Name: "bob", Right: troupe.RightOperator}
		admin := troupe.Caller{Name: "root", Right: troupe.RightAdmin}
		again := func(c troupe.Caller, version int64) error {
			terms := s.ScheduleTerms
			terms.Version, terms.Begin.Prompt = version, "other"
			got, err := w.all().Set(t.Context(), c, terms)
			if err == nil && (got.By != "ann" || got.Version == version || got.Begin.Prompt != "other") {
				t.Errorf("it is %+v", got)
			}
			return err
		}
		if err := again(ann(), 0); !errors.Is(err, troupe.ErrExists) {
			t.Errorf("made twice: %v", err)
		}
		if err := again(bob, s.Version); err == nil || !strings.Contains(err.Error(), `ann has made the schedule "n"`) {
			t.Errorf("changed by another: %v", err)
		}
		if err := again(admin, s.Version); err != nil {
			t.Errorf("changed by an admin: %v", err)
		}
		if err := again(ann(), s.Version); !errors.Is(err, troupe.ErrChanged) ||
			!strings.Contains(err.Error(), "was changed since you looked at it") {
			t.Errorf("changed upon what it was before: %v", err)
		}
		if err := again(ann(), w.one().Version); err != nil {
			t.Errorf("changed by its user: %v", err)
		}
		for _, err := range []error{w.all().Remove(t.Context(), bob, "n"),
			func() error { _, err := w.all().Pause(t.Context(), bob, "n", true); return err }()} {
			if err == nil || !strings.Contains(err.Error(), "ann has made") {
				t.Errorf("by another: %v", err)
			}
		}
		last := w.one().Version
		if err := w.all().Remove(t.Context(), ann(), "n"); err != nil {
			t.Fatal(err)
		}
		if err := again(ann(), last); !errors.Is(err, troupe.ErrChanged) || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("changed when it was removed: %v", err)
		}
		if got := w.set(wire.ScheduleTerms{When: minutes(5)}); got.Version == last {
			t.Errorf("made anew it has the version %d, and had %d", got.Version, last)
		}
		if _, err := w.all().One(t.Context(), "none"); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("none: %v", err)
		}
	})
}

// TestBroken: a record that cannot be read, or says of no moment when it is, is listed by its name as broken beside the
// others, begins nothing, changes in no way, and an admin removes it.
func TestBroken(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		k := w.keep(true)
		defer k.Close()
		w.set(wire.ScheduleTerms{When: minutes(30)})
		for name, value := range map[string]string{"a": `{`, "b": `{"name":"n"}`, "z": `"text"`} {
			if _, err := w.s.PutRecord(t.Context(), store.Record{Kind: kind, Key: name,
				Value: []byte(value)}); err != nil {
				t.Fatal(err)
			}
		}
		all, err := w.all().List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprint(s.Name, " ", s.Broken != ""))
		}
		if want := []string{"a true", "b true", "n false", "z true"}; !slices.Equal(got, want) {
			t.Errorf("listed are %v, want %v", got, want)
		}
		admin := troupe.Caller{Name: "ada", Right: troupe.RightAdmin}
		for _, name := range []string{"a", "b", "z"} {
			if s, err := w.all().One(t.Context(), name); err != nil || s.Name != name || s.Broken == "" {
				t.Errorf("one is %+v, %v", s, err)
			}
			terms := wire.ScheduleTerms{Name: name, When: minutes(30)}
			terms.Version = all[0].Version
			_, set := w.all().Set(t.Context(), admin, terms)
			_, paused := w.all().Pause(t.Context(), admin, name, true)
			_, run := w.all().Run(t.Context(), admin, name)
			for _, err := range []error{set, paused, run, w.all().Remove(t.Context(), ann(), name)} {
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("a change to %s, or the removal by who is no admin: %v", name, err)
				}
			}
			if err := w.all().Remove(t.Context(), admin, name); err != nil {
				t.Error(err)
			}
		}
		if all, err := w.all().List(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("left is %v, %v", all, err)
		}
		pass(31 * time.Minute)
		w.want(1)
	})
}

// TestOwners: what the owner of a home has made is not that of a user who has their name.
func TestOwners(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		you := troupe.You(troupe.SurfaceCommand)
		terms := wire.ScheduleTerms{Name: "n", When: minutes(5), Begin: wire.Begin{Prompt: "x", Cwd: w.folder}}
		if _, err := w.all().Set(t.Context(), you, terms); err != nil {
			t.Fatal(err)
		}
		err := w.all().Remove(t.Context(), troupe.Caller{Name: "you", Right: troupe.RightOperator}, "n")
		if err == nil || !strings.Contains(err.Error(), "you has made") {
			t.Errorf("by a user of that name: %v", err)
		}
		defer w.keep(true).Close()
		pass(6 * time.Minute)
		w.want(1)
		if by := w.runs()[0].by; by.Right != troupe.RightOwner || by.Name != "you" {
			t.Errorf("it begins as %+v", by)
		}
	})
}

// TestRefusedTerms: what cannot hold is refused when it is set.
func TestRefusedTerms(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		for want, change := range map[string]func(*wire.ScheduleTerms){
			"no name of a schedule": func(s *wire.ScheduleTerms) { s.Name = "a b" },
			"no overlap":            func(s *wire.ScheduleTerms) { s.Overlap = "x" },
			"no catch_up":           func(s *wire.ScheduleTerms) { s.CatchUp = "x" },
			"limit of a day":        func(s *wire.ScheduleTerms) { s.MaxCostPerDay = -1 },
			"is no amount":          func(s *wire.ScheduleTerms) { s.MaxRunsPerDay = -1 },
			"the moment has passed": func(s *wire.ScheduleTerms) { s.When = wire.When{At: "1999-12-31 23:59"} },
			"begins new sessions,":  func(s *wire.ScheduleTerms) { s.Begin.Once = "x" },
			"begins new sessions":   func(s *wire.ScheduleTerms) { s.Begin.Resume = "main" },
			"without a name":        func(s *wire.ScheduleTerms) { s.Begin.Name = "x" },
			"does not trust":        func(s *wire.ScheduleTerms) { s.Begin.Trust = true },
			"not in a checkout":     func(s *wire.ScheduleTerms) { s.Begin.Repo = "https://github.com/a/b" },
			"schedule begins in a ": func(s *wire.ScheduleTerms) { s.Begin.Ref = "main" },
			"of the server, not":    func(s *wire.ScheduleTerms) { s.Begin.Push = true },
			"begins in a folder of": func(s *wire.ScheduleTerms) { s.Begin.PullRequest = true },
			"is too large":          func(s *wire.ScheduleTerms) { s.Begin.Prompt = strings.Repeat("x", mostTerms) },
			"too large for":         func(s *wire.ScheduleTerms) { s.Begin.Images = make([]troupe.Image, 1) },
		} {
			terms := wire.ScheduleTerms{Name: "n", When: minutes(5), Begin: wire.Begin{Prompt: "x", Cwd: "/"}}
			change(&terms)
			if _, err := w.all().Set(t.Context(), ann(), terms); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
	})
}

// TestSchedulesAreFew: a user has so many schedules, and there are so many in all; one that is removed makes room, and
// one that is changed takes none.
func TestSchedulesAreFew(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		set := func(by, name string, version int64) (wire.Schedule, error) {
			return w.all().Set(t.Context(), troupe.Caller{Name: by, Right: troupe.RightOperator}, wire.ScheduleTerms{
				Name: name, When: minutes(5), Begin: wire.Begin{Prompt: "x", Cwd: "/"}, Version: version})
		}
		var last wire.Schedule
		for i := range mostInAll {
			var err error
			by, name := fmt.Sprint("u", i/mostOfUser), fmt.Sprint("s", i)
			if last, err = set(by, name, 0); err != nil {
				t.Fatal(i, err)
			}
			if i%mostOfUser == mostOfUser-1 {
				if _, err := set(by, "more", 0); err == nil || !strings.Contains(err.Error(), "50 of a user") {
					t.Fatalf("%s has one more: %v", by, err)
				}
			}
		}
		if _, err := set("other", "more", 0); err == nil || !strings.Contains(err.Error(), "there may be 500") {
			t.Errorf("one more: %v", err)
		}
		if _, err := set(last.By, last.Name, last.Version); err != nil {
			t.Errorf("a change: %v", err)
		}
		owner := troupe.Caller{Name: last.By, Right: troupe.RightOperator}
		if err := w.all().Remove(t.Context(), owner, last.Name); err != nil {
			t.Fatal(err)
		}
		if _, err := set("other", "more", 0); err != nil {
			t.Errorf("in the place of one that was removed: %v", err)
		}
	})
}

// TestListsAreBrief: a list has of each prompt the first line, and of other texts nothing; one schedule is told whole.
func TestListsAreBrief(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		terms := wire.ScheduleTerms{Name: "n", When: minutes(5), Begin: wire.Begin{Cwd: "/", Model: "m",
			Prompt: "\nTriage.\n" + strings.Repeat("x", 5000)}}
		terms.Begin.AppendText, terms.Begin.Allow = strings.Repeat("y", 5000), []string{"Read(x)"}
		if _, err := w.all().Set(t.Context(), ann(), terms); err != nil {
			t.Fatal(err)
		}
		all, err := w.all().List(t.Context())
		if err != nil || len(all) != 1 || all[0].Begin.Prompt != "Triage.…" || all[0].Begin.AppendText != "" ||
			all[0].Begin.Allow != nil || all[0].Begin.Model != "m" {
			t.Errorf("listed is %+v, %v", all, err)
		}
		one, err := w.all().One(t.Context(), "n")
		if err != nil || one.Begin.Prompt != terms.Begin.Prompt || one.Begin.AppendText != terms.Begin.AppendText {
			t.Errorf("one is %+v, %v", one, err)
		}
	})
}

// TestRunNow: a person has a run begin at once, also where it is paused, and is told what came of it; where no process
// begins any, that is said and nothing is left.
func TestRunNow(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.set(wire.ScheduleTerms{When: minutes(60)})
		run := func() (wire.Schedule, error) { return w.all().Run(t.Context(), ann(), "n") }
		if _, err := run(); err == nil || !strings.Contains(err.Error(), "no server is there") {
			t.Errorf("without a server: %v", err)
		}
		defer w.keep(true).Close()
		serve := func(folders string) error {
			_, err := run()
			if err == nil {
				t.Error("it runs where none says so")
			}
			_, err = w.s.PutRecord(t.Context(), store.Record{Kind: "worker", Key: "p" + folders,
				Value: []byte(`{"folders":["` + folders + `"]}`)})
			return err
		}
		if err := serve("/else"); err != nil {
			t.Fatal(err)
		}
		if _, err := run(); err == nil || !strings.Contains(err.Error(), "no process has the folder") {
			t.Errorf("without one that has the folder: %v", err)
		}
		if err := serve(w.folder); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		w.want(0)
		s, err := w.all().Pause(t.Context(), ann(), "n", true)
		if err != nil || s.Paused != "ann" || !s.Next.IsZero() {
			t.Errorf("paused it is %+v, %v", s, err)
		}
		w.with(func() {
			w.begin = func(context.Context,
				wire.Begin) error {
				<-time.After(3 * time.Second)
				return nil
			}
		})
		if s, err := run(); err != nil || s.Last.Root == "" || s.Last.Status != troupe.Running || s.Paused != "ann" {
			t.Errorf("it is %+v, %v", s, err)
		}
		w.want(1)
		if _, err := run(); err == nil || !strings.Contains(err.Error(), "nothing has begun: the last run, ") {
			t.Errorf("while it goes on: %v", err)
		}
		pass(2 * time.Hour)
		w.want(1) // it is paused
		w.over()
		if _, err := w.all().Run(t.Context(), troupe.Caller{Name: "bob", Right: troupe.RightOperator},
			"n"); err == nil {
			t.Error("another one runs it")
		}
		w.with(func() { w.drains = true })
		if _, err := run(); err == nil || !strings.Contains(err.Error(), "no process has begun it within 20s") {
			t.Errorf("where none looks: %v", err)
		}
		w.with(func() { w.drains = false })
		pass(5 * time.Second)
		w.want(2)
	})
}

// TestNewTerms: terms that are changed are begun with anew: what waits is left out, and failures of before do not
// count.
func TestNewTerms(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.set(wire.ScheduleTerms{When: minutes(5), Overlap: wire.OverlapQueue})
		change := func() {
			if _, err := w.all().Set(t.Context(), ann(), w.one().ScheduleTerms); err != nil {
				t.Fatal(err)
			}
		}
		defer w.keep(true).Close()
		no := &troupe.UserError{Problem: "no"}
		w.with(func() { w.begin = func(context.Context, wire.Begin) error { return no } })
		pass(11 * time.Minute)
		change()
		pass(6 * time.Minute)
		if s := w.one(); s.Paused != "" || s.Last.Why != "no" {
			t.Errorf("it is %+v", s)
		}
		w.with(func() { w.begin = nil })
		pass(10 * time.Minute)
		w.want(1)
		if w.one().Queued != 1 {
			t.Errorf("it is %+v", w.one())
		}
		change()
		w.over()
		pass(4 * time.Minute)
		w.want(1)
	})
}

// TestPauses: what is paused begins nothing, and nothing of what waited; a run that a person wants meanwhile is one.
func TestPauses(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5), Overlap: wire.OverlapQueue})
		pass(16 * time.Minute)
		w.want(1)
		if _, err := w.all().Pause(t.Context(), ann(), "n", true); err != nil {
			t.Fatal(err)
		}
		w.over()
		pass(time.Hour)
		w.want(1)
		if _, err := w.all().change(t.Context(), ann(), "n", func(p *plan) error {
			p.Asked, p.Overlap = time.Now(), wire.OverlapAllow
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		w.want(2)
		w.over()
		if _, err := w.all().Pause(t.Context(), ann(), "n", false); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute) // it goes on from now
		w.want(2)
	})
}

// TestPausedByFailures: of what is caught up with nothing is tried any more once that has failed too often.
func TestPausedByFailures(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		tries := 0
		w.begin = func(context.Context, wire.Begin) error { tries++; return &troupe.UserError{Problem: "no"} }
		w.set(wire.ScheduleTerms{When: minutes(10), CatchUp: wire.CatchUpAll})
		pass(24 * time.Hour)
		k := w.keep(true)
		pass(time.Minute)
		k.Close()
		if tries != mostFailed || w.one().Queued != 0 {
			t.Errorf("it was tried %d times, and is %+v", tries, w.one())
		}
	})
}

// TestOwedBehindARun: what is caught up with one by one waits for a run of before.
func TestOwedBehindARun(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		k := w.keep(true)
		w.set(wire.ScheduleTerms{When: minutes(10), CatchUp: wire.CatchUpAll})
		pass(11 * time.Minute)
		k.Close()
		pass(24 * time.Hour)
		defer w.keep(true).Close()
		pass(5 * time.Second)
		w.want(1)
		if w.one().Queued != mostMissed {
			t.Errorf("it is %+v", w.one())
		}
		for range 15 {
			w.over()
			pass(2 * time.Second)
		}
		w.want(1 + mostMissed)
	})
}

// counted counts how often moments are asked for.
type counted struct {
	moments
	n *int
}

func (c counted) after(t time.Time) time.Time { *c.n++; return c.moments.after(t) }

// TestLongAgo: however far a clock is put forward, no more than a year is looked through.
func TestLongAgo(t *testing.T) {
	t.Parallel()
	first, n := time.Unix(0, 0), 0
	m, _, err := momentsOf(wire.When{Cron: "0 * * * *"}, first)
	if err != nil {
		t.Fatal(err)
	}
	out, next := passed(counted{m, &n}, first, first.Add(200*longAgo))
	if len(out) != mostMissed || !next.After(first.Add(200*longAgo)) || n > 366*24+2 {
		t.Errorf("%d moments, then %v, with %d looks", len(out), next, n)
	}
}

// TestBornForAllThat: a birth of which an error came is none that failed, if the run was born.
func TestBornForAllThat(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.after = func(context.Context) error { return errors.New("the answer was lost") }
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(6 * time.Minute)
		w.want(1)
		if s := w.one(); s.Last.Root != w.runs()[0].Root || s.Last.Why != "" {
			t.Errorf("it is %+v", s.Last)
		}
	})
}

// TestMadeAnewMeanwhile: what comes of a birth is not told of another schedule that has the name by then.
func TestMadeAnewMeanwhile(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		var begun []chan error
		w.begin = func(context.Context, wire.Begin) error {
			answer := make(chan error)
			w.with(func() { begun = append(begun, answer) })
			return <-answer
		}
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(6 * time.Minute)
		if err := w.all().Remove(t.Context(), ann(), "n"); err != nil {
			t.Fatal(err)
		}
		w.set(wire.ScheduleTerms{When: minutes(5)})
		defer w.keep(true).Close()
		pass(6 * time.Minute)
		begun[0] <- errors.New("of before")
		pass(2 * time.Second)
		if s := w.one(); s.Last != nil {
			t.Errorf("it is %+v", s.Last)
		}
		begun[1] <- nil
		pass(2 * time.Second)
		w.want(1)
		if s := w.one(); s.Last == nil || s.Last.Why != "" {
			t.Errorf("it is %+v", s.Last)
		}
	})
}

// TestSlowBirths: a run that is slow to be born keeps no other from beginning; no more than eight are born at once, and
// those of which a ninth is wait for their place.
func TestSlowBirths(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		slow, waits := make(chan struct{}), 0
		w.begin = func(_ context.Context, b wire.Begin) error {
			if b.Prompt != "quick" {
				w.with(func() { waits++ })
				<-slow
			}
			return nil
		}
		k := w.keep(true)
		defer k.Close()
		set := func(name, prompt string) {
			terms := wire.ScheduleTerms{Name: name, When: wire.When{At: "2000-01-01 00:01"},
				Begin: wire.Begin{Prompt: prompt, Cwd: w.folder}}
			if _, err := w.all().Set(t.Context(), ann(), terms); err != nil {
				t.Fatal(err)
			}
		}
		for i := range mostBirths - 1 {
			set(fmt.Sprint("a", i), "slow")
		}
		set("b", "quick")
		pass(time.Minute + 2*time.Second)
		if got := w.runs(); len(got) != 1 || got[0].Prompt != "quick" {
			t.Errorf("beside slow ones %d have begun", len(got))
		}
		for i := range 3 {
			terms := fmt.Sprint("c", i)
			if _, err := w.all().Set(t.Context(), ann(), wire.ScheduleTerms{Name: terms,
				When: wire.When{At: "2000-01-01 00:02"}, Begin: wire.Begin{Prompt: "slow",
					Cwd: w.folder}}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		w.with(func() {
			if waits != mostBirths {
				t.Errorf("%d are born at once", waits)
			}
		})
		close(slow)
		pass(3 * time.Second)
		if got := len(w.runs()); got != mostBirths+3 {
			t.Errorf("%d have begun, want %d", got, mostBirths+3)
		}
	})
}

// TestCameOf: who had a run begin is told of theirs, whatever came after it.
func TestCameOf(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		at := w.now()
		p := plan{Last: &wire.ScheduleRun{At: at.Add(time.Second), Root: "b"}, Today: []begun{{ID: "a", Of: at}}}
		if s, err := w.all().cameOf(t.Context(), p, at, wire.Schedule{}); err != nil || s.Last.Root != "a" {
			t.Errorf("%+v, %v", s.Last, err)
		}
		p.Today = nil
		if _, err := w.all().cameOf(t.Context(), p, at, wire.Schedule{}); err == nil {
			t.Error("one that did not begin is told to have begun")
		}
	})
}
