package mcp

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// What a server that is reached by HTTP may say. One answer is bounded as the SDK bounds a line of a program, and so
// is one event of a stream; a stream that stays open is bounded between two questions.
const (
	mostAnswer = 16 << 20
	mostHeard  = 64 << 20
)

// httpClient sends what the entry says with each request, and to no other origin than that of the entry: where a server
// redirects to, or wants to be spoken to, would get its keys. Requests end with ctx, but for the one that says goodbye.
func httpClient(ctx context.Context, t Target, c *conn) *http.Client {
	return &http.Client{Transport: bounded{ctx: ctx, entry: t.Entry, login: t.Login, base: http.DefaultTransport,
		conn: c}, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if samePlace(r.URL, via[0].URL) && len(via) == 1 {
			return nil
		}
		return c.leads(r.URL)
	}}
}

// samePlace: but for a slash at the end, which many servers want to have there.
func samePlace(a, b *url.URL) bool {
	return origin(a) == origin(b) && a.RawQuery == b.RawQuery &&
		strings.TrimSuffix(a.EscapedPath(), "/") == strings.TrimSuffix(b.EscapedPath(), "/")
}

// leads notes that the server leads to another place, where what is sent to it is not for.
func (c *conn) leads(to *url.URL) error {
	err := fmt.Errorf("it leads to another place, %s://%s%s, which is not followed; if it is meant, write that into "+
		"its "+
		"entry", to.Scheme, to.Host, to.EscapedPath())
	c.astray.Store(&err)
	return err
}

type bounded struct {
	ctx   context.Context //nolint:containedctx // of the connection that it is part of
	entry entry.Entry
	login Login
	base  http.RoundTripper
	conn  *conn
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	home, err := url.Parse(b.entry.URL)
	if err != nil {
		return nil, fmt.Errorf("read its url: %w", err)
	}
	if origin(r.URL) != origin(home) {
		return nil, b.conn.leads(r.URL)
	}
	ctx, cancel := context.WithCancel(r.Context())
	if r.Method != http.MethodDelete {
		stop := context.AfterFunc(b.ctx, cancel)
		end := cancel
		cancel = func() { stop(); end() }
	}
	r = r.Clone(ctx)
	for name, value := range b.entry.Headers {
		r.Header.Set(name, value)
	}
	streams := b.entry.Type != entry.SSE // what comes by the older transport is heard where it is read
	if streams && isAnswer(r) {
		defer b.conn.in.answered()
	}
	out, err := b.send(r)
	if err != nil {
		cancel()
		return nil, err
	}
	body := &boundedBody{ReadCloser: out.Body, heard: &atomic.Int64{}, most: mostAnswer, end: cancel}
	if r.Method == http.MethodGet {
		body.heard, body.most = &b.conn.heard, mostHeard
	}
	out.Body = body
	kind, _, _ := mime.ParseMediaType(out.Header.Get("Content-Type"))
	switch {
	case streams && kind == "text/event-stream":
		out.Body = sift(body, &b.conn.in)
	case streams && kind != "application/json" && out.StatusCode/100 == 2 && asksWho(r):
		// The library gives up here. A server that does not know the word is spoken to as those of old are.
		out.StatusCode, out.Status = http.StatusBadRequest, "400 Bad Request"
	}
	return out, nil
}

// message is what a request says.
func message(r *http.Request) []byte {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }() // it is in memory
	data, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	return data
}

// isAnswer reports whether a request answers one of the server.
func isAnswer(r *http.Request) bool {
	data := message(r)
	method, _ := heading(data)
	return len(data) > 0 && method == ""
}

// asksWho reports whether a request is the first word of the newer protocol.
func asksWho(r *http.Request) bool {
	method, _ := heading(message(r))
	return method == "server/discover"
}

// origin is where a URL leads, with its port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

// boundedBody ends with an error where more comes than may. What was unpacked counts, not what was sent.
type boundedBody struct {
	io.ReadCloser
	heard *atomic.Int64
	most  int64
	end   context.CancelFunc
}

// Close lets go of the request.
func (b *boundedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.heard.Add(int64(n)) > b.most {
		return 0, fmt.Errorf("the server said more than %d MB, which is not read", b.most>>20)
	}
	return n, err
}
