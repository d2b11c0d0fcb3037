package session

import (
	"context"
	"sync"
	"time"
)

// Pool is the Scheduler of a live process: one goroutine for each thing that is under way.
// Close cancels them all and waits for the last one.
type Pool struct {
	base   func() context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// NewPool makes a pool whose work ends with ctx.
func NewPool(ctx context.Context) *Pool {
	ctx, cancel := context.WithCancel(ctx)
	return &Pool{base: func() context.Context { return ctx }, cancel: cancel}
}

// Go runs fn on its own goroutine. After Close it does nothing.
func (p *Pool) Go(fn func(ctx context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.wg.Go(func() { fn(p.base()) })
}

// After runs fn once d has passed, unless it is cancelled or the pool is closed first. While
// it waits it holds no goroutine.
func (p *Pool) After(d time.Duration, fn func()) (cancel func()) {
	t := time.AfterFunc(d, func() {
		p.Go(func(context.Context) { fn() })
	})
	return func() { t.Stop() }
}

// Close cancels what is under way and waits until it has returned.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
}
