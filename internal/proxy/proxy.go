// Package proxy is the way out for confined commands: a proxy on this machine that lets the
// hosts through which rules name, and no others.
//
// The kernel lets such a command connect to one port of this machine only; what it may reach
// from there is decided here, by name. HTTPS passes through a tunnel that is not opened: the
// name in the client's first message has to be the host that was asked for, and what is
// encrypted after it stays unread. An allowed host that serves other names as well can
// therefore reach those too. A name that leads to an address of this machine or of a local
// network is refused, unless the address itself is on the list.
//
// A Proxy owns its listener and every connection through it. One goroutine accepts; each
// connection has its own, and a tunnel one more. When maxConns are open, further ones wait in
// the kernel's queue. Whoever stalls loses the connection after a while of silence, and any
// connection ends after maxLife. Close, or the end of the context given to Start, ends all of
// them and waits until they have.
package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"code.dny.dev/ssrf"
)

// Limits of connections through a proxy.
const (
	maxConns    = 256
	maxHeader   = 64 << 10
	connectTime = 10 * time.Second // for reaching a host
	helloTime   = 15 * time.Second // for a request's header, and for a tunnel's first message
	idleTime    = 5 * time.Minute
	maxLife     = time.Hour
)

// Options say what passes.
type Options struct {
	// Allow lists hosts: "example.com", "*.example.com" for all below it, "*" for every public
	// host, an IP address, "localhost"; each with ":port" at its end for that port only, else
	// for 80 and 443.
	Allow []string
	// Deny takes hosts out of Allow, in the same forms. Without a port it is for all ports.
	Deny []string
	// Log is told of every request, before it is carried out: host is "example.com:443". It is
	// called by many goroutines at once. Nil: nobody is told.
	Log func(host string, allowed bool)
	// Most is how many bytes hosts may send in all; 0: as many as they like. What comes behind it is an error of the
	// connection.
	Most int64
	// Resolver finds the addresses of names; nil means the system's.
	Resolver *net.Resolver
}

// Proxy is a running proxy.
type Proxy struct {
	list   allowlist
	deny   allowlist
	log    func(host string, allowed bool)
	public *ssrf.Guardian
	token  string
	dial   func(ctx context.Context, host string, port int, e entry) (net.Conn, error)

	listener net.Listener
	server   *http.Server
	stop     context.CancelFunc
	served   chan struct{} // closed when the server has returned
	closed   chan struct{} // closed when nothing is left

	mu       sync.Mutex
	ending   bool           // no request begins any more; guarded by mu
	requests sync.WaitGroup // those at work, tunnels included; added to with mu held
}

// Start begins to listen on a free port of this machine. It ends with ctx, or with Close.
func Start(ctx context.Context, o Options) (*Proxy, error) {
	list, err := parseList(o.Allow)
	if err != nil {
		return nil, err
	}
	deny, err := parseList(o.Deny)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the network proxy: %w", err)
	}
	p := newProxy(o, list)
	p.deny = deny
	p.serve(ctx, l)
	return p, nil
}

func newProxy(o Options, list allowlist) *Proxy {
	p := &Proxy{
		list: list, log: o.Log, token: rand.Text(),
		public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(
			netip.MustParsePrefix("168.63.129.16/32"), // a public address in name only: Azure's host, from within
		)),
		served: make(chan struct{}), closed: make(chan struct{}),
	}
	if p.log == nil {
		p.log = func(string, bool) {}
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	p.dial = (&dialer{public: p.public, resolver: o.Resolver}).dial
	if o.Most > 0 {
		p.dial = metered(p.dial, o.Most)
	}
	return p
}

// serve takes over l. It returns at once.
func (p *Proxy) serve(ctx context.Context, l net.Listener) {
	ctx, p.stop = context.WithCancel(ctx)
	p.listener = newLimited(l, maxConns)
	p.server = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: helloTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(p.listener) // it ends when the listener is closed
	}()
	go func() {
		defer close(p.closed)
		<-ctx.Done()
		_ = p.server.Close()
		<-p.served
		p.mu.Lock()
		p.ending = true
		p.mu.Unlock()
		p.requests.Wait()
	}()
}

// enter counts a request as being at work. It is false if the proxy ends.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ending {
		p.requests.Add(1)
	}
	return !p.ending
}

// Port is where the proxy listens, on 127.0.0.1.
func (p *Proxy) Port() int {
	if a, ok := p.listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// Close ends the proxy and all connections through it, and returns when they have ended.
func (p *Proxy) Close() error {
	p.stop()
	<-p.closed
	return nil
}

// Address is what a program is told to go through. It holds the word that only the proxy's programs know.
func (p *Proxy) Address() string {
	return "http://" + user + ":" + p.token + "@" + net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port()))
}

// Environ are the variables that lead a command's programs here. They hold the word that only
// they know, so that other users of the machine cannot go out through this proxy. NO_PROXY is
// set to nothing: there is no other way out, not even to this machine.
func (p *Proxy) Environ() []string {
	through := p.Address()
	return []string{
		"HTTP_PROXY=" + through, "http_proxy=" + through,
		"HTTPS_PROXY=" + through, "https_proxy=" + through,
		"ALL_PROXY=" + through, "all_proxy=" + through,
		"NO_PROXY=", "no_proxy=",
	}
}

// errMuch: hosts have sent more than they may.
var errMuch = errors.New("it sent more than it may")

// errRefused: an address is not one that its name may lead to.
var errRefused = errors.New("it leads to an address of this machine, of a local network, or one that is reserved")
