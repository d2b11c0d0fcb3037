package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

func adminOf(w *world, s *memstore.Store) Admin {
	return Admin{Records: s, Trees: w, Now: time.Now, By: "ann"}
}

// only is how the one that these tests announce is told of.
func only(t *testing.T, a Admin) wire.Worker {
	t.Helper()
	all, err := a.Hosted(t.Context())
	if err != nil || len(all.Workers) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all.Workers[0]
}

func isDrained(h *Host) bool {
	select {
	case <-h.Drained():
		return true
	default:
		return false
	}
}

// TestDrain: a process that is drained takes up nothing and has nothing begun in it; it lets go of what rests, and is
// drained once nothing is at work in it.
func TestDrain(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		a := adminOf(w, s)
		if err := h.Announce(t.Context(), troupe.Owner{ID: "w17", Socket: "/s", PID: 7, Host: "here"}); err != nil {
			t.Fatal(err)
		}
		if err := a.Drain(t.Context(), wire.Drain{Worker: "w2"}); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("one that is none: %v", err)
		}
		w.set(Here)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		if err := a.Drain(t.Context(), wire.Drain{Worker: "w1"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if d := only(t, a).Draining; d == nil || d.By != "ann" || d.Since.IsZero() || !d.Until.IsZero() {
			t.Errorf("it is %+v", d)
		}
		if isDrained(h) {
			t.Error("it ends with a tree at work")
		}
		api := h.API(w, troupe.Caller{})
		_, err := api.Begin(t.Context(), wire.Begin{Cwd: "/src/b", Prompt: "x"})
		if err == nil || !strings.Contains(err.Error(), "takes on nothing any more") {
			t.Errorf("it begins one: %v", err)
		}
		w.set(Rests)
		pass(2 * lookEvery)
		if !isDrained(h) || len(w.gone()) != 1 {
			t.Errorf("with one that rests: %v, let go of are %v", isDrained(h), w.gone())
		}
		w.set(Left)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(5 * lookEvery)
		if got := w.taken(); len(got) > 0 {
			t.Errorf("it takes up %v", got)
		}
		if err := a.Drain(t.Context(), wire.Drain{Worker: "w17", Cancel: true}); err != nil {
			t.Fatal(err)
		}
		pass(2 * lookEvery)
		if got := w.taken(); len(got) != 1 || only(t, a).Draining != nil {
			t.Errorf("after that was taken back it takes up %v", got)
		}
	})
}

// TestDrainWithin: after its time a process is drained whatever is at work.
func TestDrainWithin(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.set(Here)
		err := errors.Join(h.want(t.Context(), tree), h.Announce(t.Context(), troupe.Owner{ID: "w1", Socket: "/s"}),
			adminOf(w, s).Drain(t.Context(), wire.Drain{Worker: "w1", WithinMS: 60_000}))
		if err != nil {
			t.Fatal(err)
		}
		if pass(58 * time.Second); isDrained(h) {
			t.Error("it ends before its time")
		}
		if pass(4 * time.Second); !isDrained(h) {
			t.Error("it does not end")
		}
	})
}

