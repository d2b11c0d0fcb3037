package login

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// Pending is a login that waits for a person.
type Pending struct {
	login   *Login
	scopes  []string
	cancel  context.CancelFunc
	work    sync.WaitGroup
	listen  net.Listener
	back    *url.URL // where the browser is sent in the end
	came    chan *auth.AuthorizationResult
	refused chan error
	done    chan struct{} // closed when it is over
	settled chan struct{} // closed when err is known: what the browser shows waits for it

	mu      sync.Mutex
	asked   chan struct{} // closed when address is known
	address string
	state   string // what the right browser says
	err     error  // set before settled is closed
}

// patience is how long a person may take.
const patience = 10 * time.Minute

// Begin begins a login, and returns when a person can go on with it. scopes are asked for besides what the server
// names. Of ctx only the values outlast the call.
func (l *Login) Begin(ctx context.Context, scopes []string) (*Pending, error) {
	if err := l.possible(); err != nil {
		return nil, err
	}
	client, err := l.client()
	if err != nil {
		return nil, err
	}
	if o := l.entry.OAuth; o != nil && o.Secret != "" {
		l.store.o.Secret(o.Secret)
	}
	p := &Pending{login: l, scopes: scopes, came: make(chan *auth.AuthorizationResult, 1),
		refused: make(chan error, 1), done: make(chan struct{}), settled: make(chan struct{}),
		asked: make(chan struct{})}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	p.cancel = cancel
	srv := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	p.work.Go(func() { _ = srv.Serve(p.listen) }) // it ends when it is closed
	p.work.Go(func() {
		defer close(p.done)
		defer cancel()
		p.err = p.run(run, client)
		close(p.settled)
		// The page that says so is on its way.
		polite, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		_ = srv.Shutdown(polite)
		_ = srv.Close()
	})
	select {
	case <-p.asked:
		return p, nil
	case <-p.done:
		p.work.Wait()
		if p.err == nil {
			return nil, errors.New("it was over before anybody was asked")
		}
		return nil, p.err
	case <-ctx.Done():
		p.End()
		return nil, fmt.Errorf("begin the login: %w", ctx.Err())
	}
}

// open listens where the browser will be sent to.
func (p *Pending) open(ctx context.Context) error {
	p.back = &url.URL{Scheme: "http", Path: "/callback"}
	at := "127.0.0.1:0"
	if o := p.login.entry.OAuth; o != nil && o.Redirect != "" {
		u, err := url.Parse(o.Redirect)
		if err != nil {
			return fmt.Errorf("read the redirect of its entry: %w", err)
		}
		p.back, at = u, net.JoinHostPort(u.Hostname(), u.Port())
		if u.Hostname() == "localhost" {
			at = net.JoinHostPort("127.0.0.1", u.Port())
		}
	}
	var err error
	if p.listen, err = new(net.ListenConfig).Listen(ctx, "tcp", at); err != nil {
		return fmt.Errorf("listen for the browser: %w", err)
	}
	if p.back.Host == "" {
		p.back.Host = p.listen.Addr().String()
	}
	return nil
}

// Address is what a person opens in a browser, and Redirect where that is sent in the end.
func (p *Pending) Address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

// Redirect is where the browser is sent in the end.
func (p *Pending) Redirect() string { return p.back.String() }

// Wait waits until the login is over.
func (p *Pending) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the login: %w", ctx.Err())
	}
}

// End gives it up, if it is not over.
func (p *Pending) End() {
	p.cancel()
	p.work.Wait()
}

// run asks the server, whose refusal says where to log in, and does all the rest of it.
func (p *Pending) run(ctx context.Context, client *http.Client) error {
	r, resp, err := p.login.probe(ctx)
	if err != nil {
		return plain(err)
	}
	open := resp.StatusCode/100 == 2
	switch {
	case open: // it may want to know at a call
		_ = resp.Body.Close() // nothing in it is wanted
		resp = &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody}
	case resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		_ = resp.Body.Close() // nothing in it is wanted
		return fmt.Errorf("the server answered %s, and asks for no login", status(resp))
	}
	r = r.Clone(ctx)
	r.URL.RawQuery, r.URL.Fragment = "", ""   // the address becomes the name of what is logged in to; this may be a key
	resp.StatusCode = http.StatusUnauthorized // a 403 without a challenge would not be looked at
	var got *record
	h, err := auth.NewAuthorizationCodeHandler(p.config(client, func(cfg *oauth2.Config, t *oauth2.Token) {
		got = &record{Server: p.login.entry.Name, At: p.login.store.o.Now().UTC(), URL: p.login.entry.URL,
			Source: p.login.source, TokenURL: cfg.Endpoint.TokenURL, ClientID: cfg.ClientID, Secret: cfg.ClientSecret,
			Style: cfg.Endpoint.AuthStyle}
		got.take(t, p.login.store.o.Now())
	}))
	if err != nil {
		return plain(errors.Join(err, resp.Body.Close()))
	}
	err = h.Authorize(ctx, r, resp)
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("there was no login within %v", patience)
	case ctx.Err() != nil:
		return errors.New("the login was given up")
	case err != nil && open:
		return fmt.Errorf("the server asks for no login, and offers none: %w", plain(err))
	case err != nil:
		return plain(err)
	case got == nil || got.Access == "":
		return errors.New("the authorization server gave nothing that can be used")
	}
	return p.login.keep(ctx, got)
}

