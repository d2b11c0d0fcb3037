package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tree troupe.SessionID = "7k3f00000000"

// world is trees, and what is asked of them. It is the api of a process as far as a Host needs it.
type world struct {
	api.API

	mu     sync.Mutex
	stands map[troupe.SessionID]Standing
	cwd    string
	owner  troupe.OwnerID
	stood  int // how often it was looked at in the database how a tree stands
	begun  []wire.Begin
	left   []troupe.SessionID
	sent   int
	dead   map[troupe.OwnerID]bool
	begin  func(b wire.Begin) error // what comes of taking a tree up
	waits  error                    // of a wait for a tree that is not here
	fold   error                    // of a look at a tree
	looked func()                   // happens after each look at a tree, before it is told
	stays  bool                     // what rests is not let go of
	asked  []string                 // what else it was asked for, in order
	fails  error                    // of that
	// By sockets: what does not answer, and what stops in the middle of a birth.
	silent, freezes, loses map[string]bool
	dialed                 []call                    // processes that were called
	roots                  map[troupe.SessionID]bool // which trees were to begin elsewhere
}

// call is a process that was called, for whom, and whether that is over.
type call struct {
	socket string
	caller troupe.Caller
	closed bool
}

func newWorld() *world {
	return &world{stands: map[troupe.SessionID]Standing{}, cwd: "/src/a", owner: "other",
		dead:  map[troupe.OwnerID]bool{},
		waits: troupe.ErrFenced, roots: map[troupe.SessionID]bool{}}
}

// set has the tree stand so. One that is left is that of a process which has died.
func (w *world) set(s Standing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stands[tree], w.dead[w.owner] = s, s == Left
}

func (w *world) Stand(_ context.Context, root troupe.SessionID) (Stand, error) {
	w.mu.Lock()
	s, looked, fold := Stand{w.stands[root], w.cwd, w.owner}, w.looked, w.fold
	w.stood++
	w.mu.Unlock()
	if looked != nil {
		looked()
	}
	return s, fold
}

func (w *world) Held(root troupe.SessionID) (Standing, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stands[root]
	return s, s == Here || s == Rests
}

func (w *world) Alive(_ context.Context, id troupe.OwnerID) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.dead[id], nil
}

func (w *world) Begin(_ context.Context, b wire.Begin) (wire.Begun, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = append(w.begun, b)
	root := b.Root
	if b.Resume != "" {
		root = troupe.SessionID(b.Resume)
	}
	if w.begin != nil {
		if err := w.begin(b); err != nil {
			return wire.Begun{}, err
		}
	}
	w.stands[root] = Here
	return wire.Begun{Root: root}, nil
}

func (w *world) Leave(_ context.Context, root troupe.SessionID) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stands[root] != Rests {
		return false, troupe.ErrFenced
	}
	if w.stays {
		return false, nil
	}
	w.left, w.stands[root] = append(w.left, root), Over
	return true, nil
}

func (w *world) Find(_ context.Context, ref, cwd string) (wire.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, "find "+ref+" from "+cwd)
	return wire.Session{ID: tree, Root: tree, Cwd: w.cwd}, nil
}

// does is what comes of something said to a tree that is over: it has something to do again.
func (w *world) does(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, what)
	if w.fails == nil && w.stands[tree] == Over {
		w.stands[tree] = Left
	}
	return w.fails
}

func (w *world) Compact(_ context.Context, id troupe.SessionID, hint string) error {
	return w.does("compact " + string(id) + " " + hint)
}

func (w *world) Request(_ context.Context, id string) (wire.Request, error) {
	return wire.Request{ID: "whole " + id, Session: tree, Root: tree}, nil
}

func (w *world) Answer(_ context.Context, id string, a wire.Answer) error {
	return w.does(fmt.Sprintf("answer %s %t", id, a.Allow))
}

