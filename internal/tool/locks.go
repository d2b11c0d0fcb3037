package tool

import (
	"context"
	"sync"
)

// Locks keeps apart the calls of one process that change files: one lock per path, made when
// it is first wanted and forgotten when nobody wants it any more. All tools that write files
// must share one.
type Locks struct {
	mu sync.Mutex
	m  map[string]*pathLock
}

type pathLock struct {
	held  chan struct{} // holds one element while the lock is taken
	users int           // holder and waiters; guarded by Locks.mu
}

// NewLocks returns locks that nobody holds.
func NewLocks() *Locks { return &Locks{m: map[string]*pathLock{}} }

// Lock waits until nobody else holds path, or until ctx is done.
func (l *Locks) Lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	p := l.m[path]
	if p == nil {
		p = &pathLock{held: make(chan struct{}, 1)}
		l.m[path] = p
	}
	p.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(l.m, path)
		}
	}
	select {
	case p.held <- struct{}{}:
		return func() { <-p.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
