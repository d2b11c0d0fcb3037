package console

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe/internal/api"
)

// What takes longer than waitingAfter says on a terminal how far it is, every waitingEvery.
const (
	waitingAfter = 2 * time.Second
	waitingEvery = 500 * time.Millisecond
)

// Waiting is a context under which what takes long shows how far it is, and for whom it waits. stop takes the former
// from the terminal again.
func Waiting(ctx context.Context, c *Console, what string) (_ context.Context, stop func()) {
	if !c.ErrTTY {
		return api.WithWaits(ctx, func(text string) { fmt.Fprintln(c.Err, text) }), func() {}
	}
	begun, out, shown := c.Now(), Verbatim(c.Err), time.Time{}
	const clear = "\r\x1b[K"
	ctx = api.WithWaits(ctx, func(text string) { fmt.Fprint(out, clear+Line(text, 0)+"\n") })
	tell := func(done, all int) {
		now := c.Now()
		if all > 0 && now.Sub(begun) >= waitingAfter && now.Sub(shown) >= waitingEvery {
			shown = now
			fmt.Fprintf(out, "%s%s: %d %%", clear, what, 100*done/all)
		}
	}
	return api.WithProgress(ctx, tell), func() {
		if !shown.IsZero() {
			fmt.Fprint(out, clear)
		}
	}
}