func (w *world) Stop(_ context.Context, id troupe.SessionID, s wire.Stop) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, fmt.Sprintf("stop %s now %t kept %t", id, s.Now, s.Kept))
	return w.fails
}

// questions are what it was asked for since the last time.
func (w *world) questions() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.asked = nil }()
	return strings.Join(w.asked, "; ")
}

func (w *world) Tree(context.Context, troupe.SessionID) (wire.Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	status := troupe.Running
	if s := w.stands[tree]; s == Rests || s == Over || s == Asleep {
		status = troupe.Completed
	}
	return wire.Tree{Sessions: []wire.Session{{ID: tree, Root: tree, Cwd: w.cwd, Status: status}}}, nil
}

func (w *world) Send(_ context.Context, id troupe.SessionID, _ wire.Message) (wire.Sent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	if w.stands[tree] == Over {
		w.stands[tree] = Left // it has words to read
	}
	return wire.Sent{Session: id, Effect: effectWaits}, nil
}

func (w *world) Wait(context.Context, troupe.SessionID) error { return w.waits }

// gone are the trees that were let go of, in order.
func (w *world) gone() []troupe.SessionID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.left)
}

// births counts what was begun or resumed.
func (w *world) births() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.begun)
}

func (w *world) taken() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.begun {
		if b.Left {
			out = append(out, b.Resume)
		}
	}
	return out
}

// in runs a test with a Host whose process has the folder /src.
func in(t *testing.T, test func(t *testing.T, h *Host, w *world, s *memstore.Store)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), memstore.New(memstore.Options{}).Open()
		h := hostOf(t, w, s, "/src")
		test(t, h, w, s)
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func hostOf(t *testing.T, w *world, s *memstore.Store, folders ...string) *Host {
	t.Helper()
	return New(t.Context(), Options{Records: s, Trees: w, System: w, Now: time.Now,
		Log: slog.New(slog.DiscardHandler), Folders: folders,
		Dial: func(socket string, c troupe.Caller) Peer {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dialed = append(w.dialed, call{socket, c, false})
			return peer{w, len(w.dialed) - 1}
		}})
}

type peer struct {
	*world

	n int
}

// is reports whether something is so of the process that was called.
func (p peer) is(what map[string]bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return what[p.dialed[p.n].socket]
}

func (p peer) Ping(context.Context) error {
	if p.is(p.silent) {
		<-time.After(time.Second)
		return api.ErrSilent
	}
	return nil
}

// Begin is that of another process: what is not sent is not there.
func (p peer) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	sent, err := json.Marshal(b)
	b = wire.Begin{}
	if err == nil {
		err = json.Unmarshal(sent, &b)
	}
	p.mu.Lock()
	if b.Resume == "" && err == nil {
		b.Root, err = rootOf(p.dialed[p.n].caller, b)
		p.roots[b.Root] = true
	}
	p.mu.Unlock()
	if err != nil {
		return wire.Begun{}, err
	}
	if p.is(p.loses) {
		return wire.Begun{}, api.ErrLost
	}
	if p.is(p.freezes) {
		<-ctx.Done()
		return wire.Begun{}, ctx.Err()
	}
	return p.world.Begin(ctx, b)
}

func (p peer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialed[p.n].closed = true
}

// pass lets time go by, and what is to be done in it.
func pass(d time.Duration) {
	<-time.After(d) // virtual
	synctest.Wait()
}

func recordOf(t *testing.T, s *memstore.Store) (v hosted, there bool) {
	t.Helper()
	r, err := s.Record(t.Context(), kind, string(tree))
	if errors.Is(err, troupe.ErrNotFound) {
		return v, false
	}
	if err == nil {
		err = json.Unmarshal(r.Value, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v, true
}

// TestTakesUp: a tree that is wanted and that nobody has any more is taken up within a second, as it was set to work.
// One that stands elsewhere is left alone.
func TestTakesUp(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
		w.set(There)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(5 * lookEvery)
		if got := w.taken(); len(got) > 0 {
			t.Fatalf("one that another process has is taken up: %v", got)
		}
		w.set(Left)
		pass(lookEvery)
		if got := w.taken(); !slices.Equal(got, []string{string(tree)}) {
			t.Fatalf("taken up are %v", got)
		}
		pass(5 * lookEvery)
		if got := w.taken(); len(got) != 1 {
			t.Errorf("what is here is taken up again: %v", got)
		}
	})
}

