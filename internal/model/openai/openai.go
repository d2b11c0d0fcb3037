// Package openai speaks OpenAI's two APIs. Chat Completions is served by many others after it, too: Ollama, vLLM,
// llama.cpp, gateways. The Responses API is the one that OpenAI's own models reason and call tools with; APIFor
// chooses, by the server and the model. The package encodes conversations into the exact bytes that go
// on the wire, and reads the stream that comes back, in any of the dialects these servers have.
//
// A Provider is safe for concurrent use; what it promises about ordering, ownership and
// ends is what internal/model/internal/upstream does: a call holds its stack, its
// connection and one read buffer, nothing is queued and nothing is tried again here, and
// Close drops idle connections only.
//
// What Chat Completions are sent depends on the server in three ways, and Encoder tells which apply.
// api.openai.com is told the limit of a reply as max_completion_tokens, others as
// max_tokens. Its models from gpt-5.4 on are told not to reason where tools are offered:
// there, the service refuses tools together with reasoning, and models that cannot do without
// reasoning, such as gpt-6-astra, are not to be had.
// And a model's thoughts are sent back only to servers that refuse a conversation without
// them (Options.SendThinking).
//
// A server tells what a reply cost in its last chunk. Of a reply that was cut before, and
// of servers that never tell, the cost is estimated as upstream.Bill describes; an error
// whose usage is an estimate says so.
package openai

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

const (
	defaultName = "openai"
	version     = "1"
	// DefaultBaseURL is OpenAI's own service.
	DefaultBaseURL = "https://api.openai.com/v1"

	officialHost = "api.openai.com"
	deepseekHost = "api.deepseek.com"
	requestID    = "x-request-id"
)

// Options are what a Provider can be told. It reads no environment itself, except that
// the default transport honours the proxy variables and the certificate locations that
// Go's libraries do.
type Options struct {
	// Name is the part of a model's full name before the slash; "openai" if empty.
	Name string
	// APIKey goes into the Authorization header; without one there is no header, which
	// is what local servers want. OpenAI itself is not called without a key.
	APIKey string
	// API is what is spoken; Chat Completions if empty.
	API API
	// BaseURL is where /chat/completions and /responses are; DefaultBaseURL if empty. A trailing slash or
	// either name is ignored, and /v1 is added if no part of the path is a version:
	// http://localhost:11434, http://localhost:11434/v1/ and .../v1/chat/completions are
	// the same, and .../api/paas/v4 stays as it is.
	BaseURL string
	// RootCAs replaces the system's certificate authorities.
	RootCAs *x509.CertPool
	// Transport replaces the tuned one, RootCAs included.
	Transport http.RoundTripper
	// IdleTimeout ends a call that has received no byte for so long; 5 minutes if 0. A
	// server that sends nothing while it reads a long prompt may need more.
	IdleTimeout time.Duration
	UserAgent   string
	// Now is the clock that a Retry-After date is compared with; time.Now if nil.
	Now func() time.Time
	// SendThinking sends a model's thoughts back to it, as reasoning_content. It is on by
	// itself for api.deepseek.com, which refuses calls of tools without the thoughts that
	// led to them. Most others ignore or refuse the field. The Responses API sends them in any case.
	SendThinking bool
}

