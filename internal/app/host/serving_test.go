package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestWantedMeanwhile: a tree that is wanted while a look at it finds it over is not forgotten.
func TestWantedMeanwhile(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.set(Over)
		once := true
		w.looked = func() {
			if once {
				once = false
				w.set(Left)
				if err := h.want(t.Context(), tree); err != nil {
					t.Error(err)
				}
			}
		}
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(3 * lookEvery)
		if got := w.taken(); len(got) != 1 {
			t.Errorf("it was taken up %d times", len(got))
		}
	})
}

// TestBothLook: of two processes that have both seen that a tree is left, one takes it up.
func TestBothLook(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.set(Left)
		arrived, both := 0, make(chan struct{})
		w.looked = func() {
			w.mu.Lock()
			if arrived++; arrived == 2 {
				close(both)
			}
			w.mu.Unlock()
			<-both
		}
		other := hostOf(t, w, s, "/src")
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(3 * lookEvery)
		if got := w.taken(); arrived < 2 || len(got) != 1 {
			t.Errorf("%d have looked, and it was taken up %d times", arrived, len(got))
		}
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestServing: what is said to a tree that no process has is told, and has one take it up; what was not told has none.
func TestServing(t *testing.T) {
	for name, x := range map[string]struct {
		say  func(t *testing.T, s serving) error
		told string
	}{
		"compact": {func(t *testing.T, s serving) error { return s.Compact(t.Context(), tree, "hint") },
			"compact 7k3f00000000 hint"},
		"answer": {func(t *testing.T, s serving) error {
			return s.Answer(t.Context(), "9m2", wire.Answer{Allow: true})
		}, "answer whole 9m2 true"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
				a := serving{w, h, troupe.Caller{}}
				w.set(Over)
				w.fails = errors.New("no")
				if err := x.say(t, a); !errors.Is(err, w.fails) {
					t.Errorf("it fails with %v", err)
				}
				if _, there := recordOf(t, s); there {
					t.Error("what was not told has it wanted")
				}
				w.questions()
				w.fails = nil
				began := time.Now()
				if err := x.say(t, a); err != nil {
					t.Fatal(err)
				}
				if got := w.taken(); len(got) != 1 || time.Since(began) > lookEvery {
					t.Errorf("after %v it was taken up %d times", time.Since(began), len(got))
				}
				if got := w.questions(); got != x.told {
					t.Errorf("it was told %q", got)
				}
			})
		})
	}
}

// TestStopIsKept: a stop of a tree that is kept going waits for the process that takes it up; that of another does not.
func TestStopIsKept(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		a := h.API(w, troupe.Caller{})
		w.set(There)
		for _, kept := range []bool{false, true} {
			if err := a.Stop(t.Context(), tree, wire.Stop{Now: true, Kept: !kept}); err != nil {
				t.Fatal(err)
			}
			if got, want := w.questions(), fmt.Sprintf("stop %s now true kept %t", tree, kept); got != want {
				t.Errorf("it was asked to %q, want %q", got, want)
			}
			if err := h.want(t.Context(), tree); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestResumes: a tree goes on where its folder is, whoever asks from where, and is kept going from then on.
func TestResumes(t *testing.T) {
	for name, x := range map[string]struct {
		b    wire.Begin
		find string
	}{
		"resume":   {wire.Begin{Resume: "job", Cwd: "/far", Prompt: "x"}, "find job from /far"},
		"continue": {wire.Begin{Continue: true, Cwd: "/far", Prompt: "x"}, "find main from /far"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
				w.set(Over)
				a := h.API(w, troupe.Caller{})
				w.begin = func(wire.Begin) error { return errors.New("no") }
				if _, err := a.Begin(t.Context(), x.b); err == nil {
					t.Error("it goes on")
				}
				if _, there := recordOf(t, s); there {
					t.Error("what does not go on is wanted")
				}
				w.begin = nil
				w.questions()
				begun, err := a.Begin(t.Context(), x.b)
				if err != nil || begun.Root != tree || w.questions() != x.find {
					t.Errorf("%+v, %v", begun, err)
				}
				if b := w.begun[1]; b.Resume != string(tree) || b.Continue || b.Root != "" || b.Left {
					t.Errorf("it is begun with %+v", b)
				}
				if _, there := recordOf(t, s); !there || len(w.dialed) > 0 {
					t.Errorf("it is wanted: %t; called were %+v", there, w.dialed)
				}
				// Its folder is another's.
				w.cwd = "/other/a"
				x.b.Cwd = "/src"
				if _, err := a.Begin(t.Context(), x.b); err == nil || !strings.Contains(err.Error(),
					"no worker has the folder /other/a") {
					t.Errorf("it goes on in another folder: %v", err)
				}
			})
		})
	}
}

// TestOneIsBroken: what is wrong with one tree keeps no other from going on.
func TestOneIsBroken(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		if _, err := s.PutRecord(t.Context(), store.Record{Kind: kind, Key: "000000000000",
			Value: []byte("{")}); err != nil {
			t.Fatal(err)
		}
		w.set(Left)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(2 * lookEvery)
		if got := w.taken(); len(got) != 1 {
			t.Errorf("it was taken up %d times", len(got))
		}
	})
}

// TestIsNotLeft: a tree that rests and is not let go of stays wanted, and is asked about again.
func TestIsNotLeft(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.stays = true
		w.set(Rests)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(restsAfter + 2*lookEvery)
		if _, there := recordOf(t, s); !there {
			t.Error("it is forgotten, and nobody has let it go")
		}
		w.mu.Lock()
		w.stays = false
		w.mu.Unlock()
		pass(2 * lookEvery)
		if _, there := recordOf(t, s); there || len(w.gone()) != 1 {
			t.Errorf("it is let go of %d times, and wanted: %t", len(w.gone()), there)
		}
	})
}

