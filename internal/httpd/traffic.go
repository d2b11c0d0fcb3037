package httpd

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/wire"
)

// metricsPath is where a server says what it has counted.
const metricsPath = "/metrics"

// called is what is known of a request besides its caller.
type called struct {
	id      string // its own: answers and the log name it
	from    string // the address that it comes from; "": a socket
	pattern string // of the route that has answered it; "": none has
	refused string // why it was, in a word; "": it was not, or its status says it
	unread  bool   // what was sent could not be read
}

// calledKey is the key of called in a request's context.
type calledKey struct{}

// calledOf is what is known of a request.
func calledOf(ctx context.Context) *called {
	if c, ok := ctx.Value(calledKey{}).(*called); ok {
		return c
	}
	return &called{} // of a test
}

// traffic counts the requests of a server, by the route that answered and the class of its status. One that was turned
// away at the door has no route: what it asks for is a stranger's word.
type traffic struct {
	routes                        map[string]string // ids, by the patterns of the mux
	calls, took, refused, streams *metrics.Family
}

// newTraffic makes one over what a process counts; nil: nothing is.
func newTraffic(m *metrics.Set) *traffic {
	t := &traffic{
		routes: make(map[string]string),
		calls: m.Counter("troupe_http_requests_total",
			"HTTP requests that were answered, by route and class of the status.", "route", "status"),
		took: m.Histogram("troupe_http_request_duration_seconds",
			"How long HTTP requests took, by route; streams apart.", "route"),
		refused: m.Counter("troupe_http_refused_total", "HTTP requests that were refused, by why.", "why"),
		streams: m.Gauge("troupe_http_streams_open", "Streams of events that are being read."),
	}
	if m != nil {
		for _, r := range wire.Routes() {
			t.routes[r.Method+" "+r.Path] = r.ID
		}
	}
	return t
}

// serve has a request answered and counts it.
func (t *traffic) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if t == nil { // of a test
		next.ServeHTTP(w, r)
		return
	}
	c, from := &called{id: strings.ToLower(rand.Text()[:13])}, time.Now()
	out := &answered{ResponseWriter: w, called: c}
	out.Header().Set("X-Request-Id", c.id)
	whole := false
	defer func() {
		if !whole && out.status == 0 {
			out.status = http.StatusInternalServerError // it panics, and the connection is closed
		}
		t.count(c, out, time.Since(from))
	}()
	r = r.WithContext(context.WithValue(r.Context(), calledKey{}, c))
	r.Body = &reading{r.Body, c}
	next.ServeHTTP(out, r)
	whole = true
}

// answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter

	status int // 0: 200, or nothing was written
	called *called
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	if status == http.StatusInternalServerError && a.called.unread {
		status = http.StatusBadRequest
	}
	a.status = cmp.Or(a.status, status)
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. What was begun without a status is 200, also where its reader leaves.
func (a *answered) Write(b []byte) (int, error) {
	a.status = cmp.Or(a.status, http.StatusOK)
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// routed notes which route has answered. A path is meant as it is written: none is redirected to what it could mean.
func routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { calledOf(r.Context()).pattern = r.Pattern }()
		p := r.URL.EscapedPath()
		if clean := path.Clean(p); p != clean && (clean == "/" || p != clean+"/") {
			nothingHere(w, r)
			return
		}
		if !understandable(w, r) {
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (t *traffic) count(c *called, a *answered, took time.Duration) {
	route, ours := t.routes[c.pattern]
	if !ours {
		route = "none"
		if of, get := strings.CutPrefix(c.pattern, "GET /"); get {
			route = of
		}
	}
	status := cmp.Or(a.status, http.StatusOK)
	t.calls.Add(1, route, fmt.Sprintf("%dxx", status/100))
	if a.Header().Get("Content-Type") != streamType {
		t.took.Observe(took.Seconds(), route)
	}
	why := c.refused
	switch {
	case why != "":
	case status == http.StatusUnauthorized:
		why = "token"
	case status == http.StatusForbidden:
		why = "right"
	case status == http.StatusTooManyRequests:
		why = "too_much" // streams, or large bodies
	default:
		return
	}
	t.refused.Add(1, why)
}
