package search

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// errStop ends a walk early, without being an error.
var errStop = errors.New("stop")

const (
	// maxWorkers bounds the goroutines of one walk. More than a few wait for the same locks
	// of the kernel.
	maxWorkers = 8
	// maxAhead is how many batches may be finished that cannot be taken yet, because one
	// before them is not: it bounds what a walk holds in memory.
	maxAhead = 128
)

// queue is the steps of a walk, in order of their paths. The first that nobody has begun is
// always begun next; so what is held is little, and what must be taken next is never waited
// for long. run owns the goroutines and waits for them.
type queue[R any] struct {
	newLook func() func(context.Context, batch) R
	expand  func(branch) []fork

	mu      sync.Mutex
	changed *sync.Cond // any of what follows
	head    step[R]    // before the first
	busy    int        // steps under way
	ahead   int        // finished batches that were not taken yet
	ended   bool
}

type state int8

const (
	waiting state = iota
	underWay
	finished
	replaced // a folder whose parts follow
)

type step[R any] struct {
	fork
	next  *step[R]
	state state
	found R
}

func newQueue[R any](newLook func() func(context.Context, batch) R, expand func(branch) []fork) *queue[R] {
	q := &queue[R]{newLook: newLook, expand: expand}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// run works off the forks and all that comes of them.
func (q *queue[R]) run(ctx context.Context, forks []fork, take func(R) error) error {
	q.insert(&q.head, forks)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		wg.Go(func() { q.work(ctx) })
	}
	err := q.takeAll(ctx, take)
	q.end()
	wg.Wait()
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (q *queue[R]) insert(after *step[R], forks []fork) {
	for _, f := range forks {
		after.next = &step[R]{fork: f, next: after.next}
		after = after.next
	}
}

func (q *queue[R]) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}

// takeAll takes what was found, in order, until there is no more.
func (q *queue[R]) takeAll(ctx context.Context, take func(R) error) error {
	for {
		s := q.first()
		if err := ctx.Err(); err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		if err := take(s.found); err != nil {
			return err
		}
	}
}

// first waits for the first step and takes it out; nil if there is none, or all was ended.
func (q *queue[R]) first() *step[R] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		s := q.head.next
		switch {
		case q.ended || s == nil:
			return nil
		case s.state == replaced:
			q.head.next = s.next
		case s.state == finished:
			q.head.next = s.next
			q.ahead--
			q.changed.Broadcast()
			return s
		default:
			q.changed.Wait()
		}
	}
}

func (q *queue[R]) work(ctx context.Context) {
	look := q.newLook()
	for s := q.begin(); s != nil; s = q.begin() {
		var forks []fork
		var found R
		switch {
		case ctx.Err() != nil:
			q.end()
		case s.isDir:
			forks = q.expand(s.branch)
		default:
			found = look(ctx, s.batch)
		}
		q.finish(s, forks, found)
	}
}

// begin waits for a step to begin; nil if there will be none.
func (q *queue[R]) begin() *step[R] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.ended || q.head.next == nil {
			return nil
		}
		// With too much held only what is taken next may be begun: nothing before it is under
		// way if nothing is at all.
		if q.ahead < maxAhead || q.busy == 0 {
			if s := q.firstWaiting(); s != nil {
				s.state = underWay
				q.busy++
				return s
			}
		}
		q.changed.Wait()
	}
}

func (q *queue[R]) firstWaiting() *step[R] {
	for before, s := &q.head, q.head.next; s != nil; s = s.next {
		switch s.state {
		case waiting:
			return s
		case replaced:
			before.next = s.next
		case underWay, finished:
			before = s
		}
	}
	return nil
}

func (q *queue[R]) finish(s *step[R], forks []fork, found R) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	if s.isDir {
		s.state = replaced
		q.insert(s, forks)
	} else {
		s.state, s.found = finished, found
		q.ahead++
	}
	q.changed.Broadcast()
}