// TestDrainIsOfOne: where two processes begin with what is named, none is drained; and a process whose record is gone
// says again that it is there.
func TestDrainIsOfOne(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		other := hostOf(t, w, s, "/srv")
		err := errors.Join(h.Announce(t.Context(), troupe.Owner{ID: "w1", Socket: "/s"}),
			other.Announce(t.Context(), troupe.Owner{ID: "w2", Socket: "/t"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := adminOf(w, s).Drain(t.Context(), wire.Drain{Worker: "w"}); !errors.Is(err, troupe.ErrAmbiguous) {
			t.Errorf("two that begin so: %v", err)
		}
		r, err := s.Record(t.Context(), kindWorker, "w2")
		if err == nil {
			err = s.DeleteRecord(t.Context(), kindWorker, "w2", r.Version)
		}
		if err != nil {
			t.Fatal(err)
		}
		pass(2 * lookEvery)
		if all, err := adminOf(w, s).Hosted(t.Context()); err != nil || len(all.Workers) != 2 {
			t.Errorf("%+v, %v", all.Workers, err)
		}
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if all, err := adminOf(w, s).Hosted(t.Context()); err != nil || len(all.Workers) != 1 {
			t.Errorf("after it has ended: %+v, %v", all.Workers, err)
		}
	})
}

// TestPause: in a folder that is paused nothing is begun, gone on with or taken up; beside it all is. When the pause is
// over, what waited is taken up.
func TestPause(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		a, api := adminOf(w, s), h.API(w, troupe.Caller{})
		pause := func(p wire.Pause) error { return a.Pause(t.Context(), p) }
		if err := pause(wire.Pause{Where: "/src/a", End: true}); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("the end of none: %v", err)
		}
		for range 2 {
			if err := pause(wire.Pause{Where: "/src/a"}); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range []wire.Begin{{Cwd: "/src/a/below", Prompt: "x"}, {Resume: string(tree)}} {
			if _, err := api.Begin(t.Context(), b); !errors.Is(err, troupe.ErrBlocked) ||
				!strings.Contains(err.Error(), "ann has paused /src/a since") {
				t.Errorf("begun: %v", err)
			}
		}
		if _, err := api.Begin(t.Context(), wire.Begin{Cwd: "/src/abc", Prompt: "x"}); err != nil {
			t.Errorf("beside it: %v", err)
		}
		pass(lookEvery)
		w.set(Left)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(5 * lookEvery)
		all, err := a.Hosted(t.Context())
		if err != nil || len(w.taken()) > 0 || len(all.Paused) != 1 || !slices.ContainsFunc(all.Sessions,
			func(k wire.KeptGoing) bool { return k.ID == tree && k.State == "paused" }) {
			t.Errorf("taken up are %v; %+v, %v", w.taken(), all, err)
		}
		for s, blocked := range map[Standing]bool{Rests: true, Over: true, Asleep: true, Here: false, There: false} {
			w.set(s)
			_, err := api.Send(t.Context(), tree, wire.Message{Text: "x"})
			if cerr := api.Compact(t.Context(), tree, "x"); errors.Is(err, troupe.ErrBlocked) != blocked ||
				errors.Is(cerr, troupe.ErrBlocked) != blocked {
				t.Errorf("words to what is %d: %v, %v", s, err, cerr)
			}
		}
		w.set(Left)
		if err := pause(wire.Pause{Where: "/src/a", End: true}); err != nil {
			t.Fatal(err)
		}
		if pass(2 * lookEvery); len(w.taken()) != 1 {
			t.Error("it is not taken up")
		}
	})
}

// TestHosted: what is told of trees that are kept going, by how they stand.
func TestHosted(t *testing.T) {
	for s, want := range map[Standing]string{Unborn: "begins", Asleep: "over", Over: "over", Here: "at work",
		There: "at work", Rests: "rests", Left: "waits"} {
		if got := stateOf(s, false, false); got != want {
			t.Errorf("%d: %q, want %q", s, got, want)
		}
	}
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.begin = func(wire.Begin) error { return errors.New("the disk is full") }
		w.set(Left)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		told := func() wire.KeptGoing {
			all, err := adminOf(w, s).Hosted(t.Context())
			if err != nil || len(all.Sessions) != 1 {
				t.Fatalf("%+v, %v", all, err)
			}
			return all.Sessions[0]
		}
		pass(lookEvery)
		if k := told(); k.State != "waits" || k.Failed == 0 || k.Why != "the disk is full" || k.Cwd != "/src/a" {
			t.Errorf("one that cannot be taken up: %+v", k)
		}
		pass(24 * time.Hour)
		if k := told(); k.State != "parked" || !strings.Contains(k.Why, "32 times: the disk is full") {
			t.Errorf("one that is parked: %+v", k)
		}
		one := []wire.Session{{Root: tree, Status: troupe.Running}, {Root: tree, Status: troupe.Completed},
			{Root: tree, Status: troupe.Running, Running: true}}
		api := h.API(listing{w, one}, troupe.Caller{})
		list, err := api.List(t.Context(), wire.Listing{})
		if err != nil || !strings.Contains(list[0].Parked, "32 times") || list[1].Parked+list[2].Parked != "" {
			t.Errorf("listed: %+v, %v", list, err)
		}
	})
}

// listing is a world with a list of sessions.
type listing struct {
	*world

	all []wire.Session
}

func (l listing) List(context.Context, wire.Listing) ([]wire.Session, error) { return l.all, nil }

