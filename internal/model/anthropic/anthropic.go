// Package anthropic speaks the Messages API: it encodes conversations into the exact bytes
// that go on the wire, and reads the stream of events that comes back.
//
// A Provider is safe for concurrent use and starts no goroutine of its own; those of
// net/http live as long as their connections. Each call holds its stack, its connection
// and, once the reply has begun, one read buffer. Nothing is queued and nothing is tried
// again here: who calls decides how many calls run at once and when to repeat one. A call
// ends when its reply is whole, its context is done, or the service has been silent for
// the idle timeout. Close drops idle connections; calls under way are ended by their own
// contexts.
//
// docs/adr/0002-model-transport.md says why this is not the vendor's SDK.
package anthropic

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

const (
	name    = "anthropic"
	encoder = "anthropic/1"
	// DefaultBaseURL is the provider's own service.
	DefaultBaseURL = "https://api.anthropic.com"

	defaultIdle = 5 * time.Minute
	// maxStream bounds all bytes of one reply. The longest replies are well under 2 MB.
	maxStream = 64 << 20
)

// Options are what a Provider can be told. It reads no environment itself, except that
// the default transport honours the proxy variables and the certificate locations that
// Go's libraries do.
type Options struct {
	APIKey string
	// BaseURL is where /v1/messages is; DefaultBaseURL if empty.
	BaseURL string
	// RootCAs replaces the system's certificate authorities; see CertPool.
	RootCAs *x509.CertPool
	// Transport replaces the tuned one, RootCAs included.
	Transport http.RoundTripper
	// IdleTimeout ends a call that has received no byte for so long; 5 minutes if 0.
	IdleTimeout time.Duration
	UserAgent   string
	// NoAutoCache places the moving cache mark on the last block of the conversation
	// instead of asking the service to do so, for gateways that know no top-level mark.
	NoAutoCache bool
	// Now is the clock that a Retry-After date is compared with; time.Now if nil.
	Now func() time.Time
}

// Provider is the Messages API as a model.Provider.
type Provider struct {
	o       Options
	url     string
	badURL  error
	client  *http.Client
	scrub   *strings.Replacer
	buffers sync.Pool // *[]byte
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider. What is wrong with the options is reported by the first call.
func New(o Options) *Provider {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdle
	}
	if o.UserAgent == "" {
		o.UserAgent = "troupe"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.APIKey = strings.TrimSpace(o.APIKey)
	p := &Provider{o: o, scrub: scrubber(o.APIKey)}
	p.buffers.New = func() any { b := make([]byte, readSize); return &b }
	p.url, p.badURL = endpoint(o.BaseURL)
	if o.Transport == nil {
		o.Transport = newTransport(o.RootCAs)
	}
	p.client = &http.Client{Transport: o.Transport, CheckRedirect: stayHome}
	return p
}

// Name implements model.Provider.
func (p *Provider) Name() string { return name }

// Encoder implements model.Provider.
func (p *Provider) Encoder() string { return encoder }

// Close drops the connections that are idle.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

var (
	errIdle = errors.New("the service sent nothing for too long")
	errDone = errors.New("the call is over")
)

// Stream implements model.Provider.
func (p *Provider) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	switch {
	case p.badURL != nil:
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultBad, Message: p.clean(p.badURL.Error())}
	case p.o.APIKey == "":
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultAuth, Message: "no API key for Anthropic; set ANTHROPIC_API_KEY"}
	}
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(errDone)
	idle := time.AfterFunc(p.o.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()

	res, err := p.send(call, r)
	if err != nil {
		return troupe.Reply{}, p.transportError(ctx, call, err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := p.refused(res); err != nil {
		return troupe.Reply{}, err
	}
	return p.read(ctx, call, idle, res, r, sink)
}

// read takes in the stream of a call that was accepted.
func (p *Provider) read(ctx, call context.Context, idle *time.Timer, res *http.Response, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	buf, _ := p.buffers.Get().(*[]byte)
	lines := sseReader{src: res.Body, buf: *buf, limit: maxStream, onRead: func() { idle.Reset(p.o.IdleTimeout) }}
	defer func() {
		if cap(lines.buf) <= keepSize {
			*buf = lines.buf[:cap(lines.buf)]
			p.buffers.Put(buf)
		}
	}()
	acc := accumulator{reply: r.Agent.Reply, model: r.Model, sink: sink}
	for {
		data, err := lines.next()
		if err != nil {
			return troupe.Reply{}, p.cut(ctx, call, &acc, err)
		}
		if err := acc.event(data); err != nil {
			return troupe.Reply{}, p.failed(&acc, err)
		}
		if acc.done {
			break
		}
	}
	drain(&lines, idle)
	out := acc.whole()
	out.RequestID = res.Header.Get("request-id")
	return out, nil
}

// drain reads what stands behind the last event, so that the connection can be used again.
// A service that keeps the stream open loses the connection instead.
func drain(s *sseReader, idle *time.Timer) {
	const patience = 200 * time.Millisecond
	s.onRead = nil
	idle.Reset(patience)
	for range 8 {
		if _, err := s.src.Read(s.buf); err != nil {
			return
		}
	}
}

func (p *Provider) send(ctx context.Context, r model.Request) (*http.Response, error) {
	body := p.body(r)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, nil)
	if err != nil {
		return nil, err
	}
	req.ContentLength = body.size()
	req.Body = body.reader()
	req.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	req.Header = http.Header{
		"Content-Type":      {"application/json"},
		"Accept":            {"text/event-stream"},
		"User-Agent":        {p.o.UserAgent},
		"X-Api-Key":         {p.o.APIKey},
		"Anthropic-Version": {"2023-06-01"},
	}
	return p.client.Do(req)
}

func endpoint(base string) (string, error) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New("the base URL for Anthropic is not an http(s) address; correct ANTHROPIC_BASE_URL")
	}
	u.Path = strings.TrimSuffix(u.Path, "/v1") + "/v1/messages"
	u.RawPath = ""
	return u.String(), nil
}