// TestGlances: a tree that this process has, that another living one has, or that works in a folder which others have,
// is not looked at in the database each second, but once in a while; at once when its record changes or that process
// dies.
func TestGlances(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		looked := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.stood
		}
		for _, tc := range []struct {
			stands Standing
			cwd    string
			most   int
		}{{Here, "/src/a", 2}, {There, "/src/a", 8}, {Left, "/elsewhere", 8}} {
			w.set(tc.stands)
			w.mu.Lock()
			w.cwd = tc.cwd
			w.mu.Unlock()
			pass(againAfter + lookEvery) // until it is seen so
			before := looked()
			pass(time.Minute)
			if n := looked() - before; n > tc.most {
				t.Errorf("one that stands at %d was looked at %d times in a minute", tc.stands, n)
			}
		}
		before := looked()
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(lookEvery)
		if looked() == before {
			t.Error("one whose record was changed was not looked at")
		}
		if n := len(h.seen); n != 1 {
			t.Errorf("%d are remembered", n)
		}
		w.set(Over)
		pass(againAfter + 2*lookEvery)
		if n := len(h.seen); n != 0 {
			t.Errorf("%d are remembered of which there is no record", n)
		}
	})
}

// TestLeftByTheLiving: one that a living process has no more, for whatever reason, is taken up after a while.
func TestLeftByTheLiving(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
		w.set(There)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(5 * lookEvery)
		w.set(Left)
		w.mu.Lock()
		w.dead = map[troupe.OwnerID]bool{}
		w.mu.Unlock()
		pass(againAfter + lookEvery)
		if got := w.taken(); len(got) != 1 {
			t.Errorf("taken up are %v", got)
		}
	})
}

// TestTakesUpItsFolders: what works in a folder that this process has not is for others.
func TestTakesUpItsFolders(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
		w.cwd = "/srcelse"
		w.set(Left)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(5 * lookEvery)
		if got := w.taken(); len(got) > 0 {
			t.Errorf("taken up are %v", got)
		}
	})
}

// TestOneTakes: of two processes that have a folder, one takes a tree up.
func TestOneTakes(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		other := hostOf(t, w, s, "/src")
		defer func() {
			if err := other.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		for range 20 {
			w.set(Left)
			if err := h.want(t.Context(), tree); err != nil {
				t.Fatal(err)
			}
			before := len(w.taken())
			pass(lookEvery)
			if n := len(w.taken()) - before; n != 1 {
				t.Fatalf("it was taken up %d times", n)
			}
		}
	})
}

// TestParks: a tree that is taken up three times in a row without standing for a while is parked, with the reason, and
// waits are told; words to it have it go on. One that stood for a while begins to count anew.
func TestParks(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		dies := func(after time.Duration) {
			w.set(Left)
			pass(lookEvery)
			pass(after)
		}
		for range 2 {
			dies(lookEvery)
		}
		dies(steadyAfter + lookEvery) // it stood
		for range mostTries {
			dies(lookEvery)
		}
		if n := len(w.taken()); n != 3+mostTries {
			t.Errorf("taken up %d times, want %d", n, 3+mostTries)
		}
		dies(10 * time.Minute)
		if v, _ := recordOf(t, s); len(w.taken()) != 3+mostTries || !strings.Contains(v.Parked, "3 times") {
			t.Errorf("taken up %d times, parked as %q", len(w.taken()), v.Parked)
		}
		a := h.API(w, troupe.Caller{})
		within, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := a.Wait(within, tree); err == nil || !strings.Contains(err.Error(), "is parked: it was taken up") {
			t.Errorf("a wait for what is parked: %v", err)
		}
		if sent, err := a.Send(t.Context(), tree, wire.Message{Text: "go on"}); err != nil || sent.Effect != "resumes" {
			t.Errorf("words to what is parked: %+v, %v", sent, err)
		}
		if n := len(w.taken()); n != 4+mostTries {
			t.Errorf("with words to it, it was taken up %d times", n)
		}
	})
}

