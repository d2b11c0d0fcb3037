package schedule

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestCollect: what is owed of moments that have passed, to the second.
func TestCollect(t *testing.T) {
	t.Parallel()
	since := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes ...int) (out []time.Time) {
		for _, m := range minutes {
			out = append(out, since.Add(time.Duration(m)*time.Minute))
		}
		return out
	}
	for name, x := range map[string]struct {
		terms  wire.ScheduleTerms
		owed   []time.Time
		goesOn bool
		now    time.Duration
		want   []time.Time
		why    string
	}{
		"a minute late": {terms: wire.ScheduleTerms{CatchUp: wire.CatchUpNone}, now: 11 * time.Minute,
			why: "it passed while no server looked"},
		"less than that": {terms: wire.ScheduleTerms{CatchUp: wire.CatchUpNone}, now: 11*time.Minute - time.Second,
			want: at(10)},
		"the last of many is not late": {terms: wire.ScheduleTerms{CatchUp: wire.CatchUpNone},
			now: 40*time.Minute + time.Second, want: at(40)},
		"one waits to begin": {owed: at(5), now: 10 * time.Minute, want: at(5), why: "one of before waits to begin"},
		"in a queue the first one waits": {terms: wire.ScheduleTerms{Overlap: wire.OverlapQueue}, owed: at(5),
			goesOn: true, now: 10 * time.Minute, want: at(5)},
		"ten wait at the most": {terms: wire.ScheduleTerms{Overlap: wire.OverlapAllow},
			owed: at(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), now: 10 * time.Minute, want: at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)},
	} {
		x.terms.When = minutes(10)
		p := plan{ScheduleTerms: x.terms, Since: since, Next: at(10)[0], Owed: x.owed}
		changed, err := p.collect(since.Add(x.now), x.goesOn)
		why := ""
		if p.Last != nil {
			why = p.Last.Why
		}
		if err != nil || !changed || !slices.Equal(p.Owed, x.want) || why != x.why {
			t.Errorf("%s: %v is owed, and %q; %v", name, p.Owed, why, err)
		}
	}
	once := at(0)[0]
	m, _, err := momentsOf(wire.When{At: once.Format(time.RFC3339)}, since)
	if err != nil {
		t.Fatal(err)
	}
	if out, next := passed(m, once, once.Add(2*longAgo)); len(out) != 1 || !next.IsZero() {
		t.Errorf("one moment that is two years ago: %v, then %v", out, next)
	}
	if got := (interval{since, 10 * time.Minute}).after(since.Add(17 * time.Minute)); !got.Equal(at(20)[0]) {
		t.Errorf("an interval is counted from %v", got)
	}
	var many plan
	for i := range mostMisses + 5 {
		before := many.Misses
		if many.fail(since, "no"); len(before) > 0 && before[0].N != max(1, i-mostMisses+1) {
			t.Errorf("what others read was changed: %+v", before)
		}
	}
	if got := many.Misses; len(got) != mostMisses || got[0].N != 6 || got[mostMisses-1].N != mostMisses+5 ||
		many.Last.Why != "no" {
		t.Errorf("missed: %+v", got)
	}
	p := plan{Paused: "ann", Failed: mostFailed}
	if p.fail(since, "no"); p.Paused != "ann" {
		t.Errorf("what ann has paused is paused by %q", p.Paused)
	}
}

// TestStopsEach: each run that is in the way of another is stopped, and not only the first.
func TestStopsEach(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(10), Overlap: wire.OverlapCancel})
		for range 3 {
			pass(10*time.Minute + time.Second)
			if n := len(w.stopped()); n > 0 {
				w.over()
			}
		}
		if got := len(w.stopped()); got != 2 {
			t.Errorf("%d are stopped", got)
		}
	})
}

// TestLeftGoesOn: a run whose process is gone goes on, and is told of as what is in the way.
func TestLeftGoesOn(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(10)})
		pass(11 * time.Minute)
		root := w.runs()[0].Root
		w.with(func() { w.stands[root] = host.Left })
		pass(10 * time.Minute)
		w.want(1)
		if s := w.one(); s.Last.Root != root || !strings.Contains(s.Last.Why, "goes on") {
			t.Errorf("it is %+v", s.Last)
		}
	})
}

// TestUnreadableRecord: a schedule that cannot be read keeps no other from beginning.
func TestUnreadableRecord(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		r := store.Record{Kind: kind, Key: "a", Value: []byte("{")}
		if _, err := w.s.PutRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(6 * time.Minute)
		w.want(1)
	})
}

