package sqlite

import (
	"runtime"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

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
	queue chan *table.Job
	batch int
	group table.Group
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
		w.group.Abandon()
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
			w.group.Round(j, w.next)
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

// next is the next waiting job, or nil if nobody waits or the group is full. Before it says
// that nobody waits it lets everybody run who can: on a busy machine those are callers on
// their way here, and a commit costs as much for one as for twenty.
func (w *writer) next(size int) *table.Job {
	if size >= w.batch {
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

// Begin implements table.Transactions: it opens a transaction that holds the write lock. While another process holds
// it, it waits, but no longer for a first whose caller has left.
func (w *writer) Begin(first *table.Job) error {
	for try := 1; ; try++ {
		_, err := w.c.exec("BEGIN IMMEDIATE")
		if err == nil {
			return nil
		}
		if code(err) != lib.SQLITE_BUSY || try == maxBusy || first != nil && first.Left() {
			return explain(w.path, "begin to write", err)
		}
	}
}

// Commit implements table.Transactions.
func (w *writer) Commit() error {
	if _, err := w.c.exec("COMMIT"); err != nil {
		w.Rollback()
		return explain(w.path, "commit", err)
	}
	return nil
}

// Rollback implements table.Transactions. It ends the transaction, if SQLite has not done so itself after a failure:
// then there is none to end, which is all that can go wrong here.
func (w *writer) Rollback() { _, _ = w.c.exec("ROLLBACK") }

// Broke implements table.Transactions.
func (*writer) Broke() bool { return false }

// Conn implements table.Transactions.
func (w *writer) Conn() table.Conn { return onPath{w.c, w.path} }