// TestParkedAndHere: a tree that was parked while the process which had it seemed to be dead, and which goes on with
// it, is parked no more: when that process dies indeed, it is taken up, unless that is one time too many again.
func TestParkedAndHere(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		value, err := json.Marshal(hosted{Since: time.Now(), Tries: mostTries, At: time.Now(), Parked: "it seemed so"})
		if err == nil {
			_, err = s.PutRecord(t.Context(), store.Record{Kind: kind, Key: string(tree), Value: value})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.set(Here)
		pass(2 * lookEvery)
		if v, _ := recordOf(t, s); v.Parked != "" || v.Tries != mostTries {
			t.Errorf("where it is at work it is parked: %+v", v)
		}
		pass(steadyAfter)
		w.set(Left)
		pass(2 * lookEvery)
		if n := len(w.taken()); n != 1 {
			t.Errorf("it is taken up %d times", n)
		}
	})
}

// TestFailsToTakeUp: what cannot be taken up is tried again, later each time, and goes on once it can be. The reason is
// kept; half a day later it is parked with it.
func TestFailsToTakeUp(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		gone := true
		w.begin = func(wire.Begin) error {
			if gone {
				return errors.New("the folder is gone")
			}
			return nil
		}
		w.set(Left)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		v, _ := recordOf(t, s)
		if n := len(w.taken()); n < 3 || n > 5 || v.Parked != "" || v.Why != "the folder is gone" || v.Tries != 0 {
			t.Errorf("tried %d times in a minute, then %+v", n, v)
		}
		w.mu.Lock()
		gone = false
		w.mu.Unlock()
		pass(2 * time.Minute)
		if stand, err := w.Stand(t.Context(), tree); stand.Standing != Here || err != nil {
			t.Errorf("once it can be taken up it stands at %+v, %v", stand, err)
		}
		w.mu.Lock()
		gone = true
		w.mu.Unlock()
		pass(steadyAfter)
		w.set(Left)
		pass(20 * time.Hour)
		if v, _ := recordOf(t, s); !strings.Contains(v.Parked, "32 times: the folder is gone") {
			t.Errorf("after a day it is %+v", v)
		}
		a := h.API(w, troupe.Caller{})
		if sent, err := a.Send(t.Context(), tree, wire.Message{Text: "x"}); err != nil || sent.Effect != effectWaits {
			t.Errorf("words to what cannot be taken up: %+v, %v", sent, err)
		}
	})
}

// TestForgets: the record goes when nothing is to be kept going any more: the tree is over, asleep, or was never born.
// One that rests here is held for a while, and let go of then.
func TestForgets(t *testing.T) {
	for _, x := range []struct {
		stands Standing
		after  time.Duration // when it is forgotten
	}{{Over, 0}, {Asleep, 0}, {Unborn, bornWithin}, {Rests, restsAfter}} {
		t.Run(time.Duration(x.stands).String(), func(t *testing.T) {
			in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
				w.set(x.stands)
				if err := h.want(t.Context(), tree); err != nil {
					t.Fatal(err)
				}
				if x.after > 0 {
					pass(x.after - 2*lookEvery)
					if _, there := recordOf(t, s); !there {
						t.Fatal("it is forgotten before its time")
					}
				}
				pass(4 * lookEvery)
				if _, there := recordOf(t, s); there {
					t.Error("it is not forgotten")
				}
				if x.stands == Rests && !slices.Equal(w.gone(), []troupe.SessionID{tree}) {
					t.Errorf("let go of is %v", w.gone())
				}
			})
		})
	}
}