// TestNothingIsKept: of a tree whose record another process has removed nothing is kept in memory.
func TestNothingIsKept(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.set(Rests)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(2 * lookEvery)
		kept := func() int {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.resting)
		}
		if kept() != 1 {
			t.Fatalf("%d trees rest", kept())
		}
		r, err := s.Record(t.Context(), kind, string(tree))
		if err == nil {
			err = s.DeleteRecord(t.Context(), kind, r.Key, r.Version)
		}
		if err != nil {
			t.Fatal(err)
		}
		pass(2 * lookEvery)
		if kept() != 0 {
			t.Errorf("%d trees rest", kept())
		}
	})
}

// TestManyWorkers: each worker that has a folder gets of what begins there, and none that has not. It is called in the
// name of who asks, and hung up on.
func TestManyWorkers(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		folders := map[string]string{"/a": "/lab", "/b": "/lab/deep", "/c": "/other", "/d": "/labelse",
			"/e": "/deeper"}
		var workers []*Host
		for socket, folder := range folders {
			k := hostOf(t, w, s, folder)
			if err := k.Announce(t.Context(), troupe.Owner{ID: troupe.OwnerID(socket), Socket: socket}); err != nil {
				t.Fatal(err)
			}
			workers = append(workers, k)
		}
		ada := troupe.Caller{Name: "ada", Right: troupe.RightOperator, Surface: troupe.SurfaceServer}
		a := h.API(w, ada)
		const begun = 64 // that one of two gets nothing happens once in 10^19
		for range begun {
			if _, err := a.Begin(t.Context(), wire.Begin{Cwd: "/lab/deep/er", Prompt: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string]int{}
		for _, d := range w.dialed {
			got[d.socket]++
			if !reflect.DeepEqual(d.caller, ada) || !d.closed {
				t.Fatalf("called was %+v", d)
			}
		}
		if len(w.dialed) != begun || got["/a"] == 0 || got["/b"] == 0 || got["/a"]+got["/b"] != begun {
			t.Errorf("called were %v", got)
		}
		// Each record goes with its worker.
		for _, k := range workers {
			if err := k.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if all, err := s.Records(t.Context(), kindWorker, "", 0); err != nil || len(all) > 0 {
			t.Errorf("of workers that have ended there are %d records, %v", len(all), err)
		}
	})
}

// TestCloseWaits: what a Host is at has come to its end when it is closed.
func TestCloseWaits(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.set(There)
		w.looked = func() { <-time.After(10 * time.Second) }
		k := hostOf(t, w, s, "/work")
		if err := k.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(lookEvery)
		began := time.Now()
		if err := k.Close(t.Context()); err != nil || time.Since(began) < 5*time.Second {
			t.Errorf("it was closed after %v, %v", time.Since(began), err)
		}
		w.mu.Lock()
		w.looked = nil
		w.mu.Unlock()
	})
}

// slowly takes trees up, and that takes a while.
type slowly struct{ *world }

func (s slowly) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	<-time.After(10 * time.Second)
	return s.world.Begin(ctx, b)
}

// TestCloseWaitsForTaking: so has what a Host is taking up.
func TestCloseWaitsForTaking(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		w.set(Left)
		w.cwd = "/lab/a"
		o := h.o
		o.System, o.Folders = slowly{w}, []string{"/lab"}
		k := New(t.Context(), o)
		if err := k.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(2 * lookEvery)
		if err := k.Close(t.Context()); err != nil || len(w.taken()) != 1 {
			t.Errorf("when it is closed, it has taken up %d, %v", len(w.taken()), err)
		}
	})
}

// TestFrozenWorker: a worker that does not answer, or dies in the middle of a birth, holds none: another one that has
// the folder is asked for the same tree, and where there is none that is told within seconds.
func TestFrozenWorker(t *testing.T) {
	for what, freeze := range map[string]func(w *world, socket string){
		"silent":    func(w *world, socket string) { w.silent[socket] = true },
		"is killed": func(w *world, socket string) { w.loses[socket] = true },
		"freezes": func(w *world, socket string) {
			w.freezes[socket] = true
			time.AfterFunc(4*time.Second, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.dead[troupe.OwnerID(socket)] = true
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
				w.silent, w.freezes, w.loses = map[string]bool{}, map[string]bool{}, map[string]bool{}
				var workers []*Host
				for _, socket := range []string{"/a", "/b"} {
					k := hostOf(t, w, s, "/lab")
					err := k.Announce(t.Context(), troupe.Owner{ID: troupe.OwnerID(socket), Socket: socket})
					if err != nil {
						t.Fatal(err)
					}
					workers = append(workers, k)
				}
				begin := func() error {
					within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					_, err := h.API(w, troupe.Caller{}).Begin(within, wire.Begin{Cwd: "/lab", Prompt: "x"})
					return err
				}
				freeze(w, "/a")
				for range 20 {
					if err := begin(); err != nil {
						t.Fatal(err)
					}
				}
				if w.births() != 20 || len(w.roots) != 20 {
					t.Errorf("%d are born, of %d that were asked for", w.births(), len(w.roots))
				}
				freeze(w, "/b")
				if err := begin(); err == nil || !strings.Contains(err.Error(), "no worker that has the folder /lab") {
					t.Errorf("where none answers: %v", err)
				}
				w.mu.Lock()
				clear(w.dead)
				w.mu.Unlock()
				for _, k := range workers {
					if err := k.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
