package sqlite

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// Where a job is. Only the writer moves it on from queued to taken, and only its caller
// from queued to left; whoever comes first decides whether it runs.
const (
	queued int32 = iota
	taken
	left
)

// job is one function waiting for its turn, and afterwards its outcome.
type job struct {
	root  troupe.SessionID
	fn    func(*table.Tx) error
	state atomic.Int32
	done  chan struct{} // closed once the fields below are final
	err   error
	panic string // what fn panicked with, and where
}

func (j *job) take() bool { return j.state.CompareAndSwap(queued, taken) }

// errExited is the answer to a function that ended its goroutine (runtime.Goexit, which is
// what a test's FailNow does) and to those that stood in the same transaction.
var errExited = errors.New("a function given to Update ended its goroutine; nothing of its group was written")

// maxBusy is how often the writer asks for the write lock while another process holds it;
// with busyMillis, 30 seconds. Nobody holds it that long who is not stuck.
const maxBusy = 120

// Moving the write-ahead log into the file takes as long as dozens of commits, so it is done while
// nobody writes: agents that wait for a model leave pauses longer than restAfter again and again.
// A log of fewer commits than worthMoving waits for more of them, or for the end.
const (
	restAfter   = 20 * time.Millisecond
	worthMoving = 16
)

// writer is the goroutine that owns the writing connection.
type writer struct {
	c     *conn
	path  string
	queue chan *job
	batch int
	group []*job      // in the open transaction
	moved int         // commits since the log was moved last
	rest  *time.Timer // set after each commit once there is enough to move
	// stopped is closed when the queue was closed and everything in it is answered.
	stopped chan struct{}
}

func (w *writer) loop() {
	clean := false
	defer func() {
		if clean {
			close(w.stopped)
			return
		}
		// A function ended this goroutine; another takes its place.
		w.rollback()
		for _, j := range w.group {
			j.err = errExited
		}
		w.answer()
		go w.loop()
	}()
	w.rest = time.NewTimer(0)
	defer w.rest.Stop()
	for {
		select {
		case j, ok := <-w.queue:
			if !ok {
				clean = true
				return
			}
			w.round(j)
		case <-w.rest.C:
			w.moveLog()
			continue
		}
		if w.moved++; w.moved >= worthMoving {
			w.rest.Reset(restAfter)
		}
	}
}

// moveLog moves what other connections do not need any more from the log into the file. It waits for
// nobody, and whatever keeps it from doing so keeps nothing else: the log has all of it, and the next
// commits or the last connection to close will try again.
func (w *writer) moveLog() {
	if w.moved >= worthMoving {
		w.moved = 0
		_ = w.c.script("PRAGMA wal_checkpoint(PASSIVE)")
	}
}

// round commits first and whatever waits behind it, and answers all of them.
func (w *writer) round(first *job) {
	if err := w.begin(first); err != nil {
		if first.take() {
			first.err = err
			close(first.done)
		}
		return
	}
	for j := first; j != nil; j = w.next() {
		if !j.take() {
			continue
		}
		w.group = append(w.group, j)
		if w.run(j) {
			continue
		}
		// What j wrote must go, and with it what the others wrote: they run again.
		w.rollback()
		w.replay(w.group[:len(w.group)-1])
		if len(w.group) > 1 {
			w.alone(j)
		}
		w.answer()
		return
	}
	if err := w.commit(); err != nil {
		for _, j := range w.group {
			w.alone(j)
		}
	}
	w.answer()
}

// next is the next waiting job, or nil if nobody waits or the group is full. Before it says
// that nobody waits it lets everybody run who can: on a busy machine those are callers on
// their way here, and a commit costs as much for one as for twenty.
func (w *writer) next() *job {
	if len(w.group) >= w.batch {
		return nil
	}
	for yielded := false; ; yielded = true {
		select {
		case j := <-w.queue: // nil once the queue is closed and empty
			return j
		default:
		}
		if yielded {
			return nil
		}
		runtime.Gosched()
	}
}

// replay runs jobs, which had all gone well, in a transaction of their own.
func (w *writer) replay(jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	err := w.begin(nil)
	for i := 0; err == nil && i < len(jobs); i++ {
		if !w.run(jobs[i]) {
			err = jobs[i].err
		}
	}
	if err == nil {
		err = w.commit()
	} else {
		w.rollback()
	}
	if err != nil {
		for _, j := range jobs {
			w.alone(j)
		}
	}
}

// alone runs j in a transaction of its own; whatever happens there is its answer.
func (w *writer) alone(j *job) {
	if j.err = w.begin(nil); j.err != nil {
		return
	}
	if !w.run(j) {
		w.rollback()
		return
	}
	if err := w.commit(); err != nil && j.err == nil {
		j.err = err
	}
}

// run gives j its turn in the open transaction. It reports whether the transaction may go
// on: j went well, or failed before it had written anything.
func (w *writer) run(j *job) bool {
	t := table.NewTx(onPath{w.c, w.path}, j.root)
	j.panic, j.err = call(j.fn, t)
	failed := t.End()
	if failed != nil && j.err == nil {
		j.err = failed
	}
	return failed == nil && (!t.Wrote() || j.err == nil)
}

// call runs fn and catches a panic, which belongs to fn's caller.
func call(fn func(*table.Tx) error, t *table.Tx) (panicked string, err error) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			err = errors.New("panic: " + panicked)
		}
	}()
	return "", fn(t)
}

// begin opens a transaction that holds the write lock. While another process holds it, it
// waits, but no longer for a first whose caller has left.
func (w *writer) begin(first *job) error {
	for try := 1; ; try++ {
		_, err := w.c.exec("BEGIN IMMEDIATE")
		if err == nil {
			return nil
		}
		if code(err) != lib.SQLITE_BUSY || try == maxBusy || first != nil && first.state.Load() == left {
			return explain(w.path, "begin to write", err)
		}
	}
}

func (w *writer) commit() error {
	if _, err := w.c.exec("COMMIT"); err != nil {
		w.rollback()
		return explain(w.path, "commit", err)
	}
	return nil
}

// rollback ends the transaction, if SQLite has not done so itself after a failure: then
// there is none to end, which is all that can go wrong here.
func (w *writer) rollback() { _, _ = w.c.exec("ROLLBACK") }

func (w *writer) answer() {
	for _, j := range w.group {
		close(j.done)
	}
	clear(w.group)
	w.group = w.group[:0]
}
