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
	idle   []chan func(context.Context) // of goroutines that wait for more, the latest last
	wg     sync.WaitGroup
}

// keepIdle is how many goroutines are kept when they have nothing to do. What agents do is
// short and comes in bursts, and a goroutine that has done some of it has the stack that the
// next needs, where a new one would grow its own step by step.
const keepIdle = 64

// NewPool makes a pool whose work ends with ctx.
func NewPool(ctx context.Context) *Pool {
	ctx, cancel := context.WithCancel(ctx)
	return &Pool{base: func() context.Context { return ctx }, cancel: cancel}
}

// Go runs fn on a goroutine of its own. After Close it does nothing.
func (p *Pool) Go(fn func(ctx context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if last := len(p.idle) - 1; last >= 0 {
		p.idle[last] <- fn
		p.idle = p.idle[:last]
		return
	}
	p.wg.Go(func() { p.work(fn) })
}

// work runs fn and, for as long as it is wanted, whatever comes after it.
func (p *Pool) work(fn func(context.Context)) {
	next := make(chan func(context.Context), 1) // whoever takes it out of idle fills it, once
	for ok := true; ok; fn, ok = <-next {
		fn(p.base())
		p.mu.Lock()
		wanted := !p.closed && len(p.idle) < keepIdle
		if wanted {
			p.idle = append(p.idle, next)
		}
		p.mu.Unlock()
		if !wanted {
			return
		}
	}
}

// After runs fn once d has passed, unless it is cancelled or the pool is closed first. While
// it waits it holds no goroutine.
func (p *Pool) After(d time.Duration, fn func()) (cancel func()) {
	t := time.AfterFunc(d, func() {
		p.Go(func(context.Context) { fn() })
	})
	return func() { t.Stop() }
}

// Sleep implements Scheduler.
func (p *Pool) Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Close cancels what is under way and waits until it has returned.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, next := range p.idle {
		close(next)
	}
	p.idle = nil
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
}
