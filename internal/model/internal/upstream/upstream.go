// Package upstream is the way to a model service over HTTP, as far as it is the same for
// all of them: the connection, how a streamed call begins and ends, whose fault it was when
// it ends badly, and that no secret gets into an error.
//
// A Client is safe for concurrent use and starts no goroutine of its own; those of net/http
// live as long as their connections. Each call holds its stack, its connection and, once
// the reply has begun, one read buffer. Nothing is queued and nothing is tried again here.
// A call ends when its reply is whole, its context is done, or the service has been silent
// for the idle timeout, or has sent nothing of a reply for six of them. Close drops idle connections; calls under way
// are ended by their
// own contexts.
package upstream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/encode"
	"github.com/troupe-dev/troupe/internal/model/internal/sse"
)

const (
	defaultIdle = 5 * time.Minute
	// maxStream bounds all bytes of one reply. The longest replies are well under 2 MB.
	maxStream = 64 << 20
	readSize  = 4 << 10
	keepSize  = 64 << 10 // a buffer that grew beyond this is not kept
	// afterWhole is how long a whole reply waits for what may still be told about it.
	afterWhole = 10 * time.Second
)

// Options say which service it is and how it is reached.
type Options struct {
	Service string // as people know it: "Anthropic"
	Address string // what people set to change where it is: "ANTHROPIC_BASE_URL"
	Speaks  string // what must be there: "a Messages API"
	Key     string
	RootCAs *x509.CertPool
	// Transport replaces the tuned one, RootCAs included.
	Transport http.RoundTripper
	// IdleTimeout ends a stream that has received no byte for so long; 5 minutes if 0.
	IdleTimeout time.Duration
	UserAgent   string           // "troupe" if empty
	Now         func() time.Time // time.Now if nil

	// RequestID is the header that names a request for the service's support.
	RequestID string
	// Refusal reads the body of an answer that is an error, or no stream.
	Refusal func(status int, body []byte) Refusal
	// RetryAfter finds, in headers of the service's own, how long it asks to be left
	// alone, if the common ones do not say; it may be nil.
	RetryAfter func(http.Header) time.Duration
}

// Refusal is what a service says when it does not answer.
type Refusal struct {
	Fault troupe.ModelFault // "" if it is no error that is known
	Kind  string            // the service's own name for it
	Said  string            // its words; "" if there are none
}

// Broken is an error that a service reports in the middle of a stream.
type Broken struct {
	Fault troupe.ModelFault // "" means that trying again may help
	Kind  string
	Said  string
}

func (e *Broken) Error() string {
	if e.Kind == "" {
		return e.Said
	}
	return e.Kind + ": " + e.Said
}

// Progress is how far a reply has come.
type Progress int

// How far a reply can have come.
const (
	// Underway: if the stream ended here, the reply would be cut.
	Underway Progress = iota
	// Whole: all of it is there, but something may still be told about it. If the stream
	// ends here, however it does, nothing of the reply is lost.
	Whole
	// Over: nothing follows.
	Over
)

// Decoder takes in one reply, event by event.
type Decoder interface {
	// Event takes in the data of one event, which is only good until it returns. A
	// *Broken is the service's own error; any other says that the event makes no sense.
	Event(data []byte) error
	Progress() Progress
	// Content counts the events so far that brought something of a reply. Pings and the like do not.
	Content() int
	// SoFar is what has come and what it cost, for calls that fail. estimated says that
	// some of the cost is not the service's own count; see Bill.
	SoFar() (blocks []troupe.Block, cost troupe.Usage, estimated bool)
}

// Post is a request.
type Post struct {
	URL    string
	Header http.Header // besides what every request has
	Body   encode.Body
}

// Client is the way to one service.
type Client struct {
	o       Options
	http    *http.Client
	scrub   *strings.Replacer
	keys    *regexp.Regexp // what looks like somebody's key
	buffers sync.Pool      // *[]byte
}

// New returns a client.
func New(o Options) *Client {
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdle
	}
	if o.UserAgent == "" {
		o.UserAgent = "troupe"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = newTransport(o.RootCAs)
	}
	c := &Client{o: o, scrub: scrubber(o.Key), keys: regexp.MustCompile(`sk-[A-Za-z0-9_-]{6,}`)}
	c.http = &http.Client{Transport: o.Transport, CheckRedirect: c.stayHome}
	c.buffers.New = func() any { b := make([]byte, readSize); return &b }
	return c
}

// Close drops the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// noContent is how long a stream may bring nothing of a reply while it keeps the connection alive: a model
// that thinks for long, or reads a long prompt, sends pings or comments meanwhile.
func noContent(idle time.Duration) time.Duration { return 6 * idle }

