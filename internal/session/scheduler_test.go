package session_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe/internal/session"
)

// TestPool starts more at once than a pool keeps goroutines for, in two generations, so that
// kept goroutines are used again. Everything runs once, nothing after Close, and goleak sees
// to it that Close leaves nobody waiting.
func TestPool(t *testing.T) {
	t.Parallel()
	const n = 500
	pool := session.NewPool(t.Context())
	var ran atomic.Int64
	for range 3 {
		done := make(chan struct{})
		for range n {
			pool.Go(func(context.Context) {
				pool.Go(func(ctx context.Context) {
					ran.Add(1)
					if ctx.Err() != nil {
						t.Error("it was cancelled before Close")
					}
					done <- struct{}{}
				})
			})
		}
		for range n {
			<-done
		}
	}
	ended := make(chan struct{})
	pool.Go(func(ctx context.Context) {
		<-ctx.Done()
		close(ended)
	})
	pool.Close()
	select {
	case <-ended:
	default:
		t.Error("Close did not wait for what was under way")
	}
	pool.Go(func(context.Context) { ran.Add(1) })
	if got := ran.Load(); got != 3*n {
		t.Errorf("%d ran, want %d", got, 3*n)
	}
}