// Provider is one server as a model.Provider.
type Provider struct {
	o        Options
	encoder  string
	official bool
	base     *url.URL // nil if badURL is set
	endpoint string   // where replies are asked for
	badURL   error
	client   *upstream.Client
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider. What is wrong with the options is reported by the first call.
func New(o Options) *Provider {
	if o.Name == "" {
		o.Name = defaultName
	}
	if strings.TrimSpace(o.BaseURL) == "" {
		o.BaseURL = DefaultBaseURL
	}
	o.APIKey = strings.TrimSpace(o.APIKey)
	host := hostOf(o.BaseURL)
	o.SendThinking = (o.SendThinking || host == deepseekHost) && o.API != Responses
	p := &Provider{o: o, official: host == officialHost}
	service, address := "OpenAI", "OPENAI_BASE_URL"
	if !p.official {
		service = o.Name + " (" + host + ")"
	}
	if o.Name != defaultName {
		address = "the base URL of " + o.Name
	}
	speaks, path := "a Chat Completions API", "chat/completions"
	if o.API == Responses {
		speaks, path = "a Responses API", "responses"
	}
	p.client = upstream.New(upstream.Options{
		Service: service, Address: address, Speaks: speaks,
		Key: o.APIKey, RootCAs: o.RootCAs, Transport: o.Transport,
		IdleTimeout: o.IdleTimeout, UserAgent: o.UserAgent, Now: o.Now,
		RequestID: requestID, Refusal: refusal(o.Name), RetryAfter: untilReset,
	})
	p.encoder = o.Name + "/" + version
	switch {
	case o.API == Responses:
		p.encoder += "+responses"
	case p.official:
		p.encoder += "+completion"
	}
	if o.SendThinking {
		p.encoder += "+thinking"
	}
	if p.base, p.badURL = p.client.ParseBase(o.BaseURL); p.badURL == nil {
		p.base.Path = versioned(p.base.Path)
		p.endpoint = p.base.JoinPath(path).String()
	}
	return p
}

// hostOf is the name of a server with its port; nothing of a URL that cannot be read.
func hostOf(base string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// versioned makes what people write for an address into the path that endpoints stand below.
func versioned(path string) string {
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/chat/completions"), "/responses")
	path = strings.TrimRight(path, "/")
	if regexp.MustCompile(`/v[0-9]+[a-z0-9]*(/|$)`).MatchString(path) {
		return path
	}
	return path + "/v1"
}

// Name implements model.Provider.
func (p *Provider) Name() string { return p.o.Name }

// Encoder implements model.Provider.
func (p *Provider) Encoder() string { return p.encoder }

// Close drops the connections that are idle.
func (p *Provider) Close() { p.client.Close() }

// ready says why the provider cannot make any call; nil if it can.
func (p *Provider) ready() error {
	switch {
	case p.badURL != nil:
		return p.badURL
	case p.official && p.o.APIKey == "":
		return &model.Error{Fault: troupe.FaultAuth, Message: "no API key for OpenAI; set OPENAI_API_KEY"}
	default:
		return nil
	}
}

func (p *Provider) headers(accept string) http.Header {
	h := http.Header{"Accept": {accept}}
	if p.o.APIKey != "" {
		h["Authorization"] = []string{"Bearer " + p.o.APIKey}
	}
	return h
}

// Stream implements model.Provider.
func (p *Provider) Stream(ctx context.Context, r model.Request, sink func(model.Delta)) (troupe.Reply, error) {
	if err := p.ready(); err != nil {
		return troupe.Reply{}, err
	}
	post := upstream.Post{URL: p.endpoint, Header: p.headers("text/event-stream")}
	var acc interface {
		upstream.Decoder
		whole() troupe.Reply
	}
	if p.o.API == Responses {
		post.Body = responsesBody(r)
		acc = &itemAccumulator{reply: r.Agent.Reply, provider: p.o.Name, model: r.Model, sink: sink,
			bill: upstream.Bill{Sent: func() int64 { return upstream.Sent(post.Body, inputImage, inputImageEnd) }}}
	} else {
		post.Body = body(r)
		acc = &accumulator{reply: r.Agent.Reply, provider: p.o.Name, model: r.Model, sink: sink,
			keepThoughts: p.o.SendThinking,
			bill:         upstream.Bill{Sent: func() int64 { return upstream.Sent(post.Body, imageStart, imageEnd) }}}
	}
	answer, err := p.client.Stream(ctx, post, acc)
	if err != nil {
		return troupe.Reply{}, err
	}
	out := acc.whole()
	out.RequestID = answer.Get(requestID)
	return out, nil
}