// TestBeginsOnce: what is begun with a key is begun once, also where two ask at once and where the first was not told;
// what another user begins with the same key is another one.
func TestBeginsOnce(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
		begin := func(who string, b wire.Begin) troupe.SessionID {
			t.Helper()
			b.Cwd, b.Prompt = "/src/a", "x"
			begun, err := h.API(w, troupe.Caller{Name: who}).Begin(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			return begun.Root
		}
		key := func(k string) wire.Begin { return wire.Begin{Spoken: wire.Spoken{Once: k}} }
		first := begin("ann", key("k1"))
		if again := begin("ann", key("k1")); again != first || w.births() != 1 {
			t.Errorf("%s, and again %s; %d begun", first, again, w.births())
		}
		if other := begin("bob", key("k1")); other == first || begin("ann", key("k2")) == first || w.births() != 3 {
			t.Errorf("for another %s; %d begun", other, w.births())
		}
		if one := begin("ann", wire.Begin{}); one == begin("ann", wire.Begin{}) || w.births() != 5 {
			t.Errorf("without a key %d were begun", w.births())
		}
		w.begin = func(b wire.Begin) error { // another call was faster
			w.stands[b.Root] = There
			return fmt.Errorf("it is born: %w", troupe.ErrExists)
		}
		if begin("ann", key("k3")) == "" {
			t.Error("what another call began is not told")
		}
		w.begin = func(wire.Begin) error { return fmt.Errorf("the name is taken: %w", troupe.ErrExists) }
		_, err := h.API(w, troupe.Caller{Name: "ann"}).Begin(t.Context(), wire.Begin{Cwd: "/src/a",
			Spoken: wire.Spoken{Once: "k4"}})
		if !errors.Is(err, troupe.ErrExists) {
			t.Errorf("where its name is taken: %v", err)
		}
	})
}

// TestNotBorn: of what could not begin nothing is kept going.
func TestNotBorn(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.begin = func(wire.Begin) error { return errors.New("no such model") }
		_, err := h.API(w, troupe.Caller{}).Begin(t.Context(), wire.Begin{Cwd: "/src/a", Prompt: "x"})
		if all, rerr := s.Records(t.Context(), kind, "", 0); err == nil || rerr != nil || len(all) > 0 {
			t.Errorf("%v; %d records are left, %v", err, len(all), rerr)
		}
	})
}

// TestSlowTakeUp: a tree that is slow to begin keeps no other from being taken up, and is begun once.
func TestSlowTakeUp(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		const other troupe.SessionID = "8k3f00000000"
		w.begin = func(b wire.Begin) error {
			if b.Resume == string(tree) {
				w.mu.Unlock()
				<-time.After(time.Minute) // virtual
				w.mu.Lock()
			}
			return nil
		}
		w.set(Left)
		w.mu.Lock()
		w.stands[other] = Left
		w.mu.Unlock()
		if err := errors.Join(h.want(t.Context(), tree), h.want(t.Context(), other)); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if got := w.taken(); len(got) != 2 {
			t.Errorf("taken up are %v", got)
		}
		pass(time.Hour)
		if got := w.taken(); len(got) != 2 {
			t.Errorf("an hour later, taken up are %v", got)
		}
	})
}

// TestClockWasAhead: what a process wrote whose clock was ahead is waited for as if it were of now.
func TestClockWasAhead(t *testing.T) {
	write := func(t *testing.T, h *Host, v hosted) {
		t.Helper()
		if _, err := h.put(t.Context(), store.Record{Kind: kind, Key: string(tree)}, v); err != nil {
			t.Fatal(err)
		}
	}
	for what, x := range map[string]struct {
		stands Standing
		is     func(w *world, v hosted, there bool) bool
	}{
		"it failed":    {Left, func(w *world, _ hosted, _ bool) bool { return len(w.taken()) == 1 }},
		"it stands":    {Here, func(_ *world, v hosted, there bool) bool { return there && v.Tries+v.Failed == 0 }},
		"it is unborn": {Unborn, func(_ *world, _ hosted, there bool) bool { return !there }},
	} {
		t.Run(what, func(t *testing.T) {
			in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
				ahead := time.Now().Add(1000 * time.Hour)
				w.set(x.stands)
				write(t, h, hosted{Since: ahead, At: ahead, Failed: 1, Why: "x"})
				pass(bornWithin + 5*time.Second)
				if v, there := recordOf(t, s); !x.is(w, v, there) {
					t.Errorf("it is %+v, there: %t, taken up %v", v, there, w.taken())
				}
			})
		})
	}
}

