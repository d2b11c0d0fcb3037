package tool

import (
	"context"
	"errors"
	"testing"
)

func TestLockEndsWithContext(t *testing.T) {
	t.Parallel()
	l := NewLocks()
	unlock, err := l.Lock(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		_, err := l.Lock(ctx, "p")
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	unlock()
	if len(l.m) != 0 {
		t.Errorf("%d locks are kept that nobody uses", len(l.m))
	}
}