// TestRestsAnew: the time for which a tree rests begins anew when it was at work.
func TestRestsAnew(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
		w.set(Rests)
		if err := h.want(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		pass(restsAfter - time.Minute)
		w.set(Here)
		pass(2 * lookEvery)
		w.set(Rests)
		pass(2 * time.Minute)
		if len(w.gone()) > 0 {
			t.Error("it is let go of by the time of before")
		}
		pass(restsAfter)
		if len(w.gone()) != 1 {
			t.Error("it is held for ever")
		}
	})
}

// TestBegins: what begins is wanted before it is born, under the id that it gets; what fails to begin is forgotten.
func TestBegins(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		a := h.API(w, troupe.Caller{})
		wanted := 0
		w.begin = func(b wire.Begin) error {
			if _, err := s.Record(t.Context(), kind, string(b.Root)); err != nil || b.Root == "" {
				t.Errorf("when it is born there is %v", err)
			}
			wanted++
			return nil
		}
		begun, err := a.Begin(t.Context(), wire.Begin{Cwd: "/src/a", Prompt: "x"})
		if err != nil || wanted != 1 || begun.Root == "" {
			t.Fatal(begun, err)
		}
		w.begin = func(wire.Begin) error { return errors.New("no") }
		if _, err := a.Begin(t.Context(), wire.Begin{Cwd: "/src/a", Prompt: "x"}); err == nil {
			t.Fatal("it begins")
		}
		pass(bornWithin + 2*lookEvery)
		all, err := s.Records(t.Context(), kind, "", 0)
		if err != nil || len(all) != 1 {
			t.Errorf("%d records are left, %v", len(all), err)
		}
	})
}

// TestWorkers: what begins in a folder that this process has not is begun by a living worker that has it, and by none
// other; the record of a dead one goes.
func TestWorkers(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, s *memstore.Store) {
		server := hostOf(t, w, s)
		defer func() {
			if err := server.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		a := server.API(w, troupe.Caller{})
		begin := func(cwd string) error {
			_, err := a.Begin(t.Context(), wire.Begin{Cwd: cwd, Prompt: "x"})
			return err
		}
		if err := begin("/src/a"); err == nil || !strings.Contains(err.Error(), "no worker has the folder /src/a") {
			t.Errorf("without a worker: %v", err)
		}
		if err := h.Announce(t.Context(), troupe.Owner{ID: "w1", Socket: "/s", PID: 7, Host: "here"}); err != nil {
			t.Fatal(err)
		}
		if err := begin("/srcelse"); err == nil || !strings.Contains(err.Error(),
			"There are: process 7 on here (/src)") {
			t.Errorf("without a worker of that folder: %v", err)
		}
		if err := begin("/src/a"); err != nil || w.births() != 1 {
			t.Errorf("with a worker: %v, %d begun", err, w.births())
		}
		w.dead["w1"] = true
		if err := begin("/src/a"); err == nil {
			t.Error("a dead worker has begun it")
		}
		if all, err := s.Records(t.Context(), kindWorker, "", 0); err != nil || len(all) > 0 {
			t.Errorf("of dead workers there are %d records, %v", len(all), err)
		}
		w.dead["w1"] = false
		if err := h.Announce(t.Context(), troupe.Owner{ID: "w2", Socket: "/s"}); err != nil {
			t.Fatal(err)
		}
		if err := h.withdraw(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all, err := s.Records(t.Context(), kindWorker, "", 0); err != nil || len(all) > 0 {
			t.Errorf("of one that has ended there are %d records, %v", len(all), err)
		}
	})
}