// TestUnreadable: a record that cannot be read keeps nothing else from being told of, taken up and begun, and goes by
// what removes it: the end of its process, the end of a pause, words to its tree.
func TestUnreadable(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		const bad troupe.SessionID = "8k3f00000000"
		a, api := adminOf(w, s), h.API(w, troupe.Caller{})
		if err := h.Announce(t.Context(), troupe.Owner{ID: "own", Socket: "/s", PID: 7, Host: "here"}); err != nil {
			t.Fatal(err)
		}
		own, err := s.Record(t.Context(), kindWorker, "own")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []store.Record{{Kind: kindWorker, Key: "w2"}, {Kind: kindPaused, Key: "/src/p"}, own,
			{Kind: kind, Key: string(bad)}} {
			r.Value = []byte(`{"since": 7`)
			if _, err := s.PutRecord(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		w.mu.Lock()
		w.stands[tree], w.stands[bad] = Left, Left
		w.mu.Unlock()
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(5 * lookEvery)
		if got := w.taken(); !slices.Equal(got, []string{string(tree)}) {
			t.Errorf("taken up are %v", got)
		}
		all, err := a.Hosted(t.Context())
		if err != nil || len(all.Workers) != 2 || len(all.Paused) != 1 || len(all.Sessions) != 2 ||
			all.Workers[0].PID != 7 || !strings.Contains(all.Workers[1].Host, "cannot be read") ||
			!strings.Contains(all.Paused[0].By, "cannot be read") || all.Sessions[1].State != "parked" ||
			!strings.Contains(all.Sessions[1].Why, "cannot be read") {
			t.Errorf("%+v, %v", all, err)
		}
		if _, err := api.Begin(t.Context(), wire.Begin{Cwd: "/src/p", Prompt: "x"}); !errors.Is(err,
			troupe.ErrBlocked) {
			t.Errorf("where the pause cannot be read: %v", err)
		}
		w.mu.Lock()
		w.dead["w2"] = true
		w.mu.Unlock()
		if err := errors.Join(a.Pause(t.Context(), wire.Pause{Where: "/src/p", End: true}),
			h.want(t.Context(), bad)); err != nil {
			t.Fatal(err)
		}
		pass(5 * lookEvery)
		if all, err := a.Hosted(t.Context()); err != nil || len(all.Workers) != 1 || len(all.Paused) != 0 ||
			all.Sessions[1].State != "at work" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestLogDoesNotFold: a tree whose log cannot be read takes nothing down.
func TestLogDoesNotFold(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.set(Left)
		w.fold = errors.New("event 7 is none")
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		all, err := adminOf(w, s).Hosted(t.Context())
		if err != nil || len(all.Sessions) != 1 || all.Sessions[0].Why != "event 7 is none" {
			t.Errorf("%+v, %v", all, err)
		}
		w.fold = troupe.ErrUnavailable
		if _, err := adminOf(w, s).Hosted(t.Context()); err == nil {
			t.Error("a database that does not answer is not told of")
		}
		w.fold = nil
	})
}

// TestDrainedByTwo: of two who drain a process at once both have.
func TestDrainedByTwo(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		if err := h.Announce(t.Context(), troupe.Owner{ID: "w1", Socket: "/s"}); err != nil {
			t.Fatal(err)
		}
		a := adminOf(w, s)
		other := true
		a.Records = between{s, func() {
			if other {
				other = false
				if err := adminOf(w, s).Drain(t.Context(), wire.Drain{Worker: "w1"}); err != nil {
					t.Error(err)
				}
			}
		}}
		if err := a.Drain(t.Context(), wire.Drain{Worker: "w1"}); err != nil {
			t.Error(err)
		}
	})
}

// between has something happen before a record is written.
type between struct {
	*memstore.Store

	happens func()
}

func (b between) PutRecord(ctx context.Context, r store.Record) (int64, error) {
	b.happens()
	return b.Store.PutRecord(ctx, r)
}
