package sim

import (
	"context"
	"iter"
	"slices"
	"time"
)

// task is something a process would have done on a goroutine. It runs as a coroutine: after
// a write it may be set aside, so that others come in between the write and what follows, and
// while it works it sleeps.
type task struct {
	proc *process
	name string
	at   time.Time       // not before
	ctx  context.Context //nolint:containedctx // of one that sleeps: it wakes when this is over
	fn   func()
	seq  int
	off  bool
	co   *coroutine // once it has begun
}

// coroutine runs one task after the other, and so keeps the stack that it has grown.
type coroutine struct {
	fn    func()
	next  func() (aside, ok bool)
	stop  func()
	yield func(aside bool) bool
}

func newCoroutine() *coroutine {
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(bool) bool) {
		c.yield = yield
		for {
			c.fn()
			if !yield(false) {
				return
			}
		}
	})
	return c
}

func (w *world) add(t *task) *task {
	w.seq++
	t.seq = w.seq
	w.tasks = append(w.tasks, t)
	return t
}

// bury ends what processes that are gone had under way. None of it has an effect any more.
func (w *world) bury() {
	for i := 0; i < len(w.tasks); {
		t := w.tasks[i]
		if !t.proc.dead && !t.off {
			i++
			continue
		}
		w.tasks = slices.Delete(w.tasks, i, i+1)
		if t.co != nil {
			w.run(t)
		}
	}
	w.coming = slices.DeleteFunc(w.coming, func(p *process) bool { return p.dead })
}

// close ends every coroutine.
func (w *world) close() {
	for _, t := range w.tasks {
		t.proc.dead = true
	}
	w.bury()
	for _, c := range w.idle {
		c.stop()
	}
}

// playTask runs one of the tasks whose time has come. Mostly everything that can be done is
// done before time passes; sometimes the machine is slow.
func (w *world) playTask() {
	var due []*task
	var soonest *task
	for _, t := range w.tasks {
		switch {
		case t.off || t.proc.dead:
			continue
		case !t.at.After(w.now) || (t.ctx != nil && t.ctx.Err() != nil):
			due = append(due, t)
		case soonest == nil || t.at.Before(soonest.at):
			soonest = t
		}
	}
	if soonest != nil && len(due) == 0 {
		w.watch.idles(soonest.at)
	}
	if soonest != nil && (len(due) == 0 || w.one(40)) {
		was := w.now
		if w.now = soonest.at; len(due) > 0 {
			w.stalled, w.stopped = w.now, was
		}
		due = append(due, soonest)
	}
	if len(due) == 0 {
		return
	}
	t := due[w.rng.IntN(len(due))]
	w.tasks = slices.DeleteFunc(w.tasks, func(x *task) bool { return x == t })
	w.trace("%s: %s #%d", t.proc.owner, t.name, t.seq)
	w.now = w.now.Add(time.Millisecond)
	w.run(t)
}

// run plays a task to its end, or until it is set aside.
func (w *world) run(t *task) {
	if t.co == nil {
		if n := len(w.idle); n > 0 {
			t.co, w.idle = w.idle[n-1], w.idle[:n-1]
		} else {
			t.co = newCoroutine()
		}
		t.co.fn = t.fn
	}
	before := w.running
	w.running = t
	aside, _ := t.co.next()
	w.running = before
	if aside {
		w.tasks = append(w.tasks, t)
		return
	}
	w.idle = append(w.idle, t.co)
	t.co = nil
}

// aside lets others go first. What is not a task goes on at once, and so does what belongs to
// a process that is gone.
func (w *world) aside() { w.sleep(w.ctx(), 0) }

// sleep passes time, until ctx is over.
func (w *world) sleep(ctx context.Context, d time.Duration) {
	t := w.running
	if t == nil || t.proc.dead {
		return
	}
	t.at, t.ctx, t.name = w.now.Add(d), ctx, "continue"
	t.co.yield(true)
	t.ctx = nil
}
