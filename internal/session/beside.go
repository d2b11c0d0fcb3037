package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
)

var (
	errLeft    = errors.New("the session was left before it had ended")
	errSettled = errors.New("the request was settled before it had ended")
)

// beside is a run of hooks that nothing waits for.
type beside struct {
	began time.Time
	ended chan struct{}
	mu    sync.Mutex
	left  bool // guarded by mu, as what follows
	stop  context.CancelCauseFunc
}

// leave ends it, and has it say why.
func (b *beside) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = true
	if b.stop != nil {
		b.stop(errLeft)
	}
}

// begun makes what it runs with.
func (b *beside) begun(ctx context.Context) context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	ctx, b.stop = context.WithCancelCause(ctx)
	if b.left {
		b.stop(errLeft)
	}
	return ctx
}

// runBeside runs what is due at a moment and nothing waits for. It returns what is to be logged of that now.
func runBeside(t *tree, h Hooks, m troupe.HookMoment) []troupe.HookRan {
	begun := h.Begun(m)
	if len(begun) > 0 {
		goBeside(t, func(ctx context.Context) { tellRan(t, m.Session.ID, h.Run(ctx, m, true).Ran) })
	}
	return begun
}

// goBeside has hooks run that nothing waits for: the tree is not left while they are young, and then ends them.
func goBeside(t *tree, fn func(ctx context.Context)) {
	release := holdFor(t)
	b := &beside{began: t.h.d.Now(), ended: make(chan struct{})}
	t.mu.Lock()
	if t.beside == nil {
		t.beside = map[*beside]bool{}
	}
	t.beside[b] = true
	t.mu.Unlock()
	t.h.d.Sched.Go(func(ctx context.Context) {
		defer release()
		fn(b.begun(ctx))
		b.leave() // the context is not needed any more
		t.mu.Lock()
		delete(t.beside, b)
		t.mu.Unlock()
		close(b.ended)
	})
}

// endBeside ends what runs beside a tree that is about to be left, but not before its time, and returns once what is
// to be logged of that is on its way.
func endBeside(ctx context.Context, t *tree) {
	t.mu.Lock()
	var all []*beside
	for b := range t.beside {
		all = append(all, b)
	}
	t.mu.Unlock()
	for _, b := range all {
		defer t.h.d.Sched.After(max(0, lastPatience-t.h.d.Now().Sub(b.began)), b.leave)()
	}
	for _, b := range all {
		select {
		case <-b.ended:
		case <-ctx.Done():
			return
		}
	}
}

// holdFor keeps a tree from being left for hooks that nothing else waits for, but not for long.
func holdFor(t *tree) (release func()) {
	t.hold()
	once := sync.OnceFunc(func() { t.h.unhold(t) })
	cancel := t.h.d.Sched.After(lastPatience, once)
	return func() {
		cancel()
		once()
	}
}