// timers end a call: the one when no byte comes, the other when no content does.
type timers struct{ idle, content *time.Timer }

var (
	errIdle = errors.New("the service sent nothing for too long")
	errDone = errors.New("the call is over")
	// errNoContent ends a stream that only keeps the connection alive.
	errNoContent = errors.New("the service sent nothing of a reply for too long")
)

// Stream makes a call whose reply is a stream of events. The error is always a
// *model.Error; its Partial and Usage are what d has of the reply by then.
func (c *Client) Stream(ctx context.Context, p Post, d Decoder) (http.Header, error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(errDone)
	idle := time.AfterFunc(c.o.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()

	res, err := c.send(call, http.MethodPost, p)
	if err != nil {
		return nil, c.unanswered(ctx, call, hostOf(p.URL), err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := c.refused(res); err != nil {
		return nil, err
	}
	content := time.AfterFunc(noContent(c.o.IdleTimeout), func() { cancel(errNoContent) })
	defer content.Stop()
	if err := c.read(ctx, call, timers{idle: idle, content: content}, res, d); err != nil {
		return nil, err
	}
	return res.Header, nil
}

// read takes in the stream of a call that was accepted.
func (c *Client) read(ctx, call context.Context, t timers, res *http.Response, d Decoder) error {
	idle, had := t.idle, 0
	buf, _ := c.buffers.Get().(*[]byte)
	patience := c.o.IdleTimeout
	lines := sse.Reader{Src: res.Body, Buf: *buf, Limit: maxStream, OnRead: func() { idle.Reset(patience) }}
	defer func() {
		if cap(lines.Buf) <= keepSize {
			*buf = lines.Buf[:cap(lines.Buf)]
			c.buffers.Put(buf)
		}
	}()
	for {
		data, err := lines.Next()
		if err != nil {
			if d.Progress() == Whole && ctx.Err() == nil {
				return nil
			}
			return c.cut(ctx, call, d, err)
		}
		if err := d.Event(data); err != nil {
			return c.failed(d, err)
		}
		if n := d.Content(); n > had {
			had = n
			t.content.Reset(noContent(c.o.IdleTimeout))
		}
		switch d.Progress() {
		case Over:
			drain(&lines, idle)
			return nil
		case Whole:
			if patience > afterWhole {
				patience = afterWhole
				idle.Reset(patience)
			}
		case Underway:
		}
	}
}

// drain reads what stands behind the last event, so that the connection can be used again.
// A service that keeps the stream open loses the connection instead.
func drain(s *sse.Reader, idle *time.Timer) {
	const patience = 200 * time.Millisecond
	s.OnRead = nil
	idle.Reset(patience)
	for range 8 {
		if _, err := s.Src.Read(s.Buf); err != nil {
			return
		}
	}
}

// Answer is what a service answered to Fetch.
type Answer struct {
	Status int // 0 if there was no answer
	Body   []byte
}

// Fetch makes a call whose answer is one piece of JSON. Only its context bounds how long
// the service may think about it. The error is always a *model.Error; the answer is there
// with an error, too, if it is one, but uncleaned.
func (c *Client) Fetch(ctx context.Context, method string, p Post) (Answer, error) {
	const most = 16 << 20
	res, err := c.send(ctx, method, p)
	if err != nil {
		return Answer{}, c.unanswered(ctx, ctx, hostOf(p.URL), err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	out := Answer{Status: res.StatusCode, Body: body}
	switch {
	case res.StatusCode != http.StatusOK:
		return out, c.refusal(res, body)
	case err != nil:
		return Answer{}, c.ended(ctx, ctx, err)
	default:
		return out, nil
	}
}

// Now is the client's clock.
func (c *Client) Now() time.Time { return c.o.Now() }

func (c *Client) send(ctx context.Context, method string, p Post) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header = p.Header
	req.Header["User-Agent"] = []string{c.o.UserAgent}
	if p.Body != nil {
		req.ContentLength = p.Body.Size()
		req.Body = p.Body.Reader()
		req.GetBody = func() (io.ReadCloser, error) { return p.Body.Reader(), nil }
		req.Header["Content-Type"] = []string{"application/json"}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if err := c.plain(res); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return res, nil
}

// hostOf is the host of an address that was parsed before.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// ParseBase reads the address of a service, and drops a trailing slash. It does not quote
// what it cannot read: that may hold a key.
func (c *Client) ParseBase(base string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(base), "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, &model.Error{
			Fault:   troupe.FaultBad,
			Message: fmt.Sprintf("the base URL for %s is not an http(s) address; correct %s", c.o.Service, c.o.Address),
		}
	}
	u.RawPath = ""
	return u, nil
}
