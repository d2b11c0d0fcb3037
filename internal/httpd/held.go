package httpd

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// What a server holds at once: streams, of a token and in all, and bodies that are large. One of these waits for
// another to be done with, for a while.
const (
	mostOfToken, mostStreams = 50, 1000
	mostLarge                = 4
	largeWait                = 10 * time.Second
)

// lookAgain is how often a call that lasts looks whether its token still gives the right.
const lookAgain = 10 * time.Second

// secretKey is the key of the token in a request's context.
type secretKey struct{}

// held bounds a call that lasts by the life of the server's streams, and by that of its token's right. What looks after
// the token ends with done.
func (o *operations) held(ctx context.Context, verb string) (held context.Context, done func()) {
	ctx, cancel := o.streaming(ctx)
	secret, _ := ctx.Value(secretKey{}).(string)
	if o.keys == nil || secret == "" {
		return ctx, cancel
	}
	var looks sync.WaitGroup
	looks.Go(func() {
		defer cancel()
		t := time.NewTicker(lookAgain)
		defer t.Stop()
		for holds := true; holds; {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
			c, err := o.keys.Whose(ctx, secret)
			// A database that is down has taken nothing from anyone.
			holds = err != nil && !refusedBy(err) || err == nil && c.Right.Covers(wire.RouteOf(verb).Needs)
		}
	})
	return ctx, func() { cancel(); looks.Wait() }
}

// open counts the streams of each token. It may be used from several goroutines.
type open struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// enter counts a stream; leave ends it. There is a problem where there are too many.
func (n *open) enter(c troupe.Caller) (leave func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.all >= mostStreams:
		return nil, later("the server has too many streams open")
	case c.Token != "" && c.Right != troupe.RightSystem && n.of[c.Token] >= mostOfToken:
		return nil, later("there are too many streams with this token")
	}
	n.all++
	n.of[c.Token]++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all--
		if n.of[c.Token]--; n.of[c.Token] == 0 {
			delete(n.of, c.Token)
		}
	}, nil
}

func later(detail string) error {
	return huma.ErrorWithHeaders(tooMuch(detail), http.Header{"Retry-After": {"1"}})
}

// fewLarge has no more large bodies read at once than a server has room for.
func (o *operations) fewLarge(h huma.API) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		if r, _ := humago.Unwrap(hc); r.ContentLength >= 0 && r.ContentLength <= maxBody {
			next(hc)
			return
		}
		ctx, cancel := context.WithTimeout(hc.Context(), largeWait)
		defer cancel()
		select {
		case o.large <- struct{}{}:
			defer func() { <-o.large }()
			next(hc)
			return
		case <-ctx.Done():
		}
		hc.SetHeader("Retry-After", "1")
		refuse(h, hc, tooMuch("too much is sent to the server at once"))
	}
}

// refuse answers in the place of an operation.
func refuse(h huma.API, hc huma.Context, p *wire.Problem) {
	hc.SetHeader("Content-Type", problemType)
	hc.SetStatus(p.Status)
	// Whoever asked may have gone; there is nobody else to tell.
	_ = h.Marshal(hc.BodyWriter(), "application/json", p)
}