// TestOthersHaveTimeEachTime: a process without the folder waits anew at each moment for one that has it; and a claim
// that a dead one has left it gives up also while the last run goes on.
func TestOthersHaveTimeEachTime(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(false).Close()
		pass(500 * time.Millisecond)
		k := w.keep(true)
		pass(200 * time.Millisecond) // the one without looks first
		w.set(wire.ScheduleTerms{When: minutes(5), Overlap: wire.OverlapAllow})
		for n := range 3 {
			w.over()
			pass(5*time.Minute + 2*time.Second)
			w.want(n + 1)
		}
		w.with(func() {
			w.begin = func(ctx context.Context, _ wire.Begin) error { <-ctx.Done(); return ctx.Err() }
		})
		pass(5 * time.Minute)
		w.kill(k)
		pass(2 * othersWithin)
		if why := w.why(); !strings.Contains(why, "no process has the folder") {
			t.Errorf("of what a dead process was about to begin is told %q", why)
		}
	})
}

// TestOneTakesOver: what a dead process was about to begin is begun by one other.
func TestOneTakesOver(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		first := w.keep(true)
		w.begin = func(ctx context.Context, _ wire.Begin) error { <-ctx.Done(); return ctx.Err() }
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(5*time.Minute + time.Second)
		w.kill(first)
		asked := 0
		w.with(func() {
			w.begin = func(context.Context, wire.Begin) error {
				w.with(func() { asked++ })
				<-time.After(5 * time.Second) // virtual
				return nil
			}
		})
		for range 3 {
			defer w.keep(true).Close()
		}
		pass(time.Minute)
		w.want(1)
		if asked != 1 {
			t.Errorf("%d processes were about to begin it", asked)
		}
	})
}

// TestCloseWaits: Close returns when no birth is under way any more. One that takes too long is given up before.
func TestCloseWaits(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		over := 0
		w.begin = func(ctx context.Context, _ wire.Begin) error {
			<-ctx.Done()
			<-time.After(time.Second) // virtual
			w.with(func() { over++ })
			return ctx.Err()
		}
		k := w.keep(true)
		w.set(wire.ScheduleTerms{When: minutes(5)})
		pass(5*time.Minute + bornWithin + 2*time.Second)
		if c := w.one().Claimed; c == nil || !strings.Contains(c.Why, "deadline exceeded") || over != 1 {
			t.Errorf("a birth without an end: %d, %+v", over, c)
		}
		pass(time.Minute) // it is tried again
		k.Close()
		if over != 2 {
			t.Errorf("when it was closed %d births were over", over)
		}
	})
}

// TestFailuresInARow: a run that begins in between has those of before not count; what failed is noted as failed.
func TestFailuresInARow(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5), Overlap: wire.OverlapAllow})
		no := errors.New("no")
		for _, failed := range []error{no, no, nil, no, errors.New("never")} {
			w.with(func() { w.begin = func(context.Context, wire.Begin) error { return failed } })
			pass(5*time.Minute + time.Second)
		}
		if s := w.one(); s.Paused != "" || s.Last.Why != "never" {
			t.Errorf("it is %+v", s)
		}
		if got := w.noted[len(w.noted)-1]; got != "never" {
			t.Errorf("what has failed is noted as %q", got)
		}
	})
}

// TestBeginsWhereLinksLead: a folder that is a link within the server's is begun in by its real name.
func TestBeginsWhereLinksLead(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		real, link := filepath.Join(w.folder, "real"), filepath.Join(w.folder, "link")
		if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, link)); err != nil {
			t.Fatal(err)
		}
		defer w.keep(true).Close()
		w.set(wire.ScheduleTerms{When: minutes(5)})
		if _, err := w.all().change(t.Context(), ann(), "n",
			func(p *plan) error { p.Begin.Cwd = link; return nil }); err != nil {
			t.Fatal(err)
		}
		pass(6 * time.Minute)
		w.want(1)
		if got := w.runs()[0].Cwd; got != real {
			t.Errorf("it begins in %s", got)
		}
	})
}