func (p *Pending) config(client *http.Client, got func(*oauth2.Config, *oauth2.Token),
) *auth.AuthorizationCodeHandlerConfig {
	back := p.back.String()
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back, Client: client, AuthorizationCodeFetcher: p.fetch, RequestRefreshToken: true,
		AcceptUnadvertisedIss: true, // one that is right does no harm
		ScopeFilter:           p.filter,
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			if !strings.EqualFold(t.Type(), "Bearer") {
				return nil, errKind
			}
			got(c, t)
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if o := p.login.entry.OAuth; o != nil && o.ID != "" {
		cfg.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ID, Issuer: o.Issuer}
		if o.Secret != "" {
			cfg.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.Secret}
		}
		return cfg
	}
	cfg.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
		Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "Troupe", RedirectURIs: []string{back},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
			TokenEndpointAuthMethod: "none"}}
	return cfg
}

// filter are the scopes that are asked for.
func (p *Pending) filter(named []string) []string {
	if o := p.login.entry.OAuth; o != nil && o.Scopes != nil {
		named = o.Scopes
	}
	return append(named[:len(named):len(named)], p.scopes...)
}

// probe asks the server something as nobody.
func (l *Login) probe(ctx context.Context) (*http.Request, *http.Response, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"troupe","version":"1"}}}`
	method, body := http.MethodPost, io.Reader(strings.NewReader(hello))
	if l.entry.Type == entry.SSE {
		method, body = http.MethodGet, http.NoBody
	}
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, l.entry.URL, body)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range l.entry.Headers {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // as connections do; it follows no redirect
	if err != nil {
		return nil, nil, err
	}
	_ = resp.Body.Close() // what it refuses with stands in its headers
	resp.Body = io.NopCloser(bytes.NewReader(nil))
	return r, resp, nil
}

// fetch has a person open an address, and waits for what the browser brings back.
func (p *Pending) fetch(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, ours("the server names an address to log in at that cannot be read")
	}
	home, err := p.login.home()
	if err != nil {
		return nil, err
	}
	if err := secure(u, entry.Loopback(home.Hostname())); err != nil {
		return nil, err
	}
	q := u.Query()
	if q.Get("state") == "" { // it is behind a # of the server's, and no browser would bring it back
		return nil, ours("the server names an address to log in at that cannot be used")
	}
	u.RawQuery, u.Fragment = q.Encode(), "" // nothing in it can look like something else
	p.mu.Lock()
	p.address, p.state = u.String(), q.Get("state")
	p.mu.Unlock()
	close(p.asked)
	select {
	case got := <-p.came:
		return got, nil
	case err := <-p.refused:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ServeHTTP implements http.Handler: it hears what the browser brings. Whoever does not know the state is not heard.
func (p *Pending) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	p.mu.Lock()
	state := p.state
	p.mu.Unlock()
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != cmp.Or(p.back.Path, "/") || state == "" ||
		subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
		http.Error(w, "This is not a login that was begun here.", http.StatusBadRequest)
		return
	}
	if code := q.Get("error"); code != "" || q.Get("code") == "" {
		select {
		case p.refused <- ours("the login was refused (" + shown(strings.TrimSpace(code+" "+
			q.Get("error_description"))) + ")"):
		default:
		}
	} else {
		select {
		case p.came <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}:
		default: // it came already
		}
	}
	select {
	case <-p.settled: // what is said is what has become of it
	case <-r.Context().Done():
		return
	}
	if p.err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "You are not logged in: "+p.err.Error()+". You may close this page.\n")
		return
	}
	_, _ = io.WriteString(w, "You are logged in. You may close this page and look at the terminal.\n")
}