// TestGoneCheckout: a session whose checkout is not there goes on nowhere, and no process asks itself or is asked twice
// (newcomer 17: a server called itself until it had no file descriptors left).
func TestGoneCheckout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), memstore.New(memstore.Options{}).Open()
		w.cwd = "/none/checkouts/a/b/c"
		folders := []string{"/src", "/none/checkouts"}
		var all []*Host
		for _, id := range []troupe.OwnerID{"w1", "w2"} {
			h := New(t.Context(), Options{Records: s, Trees: w, System: w, Now: time.Now,
				Log: slog.New(slog.DiscardHandler), Folders: folders, Checkouts: "/none/checkouts",
				Dial: func(_ string, c troupe.Caller) Peer {
					w.mu.Lock()
					defer w.mu.Unlock()
					w.dialed = append(w.dialed, call{caller: c})
					c.Relayed = true
					return relay{peer{w, len(w.dialed) - 1}, all[1].API(w, c)}
				}})
			if err := h.Announce(t.Context(), troupe.Owner{ID: id, Socket: string(id)}); err != nil {
				t.Fatal(err)
			}
			all = append(all, h)
		}
		_, err := all[0].API(w, troupe.Caller{}).Begin(t.Context(), wire.Begin{Resume: string(tree)})
		if err == nil || !strings.Contains(err.Error(), "the checkout /none/checkouts/a/b/c is not there") {
			t.Errorf("it goes on: %v", err)
		}
		if n := len(w.dialed); n != 1 {
			t.Errorf("%d processes were asked", n)
		}
		for _, h := range all {
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// relay is another process that keeps trees going itself.
type relay struct {
	peer

	next api.API
}

func (r relay) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	return r.next.Begin(ctx, b)
}

// TestWaits: who waits for a tree waits on when it changes hands, and is told when it is over, whoever has ended it.
func TestWaits(t *testing.T) {
	for _, lost := range []error{troupe.ErrFenced, api.ErrLost, api.ErrUnreachable} {
		t.Run(lost.Error(), func(t *testing.T) {
			in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
				w.waits = lost
				w.set(There)
				if err := h.want(t.Context(), tree); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- h.API(w, troupe.Caller{}).Wait(t.Context(), tree) }()
				pass(time.Minute)
				select {
				case err := <-done:
					t.Fatalf("it waits no more: %v", err)
				default:
				}
				w.set(Over)
				pass(lookEvery)
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestWaitsForNothing: what is not kept going, or asleep, is told as it was.
func TestWaitsForNothing(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
		a := h.API(w, troupe.Caller{})
		w.set(Asleep)
		if err := a.Wait(t.Context(), tree); !errors.Is(err, troupe.ErrAsleep) {
			t.Errorf("asleep: %v", err)
		}
		for _, s := range []Standing{Over, Rests} {
			w.set(s)
			if err := a.Wait(t.Context(), tree); err != nil {
				t.Errorf("standing %d: %v", s, err)
			}
		}
		for _, s := range []Standing{Unborn, There} {
			w.set(s)
			if err := a.Wait(t.Context(), tree); !errors.Is(err, troupe.ErrFenced) {
				t.Errorf("standing %d: %v", s, err)
			}
		}
		w.waits = errors.New("something else")
		if err := a.Wait(t.Context(), tree); !errors.Is(err, w.waits) {
			t.Errorf("another error: %v", err)
		}
	})
}

// TestLeaves: leaving what no process has any more is done already.
func TestLeaves(t *testing.T) {
	in(t, func(t *testing.T, h *Host, w *world, _ *memstore.Store) {
		a := h.API(w, troupe.Caller{})
		for s, want := range map[Standing]bool{Over: true, Asleep: true, There: false, Left: false, Rests: true} {
			w.set(s)
			if left, err := a.Leave(t.Context(), tree); left != want || err != nil {
				t.Errorf("standing %d: %t, %v", s, left, err)
			}
		}
	})
}

var _ store.Records = (*memstore.Store)(nil)