// TestLimitsOfOthers: a run that met a limit of its own has not used up the day; one that was begun without a limit,
// and goes on, counts with what it has spent.
func TestLimitsOfOthers(t *testing.T) {
	for name, x := range map[string]struct {
		most, want float64
	}{"its own limit": {0.25, 0.75}, "none, and it goes on": {0, 0.75}} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				defer w.keep(true).Close()
				w.set(wire.ScheduleTerms{When: minutes(60), Overlap: wire.OverlapAllow,
					Begin: wire.Begin{MaxUSD: x.most}})
				pass(time.Hour + time.Second)
				if x.most > 0 {
					w.over()
				}
				w.with(func() { w.cause, w.spent[w.begun[0].Root] = troupe.CauseLimit, troupe.Dollars(0.25) })
				terms := w.one().ScheduleTerms
				terms.MaxCostPerDay, terms.Begin.MaxUSD = 1, 0
				if _, err := w.all().Set(t.Context(), ann(), terms); err != nil {
					t.Fatal(err)
				}
				pass(time.Hour + time.Second)
				w.want(2)
				if got := w.runs()[1].MaxUSD; got != x.want {
					t.Errorf("the second may cost %v", got)
				}
			})
		})
	}
}

// TestAdminsAreUsers: what an admin has made begins as theirs, and not once they are removed.
func TestAdminsAreUsers(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.users["root"] = troupe.RightAdmin
		_, err := w.all().Set(t.Context(), troupe.Caller{Name: "root", Right: troupe.RightAdmin},
			wire.ScheduleTerms{Name: "n", When: minutes(5), Begin: wire.Begin{Prompt: "x", Cwd: w.folder}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.keep(true).Close()
		pass(6 * time.Minute)
		w.want(1)
		w.over()
		if by := w.runs()[0].by; by.Right != troupe.RightAdmin {
			t.Errorf("it begins as %+v", by)
		}
		w.with(func() { delete(w.users, "root") })
		pass(5 * time.Minute)
		w.want(1)
	})
}

// TestVersionIsOfTheTerms: a run that begins changes no version, so that who looked before may change the terms; what
// began on another day is not told as of today.
func TestVersionIsOfTheTerms(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		defer w.keep(true).Close()
		s := w.set(wire.ScheduleTerms{When: wire.When{Cron: "0 12 * * *"}})
		pass(13 * time.Hour)
		w.want(1)
		if got := w.one(); got.Version != s.Version || got.RunsToday != 1 {
			t.Errorf("after a run it is %+v", got)
		}
		if pass(12 * time.Hour); w.one().RunsToday != 0 {
			t.Errorf("the day after it is %+v", w.one())
		}
		if _, err := w.all().Set(t.Context(), ann(), s.ScheduleTerms); err != nil {
			t.Errorf("changed upon what was seen before the run: %v", err)
		}
	})
}

// TestPauseTakesBack: a run that was wanted and has not begun is not begun once the schedule is paused; one that waits
// behind another is no failure, whatever was told of the moment before.
func TestPauseTakesBack(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.set(wire.ScheduleTerms{When: minutes(60)})
		if _, err := w.all().change(t.Context(), ann(), "n",
			func(p *plan) error { p.Asked = time.Now(); return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := w.all().Pause(t.Context(), ann(), "n", true); err != nil {
			t.Fatal(err)
		}
		defer w.keep(true).Close()
		pass(time.Minute)
		w.want(0)
		if _, err := w.all().Pause(t.Context(), ann(), "n", false); err != nil {
			t.Fatal(err)
		}
		_, err := w.s.PutRecord(t.Context(), store.Record{Kind: "worker", Key: "p1",
			Value: []byte(`{"folders":["` + w.folder + `"]}`)})
		if err != nil {
			t.Fatal(err)
		}
		pass(2*time.Hour + time.Second) // the second moment is left out
		if w.want(1); w.why() == "" {
			t.Fatal("nothing is told of what was left out")
		}
		terms := w.one().ScheduleTerms
		terms.Overlap = wire.OverlapQueue
		if _, err := w.all().Set(t.Context(), ann(), terms); err != nil {
			t.Fatal(err)
		}
		if s, err := w.all().Run(t.Context(), ann(), "n"); err != nil || s.Queued != 1 {
			t.Errorf("one that waits behind another: %+v, %v", s, err)
		}
	})
}

// changing are records that were changed meanwhile, the first time.
type changing struct {
	*memstore.Store
	n int
}

func (c *changing) DeleteRecord(ctx context.Context, kind, key string, version int64) error {
	if c.n++; c.n == 1 {
		return troupe.ErrChanged
	}
	return c.Store.DeleteRecord(ctx, kind, key, version)
}

// TestRemoveMeanwhile: a schedule that is changed while it is removed is removed.
func TestRemoveMeanwhile(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.set(wire.ScheduleTerms{When: minutes(5)})
		if err := New(&changing{Store: w.s}, w, w.now).Remove(t.Context(), ann(), "n"); err != nil {
			t.Error(err)
		}
	})
}
