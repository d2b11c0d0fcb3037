package shell

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// commandsAtOnce is how many commands that somebody waits for are at work at once: so many that the
// processors are busy while some wait for a disk or the network.
func commandsAtOnce() int { return max(4, 2*runtime.GOMAXPROCS(0)) }

// stalled is how long commands wait while none ends or begins. Then one more begins, because those at work
// may do nothing but wait for it.
const stalled = 10 * time.Second

// turns lets commands begin in the order in which they came, as long as fewer than limit are at work.
// It is nobody's goroutine: a timer lets one more begin when nothing moves.
type turns struct {
	limit int

	mu      sync.Mutex
	working int
	waiting []chan struct{} // closed when the command may begin
	timer   *time.Timer     // runs while somebody waits
}

// tryEnter is enter for what does not wait.
func (t *turns) tryEnter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.admitted()
}

// admitted lets one be at work if there is room for it, with mu held.
func (t *turns) admitted() bool {
	if t.working >= t.limit || len(t.waiting) > 0 {
		return false
	}
	t.working++
	return true
}

// enter waits for a turn, and calls waits, unless that is nil, if it has to. It reports false if ctx ended first;
// else leave has to be called.
func (t *turns) enter(ctx context.Context, waits func()) bool {
	t.mu.Lock()
	if t.admitted() {
		t.mu.Unlock()
		return true
	}
	mine := make(chan struct{})
	t.waiting = append(t.waiting, mine)
	if len(t.waiting) == 1 {
		t.timer = time.AfterFunc(stalled, t.overdue)
	}
	t.mu.Unlock()
	if waits != nil {
		waits()
	}
	select {
	case <-mine:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		t.watch()
		return false
	}
	return true // it was let in meanwhile
}

func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working--
	for t.working < t.limit && len(t.waiting) > 0 {
		t.begin()
	}
	t.watch()
}

// overdue lets one more begin.
func (t *turns) overdue() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) > 0 {
		t.begin()
	}
	t.watch()
}

// begin lets the first begin that waits, with mu held.
func (t *turns) begin() {
	close(t.waiting[0])
	t.waiting = slices.Delete(t.waiting, 0, 1)
	t.working++
}

// watch has the time begin anew in which something has to move, with mu held.
func (t *turns) watch() {
	if t.timer == nil {
		return
	}
	t.timer.Stop()
	if len(t.waiting) > 0 {
		t.timer.Reset(stalled)
	}
}
