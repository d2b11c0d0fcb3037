// Package governor decides when calls to a model provider may go, for all agents of a
// process together: one lane per provider and key.
//
// A lane has no limit until the provider turns a call away. Then it lets through as many at
// once as were being served at that moment, leaves the provider alone for as long as it asks
// to be, and tries one more each time as many calls as the limit went well. So a hundred
// agents that are throttled at once wait their turn instead of coming back together.
//
// Ordering: first come, first served. Nobody blocks: who may not go is called back. Callbacks
// run without a lock held, on the goroutine of whoever made room or of the timer. A lane holds
// no goroutine. Nothing survives a restart: what waited is asked for again by its session.
package governor

import (
	"errors"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/model"
)

// Options of a Governor.
type Options struct {
	// Max returns how many calls of a provider may be under way at once; 0: no fixed limit.
	Max func(provider string) int
	Now func() time.Time
	// After runs fn once d has passed, unless it is cancelled.
	After func(d time.Duration, fn func()) (cancel func())
}

// Governor has a lane for each provider.
type Governor struct {
	o Options

	mu    sync.Mutex
	lanes map[string]*lane
}

// New makes a governor without lanes.
func New(o Options) *Governor { return &Governor{o: o, lanes: make(map[string]*lane)} }

type lane struct {
	max    int       // fixed; 0: none
	limit  int       // learned; 0: none
	active int       // calls under way
	well   int       // calls in a row that went well since the limit last changed
	until  time.Time // nobody goes before
	queue  []*waiter
	cancel func() // of the timer for until
}

type waiter struct {
	ready func()
	gone  bool
}

// Enter asks for leave for one call. If it may go at once, now is true and ready is not
// called. Otherwise ready is called when it may, unless cancel was called before.
func (g *Governor) Enter(provider string, ready func()) (now bool, cancel func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lane(provider)
	if len(l.queue) == 0 && l.room(g.o.Now()) {
		l.active++
		return true, func() {}
	}
	w := &waiter{ready: ready}
	l.queue = append(l.queue, w)
	g.arm(provider, l)
	return false, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		w.gone = true
	}
}

// Leave reports how a call that went has ended.
func (g *Governor) Leave(provider string, err error) {
	g.mu.Lock()
	l := g.lane(provider)
	l.active--
	l.learn(err, g.o.Now())
	ready := g.next(provider, l)
	g.mu.Unlock()
	for _, fn := range ready {
		fn()
	}
}

// Waiting says how many calls of a provider wait, and until when all of them do.
func (g *Governor) Waiting(provider string) (n int, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lane(provider)
	for _, w := range l.queue {
		if !w.gone {
			n++
		}
	}
	return n, l.until
}

// Load says how many calls are under way, and how many wait for their turn.
func (g *Governor) Load() (active, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.lanes {
		active += l.active
		for _, w := range l.queue {
			if !w.gone {
				waiting++
			}
		}
	}
	return active, waiting
}

func (g *Governor) lane(provider string) *lane {
	l := g.lanes[provider]
	if l == nil {
		l = &lane{}
		if g.o.Max != nil {
			l.max = g.o.Max(provider)
		}
		g.lanes[provider] = l
	}
	return l
}

func (l *lane) room(now time.Time) bool {
	return (l.max == 0 || l.active < l.max) && (l.limit == 0 || l.active < l.limit) && !now.Before(l.until)
}

// learn draws conclusions from how a call ended.
func (l *lane) learn(err error, now time.Time) {
	var e *model.Error
	if errors.As(err, &e) && e.Throttled {
		// Those that are still under way are what the provider puts up with.
		l.limit, l.well = max(1, l.active), 0
		if at := now.Add(e.RetryAfter); e.RetryAfter > 0 && at.After(l.until) {
			l.until = at
		}
		return
	}
	if err != nil || l.limit == 0 {
		return
	}
	if l.well++; l.well >= l.limit {
		l.limit, l.well = l.limit+1, 0
	}
}

// next takes out those that may go now. It is called with g.mu held.
func (g *Governor) next(provider string, l *lane) []func() {
	var out []func()
	now := g.o.Now()
	for len(l.queue) > 0 {
		if w := l.queue[0]; w.gone {
			l.queue = l.queue[1:]
			continue
		}
		if !l.room(now) {
			break
		}
		out = append(out, l.queue[0].ready)
		l.queue[0] = nil
		l.queue = l.queue[1:]
		l.active++
	}
	g.arm(provider, l)
	return out
}

// arm sees that a lane whose provider wants to be left alone goes on when that is over. It is
// called with g.mu held.
func (g *Governor) arm(provider string, l *lane) {
	wait := l.until.Sub(g.o.Now())
	if len(l.queue) == 0 || wait <= 0 || l.cancel != nil {
		return
	}
	l.cancel = g.o.After(wait, func() {
		g.mu.Lock()
		l.cancel = nil
		ready := g.next(provider, l)
		g.mu.Unlock()
		for _, fn := range ready {
			fn()
		}
	})
}
