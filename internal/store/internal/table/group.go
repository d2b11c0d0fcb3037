package table

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
)

// Where a job is. Only the group moves it on from queued to taken, and only its caller from queued to left; whoever
// comes first decides whether it runs.
const (
	queued int32 = iota
	taken
	left
)

// Job is one function given to Update: it waits for its turn, and has its outcome afterwards.
type Job struct {
	root  troupe.SessionID
	fn    func(*Tx) error
	state atomic.Int32
	done  chan struct{} // closed once the fields below are final
	err   error
	panic string // what fn panicked with, and where
}

// NewJob is a function that writes in the tree of root.
func NewJob(root troupe.SessionID, fn func(*Tx) error) *Job {
	return &Job{root: root, fn: fn, done: make(chan struct{})}
}

func (j *Job) take() bool { return j.state.CompareAndSwap(queued, taken) }

// Left reports whether its caller waits no more.
func (j *Job) Left() bool { return j.state.Load() == left }

// Wait waits for the outcome. A context that ends before the function runs takes it out of the queue.
func (j *Job) Wait(ctx context.Context) error {
	select {
	case <-j.done:
	case <-ctx.Done():
		if j.state.CompareAndSwap(queued, left) {
			return context.Cause(ctx)
		}
		<-j.done
	}
	if j.panic != "" {
		panic(j.panic)
	}
	return j.err
}

// Transactions begins and ends the transactions of a connection.
type Transactions interface {
	// Begin opens one, for as long as a first job waits for it; nil is one that will wait.
	Begin(first *Job) error
	// Commit ends it. After an error no transaction is open, and nothing of it is there but for ErrOutcome.
	Commit() error
	// Broke reports whether the connection of the open one broke: what was to be done in it can be done again.
	Broke() bool
	Rollback()
	Conn() Conn
}

// Group runs jobs one after the other and commits them together.
type Group struct {
	Transactions

	jobs []*Job // in the open transaction
}

// Round commits first and whatever next has behind it, and answers all of them.
func (g *Group) Round(first *Job, next func(size int) *Job) {
	if err := g.Begin(first); err != nil {
		if first.take() {
			first.err = err
			close(first.done)
		}
		return
	}
	for j := first; j != nil; j = next(len(g.jobs)) {
		if !j.take() {
			continue
		}
		g.jobs = append(g.jobs, j)
		if g.run(j) {
			continue
		}
		// What j wrote must go, and with it what the others wrote: they run again.
		broke := g.Broke()
		g.Rollback()
		g.replay(g.jobs[:len(g.jobs)-1])
		if len(g.jobs) > 1 || broke {
			g.alone(j)
		}
		g.answer()
		return
	}
	if err := g.Commit(); errors.Is(err, ErrOutcome) {
		g.fail(err)
	} else if err != nil {
		for _, j := range g.jobs {
			g.alone(j)
		}
	}
	g.answer()
}

// ErrExited is the answer to a function that ended its goroutine (runtime.Goexit, which is what a test's FailNow does)
// and to those that stood in the same transaction.
var ErrExited = errors.New("a function given to Update ended its goroutine; nothing of its group was written")

// Abandon answers all jobs of a round in which a function ended the goroutine.
func (g *Group) Abandon() {
	g.Rollback()
	g.fail(ErrExited)
	g.answer()
}

// fail has all jobs fail for one reason.
func (g *Group) fail(err error) {
	for _, j := range g.jobs {
		j.err = err
	}
}

// ErrOutcome is in the error of a commit of which nothing tells whether it was made. None of it is done again.
var ErrOutcome = errors.New("it is not known whether it was written")

// replay runs jobs, which had all gone well, in a transaction of their own.
func (g *Group) replay(jobs []*Job) {
	if len(jobs) == 0 {
		return
	}
	err := g.Begin(nil)
	for i := 0; err == nil && i < len(jobs); i++ {
		if !g.run(jobs[i]) {
			g.Rollback()
			err = jobs[i].err
		}
	}
	if err == nil {
		err = g.Commit()
	}
	for _, j := range jobs {
		if errors.Is(err, ErrOutcome) {
			j.err = err
		} else if err != nil {
			g.alone(j)
		}
	}
}

// mostBreaks is how many connections may break under one job.
const mostBreaks = 4

// alone runs j in a transaction of its own; whatever happens there is its answer, unless the connection breaks.
func (g *Group) alone(j *Job) {
	for breaks := 0; ; breaks++ {
		if j.err = g.Begin(nil); j.err != nil {
			return
		}
		if g.run(j) {
			break
		}
		again := g.Broke() && breaks < mostBreaks
		if g.Rollback(); !again {
			return
		}
	}
	if err := g.Commit(); err != nil && j.err == nil {
		j.err = err
	}
}

// run gives j its turn in the open transaction. It reports whether the transaction may go on: j went well, or failed
// before it had written anything.
func (g *Group) run(j *Job) bool {
	t := NewTx(g.Conn(), j.root)
	j.panic, j.err = call(j.fn, t)
	failed := t.End()
	if failed != nil && j.err == nil {
		j.err = failed
	}
	return failed == nil && (!t.wrote || j.err == nil)
}

// call runs fn and catches a panic, which belongs to fn's caller.
func call(fn func(*Tx) error, t *Tx) (panicked string, err error) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			err = errors.New("panic: " + panicked)
		}
	}()
	return "", fn(t)
}

func (g *Group) answer() {
	for _, j := range g.jobs {
		close(j.done)
	}
	clear(g.jobs)
	g.jobs = g.jobs[:0]
}
