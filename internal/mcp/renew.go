package mcp

import (
	"context"
	"time"
)

// How long it is waited between two lists of one server that says again and again that its tools have changed.
const (
	leastRest = 100 * time.Millisecond
	mostRest  = 10 * time.Second
)

// renew reads the list of a server anew when it says that its tools have changed: one at a time, and one more for all
// that was said meanwhile.
func (s *Servers) renew(ctx context.Context, c *conn, t Target) {
	if s.o.Changed == nil {
		return
	}
	rest := leastRest
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changes:
		}
		c.in.changing.Store(false) // what is said from here on is news
		limited, cancel := context.WithTimeout(ctx, usualStart)
		l, err := list(limited, c.session, t.Entry)
		cancel()
		if err == nil {
			s.o.Changed(t, l)
		}
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if len(c.changes) > 0 {
			rest = min(2*rest, mostRest)
		} else {
			rest = leastRest
		}
	}
}
