// Package anthropic speaks the Messages API: it encodes conversations into the exact bytes
// that go on the wire, and reads the stream of events that comes back.
//
// A Provider is safe for concurrent use and starts no goroutine of its own; those of net/http live as long as their
// connections. Each call holds its stack, its connection and, once the reply has begun, one read buffer. Nothing is
// queued and nothing is tried again here: who calls decides how many calls run at once and when to repeat one. A call
// ends when its reply is whole, its context is done, or the service has been silent for the idle timeout. Close drops
// idle connections; calls under way are ended by their own contexts.
//
// The service counts what it has said in its last events. Of a reply that was cut before,
// and of gateways that never tell, the cost is estimated as upstream.Bill describes; an
// error whose usage is an estimate says so.
//
// What it shares with other services stands in internal/model/internal/upstream.
// docs/adr/0002-model-transport.md says why this is not the vendor's SDK.
package anthropic

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

const (
	name    = "anthropic"
	encoder = "anthropic/1"
	// DefaultBaseURL is the provider's own service.
	DefaultBaseURL = "https://api.anthropic.com"

	requestID = "request-id"
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
	o      Options
	url    string
	badURL error
	client *upstream.Client
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider. What is wrong with the options is reported by the first call.
func New(o Options) *Provider {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	o.APIKey = strings.TrimSpace(o.APIKey)
	p := &Provider{o: o, client: upstream.New(upstream.Options{
		Service: "Anthropic", Address: "ANTHROPIC_BASE_URL", Speaks: "a Messages API",
		Key: o.APIKey, RootCAs: o.RootCAs, Transport: o.Transport,
		IdleTimeout: o.IdleTimeout, UserAgent: o.UserAgent, Now: o.Now,
		RequestID: requestID, Refusal: refusal,
	})}
	base, err := p.client.ParseBase(o.BaseURL)
	if err != nil {
		p.badURL = err
		return p
	}
	base.Path = strings.TrimSuffix(base.Path, "/v1") + "/v1/messages"
	p.url = base.String()
	return p
}

// Name implements model.Provider.
func (p *Provider) Name() string { return name }

// Encoder implements model.Provider.
func (p *Provider) Encoder() string { return encoder }

// Close drops the connections that are idle.
func (p *Provider) Close() { p.client.Close() }

// Stream implements model.Provider.
func (p *Provider) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	switch {
	case p.badURL != nil:
		return troupe.Reply{}, p.badURL
	case p.o.APIKey == "":
		return troupe.Reply{}, &model.Error{Fault: troupe.FaultAuth,
			Message: "no API key for Anthropic; set ANTHROPIC_API_KEY"}
	}
	body := p.body(r)
	acc := accumulator{reply: r.Agent.Reply, model: r.Model, sink: sink}
	acc.bill.Sent = func() int64 { return upstream.Sent(body, imageStart, imageEnd) }
	answer, err := p.client.Stream(ctx, upstream.Post{
		URL: p.url,
		Header: http.Header{
			"Accept":            {"text/event-stream"},
			"X-Api-Key":         {p.o.APIKey},
			"Anthropic-Version": {"2023-06-01"},
		},
		Body: body,
	}, &acc)
	if err != nil {
		return troupe.Reply{}, err
	}
	out := acc.whole()
	out.RequestID = answer.Get(requestID)
	return out, nil
}
