package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// gate holds the writer inside a function, so that what is queued meanwhile comes in one
// group after it.
type gate struct {
	t     *testing.T
	s     *Store
	leave chan struct{}
	wg    sync.WaitGroup
}

func shut(t *testing.T, s *Store) *gate {
	t.Helper()
	g := &gate{t: t, s: s, leave: make(chan struct{})}
	entered := make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) }) // the group may run again
	g.wg.Go(func() {
		err := s.Update(t.Context(), theRoot, func(store.Tx) error {
			enter()
			<-g.leave
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	return g
}

// queue calls Update with fn on a goroutine and returns when it stands in the queue.
func (g *gate) queue(ctx context.Context, fn func(store.Tx) error) <-chan error {
	g.t.Helper()
	before := len(g.s.w.queue)
	out := make(chan error, 1)
	g.wg.Go(func() { out <- g.s.Update(ctx, theRoot, fn) })
	for len(g.s.w.queue) == before {
		runtime.Gosched()
	}
	return out
}

func (g *gate) open() {
	close(g.leave)
	g.wg.Wait()
}

// asTx is what stands behind a store.Tx here.
func asTx(t *testing.T, st store.Tx) tx {
	t.Helper()
	out, ok := st.(tx)
	if !ok {
		t.Fatalf("a Tx is a %T", st)
	}
	return out
}

func addOne(tx store.Tx) error { return tx.AddTree(theRoot, troupe.TreeDelta{Total: 1}) }

func total(t *testing.T, s *Store) (n int) {
	t.Helper()
	err := s.View(t.Context(), func(r store.Reader) error {
		tree, err := r.Tree(theRoot)
		n = tree.Total
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

func onePlanted(t *testing.T, o Options) *Store {
	t.Helper()
	s := mustOpen(t, filepath.Join(t.TempDir(), "troupe.db"), o)
	plantOne(t, s)
	return s
}

// TestGroup: functions of one group that fail before they wrote leave the others alone;
// one that fails afterwards makes those before it run again, and hurts nobody.
func TestGroup(t *testing.T) {
	t.Parallel()
	s := onePlanted(t, Options{})
	boom := errors.New("boom")
	var runs [5]atomic.Int32
	fn := func(i int, then func(store.Tx) error) func(store.Tx) error {
		return func(tx store.Tx) error {
			runs[i].Add(1)
			return then(tx)
		}
	}
	g := shut(t, s)
	answers := []<-chan error{
		g.queue(t.Context(), fn(0, addOne)),
		g.queue(t.Context(), fn(1, func(store.Tx) error { return boom })),
		g.queue(t.Context(), fn(2, addOne)),
		g.queue(t.Context(), fn(3, func(tx store.Tx) error { return errors.Join(addOne(tx), boom) })),
		g.queue(t.Context(), fn(4, addOne)),
	}
	g.open()
	for i, want := range []error{nil, boom, nil, boom, nil} {
		if err := <-answers[i]; !errors.Is(err, want) {
			t.Errorf("function %d was answered %v, want %v", i, err, want)
		}
	}
	for i, want := range []int32{2, 2, 2, 2, 1} {
		if got := runs[i].Load(); got != want {
			t.Errorf("function %d ran %d times, want %d", i, got, want)
		}
	}
	if got := total(t, s); got != 3 {
		t.Errorf("total is %d, want 3", got)
	}
}

// TestTransactionIsLost: some failures make SQLite end the whole transaction by itself. What
// then follows in the group must not be committed piece by piece, nor twice.
func TestTransactionIsLost(t *testing.T) {
	t.Parallel()
	s := onePlanted(t, Options{})
	g := shut(t, s)
	first := g.queue(t.Context(), addOne)
	lost := g.queue(t.Context(), func(tx store.Tx) error {
		_, _ = asTx(t, tx).Exec("lose it", "INSERT OR ROLLBACK INTO trees SELECT * FROM trees")
		return nil // as if nothing had happened
	})
	last := g.queue(t.Context(), addOne)
	g.open()
	if err := <-lost; err == nil {
		t.Error("a function whose transaction was lost was answered with success")
	}
	for _, a := range []<-chan error{first, last} {
		if err := <-a; err != nil {
			t.Errorf("a neighbour was answered %v", err)
		}
	}
	if got := total(t, s); got != 2 {
		t.Errorf("total is %d, want 2", got)
	}
}

// TestGoexit: a function that ends the writer's goroutine, as a test's Fatal does, is
// answered, and the store goes on.
func TestGoexit(t *testing.T) {
	t.Parallel()
	s := onePlanted(t, Options{})
	err := s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		if err := addOne(tx); err != nil {
			return err
		}
		runtime.Goexit()
		return nil
	})
	if !errors.Is(err, table.ErrExited) {
		t.Errorf("got %v, want %v", err, table.ErrExited)
	}
	if err := s.Update(t.Context(), theRoot, addOne); err != nil {
		t.Error(err)
	}
	if got := total(t, s); got != 1 {
		t.Errorf("total is %d, want 1", got)
	}
}

// TestLeavingTheQueue: a caller whose context ends does not wait for those before it,
// neither in the queue nor in front of a full one.
func TestLeavingTheQueue(t *testing.T) {
	t.Parallel()
	s := onePlanted(t, Options{Queue: 1})
	ctx, cancel := context.WithCancel(t.Context())
	g := shut(t, s)
	never := func(store.Tx) error { t.Error("a function ran whose caller had left"); return nil }
	inside := g.queue(ctx, never)
	before := make(chan error, 1)
	go func() { before <- s.Update(ctx, theRoot, never) }()
	cancel()
	for _, answer := range []<-chan error{inside, before} {
		if err := <-answer; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	g.open()
}

// TestCloseWaits: what is queued when Close is called is written.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	s := onePlanted(t, Options{})
	other := mustOpen(t, s.path, Options{})
	g := shut(t, s)
	var answers []<-chan error
	for range 5 {
		answers = append(answers, g.queue(t.Context(), addOne))
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for !s.isClosed() {
		runtime.Gosched()
	}
	if err := s.Update(t.Context(), theRoot, addOne); !errors.Is(err, ErrClosed) {
		t.Errorf("Update while closing: %v", err)
	}
	g.open()
	for _, a := range answers {
		if err := <-a; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if got := total(t, other); got != 5 {
		t.Errorf("total is %d, want 5", got)
	}
}

// TestBusy: another process that never lets go of the write lock does not hang a caller
// whose context ends, and its own writes are there for whoever waits.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := onePlanted(t, Options{})
	other := mustOpen(t, s.path, Options{})
	g := shut(t, other)
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() { answer <- s.Update(ctx, theRoot, addOne) }()
	patient := make(chan error, 1)
	go func() { patient <- s.Update(t.Context(), theRoot, addOne) }()
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	g.open()
	if err := <-patient; err != nil {
		t.Error(err)
	}
	if got := total(t, s); got != 1 {
		t.Errorf("total is %d, want 1", got)
	}
}

// TestFull: when the disk is full, the function that does not fit is told so, those beside
// it are written, and nothing that was there is lost.
func TestFull(t *testing.T) {
	t.Parallel()
	s := onePlanted(t, Options{})
	limit := func(extra int64) {
		t.Helper()
		err := s.write(t.Context(), theRoot, func(tx *table.Tx) error {
			pages, err := s.w.c.number("PRAGMA page_count")
			if err != nil {
				return err
			}
			return s.w.c.script(fmt.Sprintf("PRAGMA max_page_count = %d", pages+extra))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	large := func(tx store.Tx) error {
		m := troupe.Mail{ID: "large", Root: theRoot, To: theRoot,
			Blocks: []troupe.Block{troupe.Text(strings.Repeat("x", 1<<20))}}
		_, _ = tx.Send(m) // a function that does not look must not be answered with success
		return addOne(tx)
	}
	limit(3)
	g := shut(t, s)
	first, big, last := g.queue(t.Context(), addOne), g.queue(t.Context(), large), g.queue(t.Context(), addOne)
	g.open()
	hint(t, <-big, s.path, "disk is full", "Free some space")
	for _, a := range []<-chan error{first, last} {
		if err := <-a; err != nil {
			t.Errorf("a neighbour was answered %v", err)
		}
	}
	if got := total(t, s); got != 2 || !isWhole(t, s) {
		t.Errorf("total is %d, want 2", got)
	}
	limit(1 << 20)
	if err := s.Update(t.Context(), theRoot, large); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// A pause moves the log into the file, without anybody closing anything, and what was in it stays.
func TestLogMovesAtRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "troupe.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	for n := range 3 * worthMoving {
		root := troupe.SessionID(fmt.Sprintf("root-%d", n))
		one := rootSession(root)
		one.Name = strings.Repeat("n", 4000) + string(root)
		err := s.Update(t.Context(), root, func(tx store.Tx) error {
			return tx.Insert(one, troupe.Lease{Owner: "o", Epoch: 1}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for n := 0; size() <= before; n++ {
		if n == 30_000 {
			t.Fatalf("the file still has %d bytes", before)
		}
		<-look.C
	}
}
