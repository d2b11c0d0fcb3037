package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// What a server holds at once: streams, of a token and in all, bodies that are large, and answers to those who look
// something up, of a token and in all. Of these one waits for another to be done with, for a while. An answer may be as
// large as a log's largest event, which is as large as maxMessage, and takes some three times that while it is made.
const (
	mostOfToken, mostStreams = 50, 1000
	mostLarge                = 4
	mostLooks, mostLooksAll  = 4, 32
	largeWait                = 10 * time.Second
)

// lookAgain is how often a call that lasts looks whether its token still gives the right.
const lookAgain = 10 * time.Second

// secretKey is the key of the token in a request's context.
type secretKey struct{}

// held bounds a call that lasts by the life of the server's streams, and by that of its token's right, for what a is
// about. What looks after the token ends with done.
func (o *operations) held(ctx context.Context, verb string, a api.API) (held context.Context, done func()) {
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
			holds = err != nil && !refusedBy(err) || err == nil && judged(a, c).Right.Covers(wire.RouteOf(verb).Needs)
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

// looks counts the answers that are being made or written, of each token. It may be used from several goroutines.
type looks struct {
	mu  sync.Mutex
	all chan struct{}
	of  map[string]*turns
}

// turns are those of one token.
type turns struct {
	taken chan struct{}
	users int // calls that have or want one; the last one takes the turns away
}

// enter takes a turn, as soon as there is one; leave gives it back. It reports whether there was one before ctx ended.
func (n *looks) enter(ctx context.Context, token string) (leave func(), ok bool) {
	n.mu.Lock()
	t := n.of[token]
	if t == nil {
		t = &turns{taken: make(chan struct{}, mostLooks)}
		n.of[token] = t
	}
	t.users++
	n.mu.Unlock()
	forget := func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(n.of, token)
		}
	}
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		forget()
		return nil, false
	}
	select {
	case n.all <- struct{}{}:
		return func() { <-n.all; <-t.taken; forget() }, true
	case <-ctx.Done():
		<-t.taken
		forget()
		return nil, false
	}
}

// fewLooks has no more answers made or written at once, for those who look something up, than a server has room for.
// Streams and waits are counted otherwise; processes of the owner and of the same database have no bound.
func (o *operations) fewLooks(h huma.API, id string) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		c := caller(hc.Context())
		if c.Token == "" || c.Right == troupe.RightSystem ||
			id == "events" && strings.Contains(hc.Header("Accept"), streamType) {
			next(hc)
			return
		}
		ctx, cancel := context.WithTimeout(hc.Context(), largeWait)
		defer cancel()
		leave, ok := o.looks.enter(ctx, c.Token)
		if !ok {
			hc.SetHeader("Retry-After", "1")
			refuse(h, hc, tooMuch(fmt.Sprintf("%d answers to calls with this token are not read to their end, or %d "+
				"in all",
				mostLooks, mostLooksAll)))
			return
		}
		defer leave()
		next(hc)
	}
}

// paced writes an answer piece by piece. Who takes nothing of a piece for writeWait is let go, with all that is held
// for them.
type paced struct {
	http.ResponseWriter

	rc *http.ResponseController
}

// Unwrap is for http.ResponseController.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *paced) Write(b []byte) (n int, err error) {
	const piece = 1 << 20
	for first := true; first || len(b) > 0; first = false {
		part := b[:min(len(b), piece)]
		if err := p.rc.SetWriteDeadline(time.Now().Add(writeWait)); err != nil &&
			!errors.Is(err, http.ErrNotSupported) {
			return n, err
		}
		m, err := p.ResponseWriter.Write(part)
		if n += m; err != nil {
			panic(http.ErrAbortHandler) // the reader has gone, or takes nothing: what is left is for nobody
		}
		b = b[len(part):]
	}
	return n, nil
}

// refuse answers in the place of an operation.
func refuse(h huma.API, hc huma.Context, p *wire.Problem) {
	hc.SetHeader("Content-Type", problemType)
	hc.SetStatus(p.Status)
	// Whoever asked may have gone; there is nobody else to tell.
	_ = h.Marshal(hc.BodyWriter(), "application/json", p)
}
