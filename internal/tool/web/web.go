// Package web is the tools that reach the internet: WebFetch reads a page, WebSearch asks a
// search service that the user named.
//
// WebFetch goes where a model says, so it trusts neither the address nor what answers. Every
// address that a name leads to is judged, and what is dialled is an address that was judged:
// a name that changes its mind in between gains nothing. Redirects to another host are told
// and not followed, so that the gate judges each host under its own name. Time, bytes on the
// wire, bytes after unpacking, headers and nesting are capped. What was read is data: it is
// cleaned of what a person would not see, and cannot look like the runtime's own markers.
//
// The one thing kept between calls is the text of pages read in the last minutes, never an
// answer about them. It is bounded, guarded by a lock, and gone with the process. Every call
// works on its own connection, which ends with the call.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/troupe-dev/troupe/internal/tool"
)

// Options are what may differ from the default.
type Options struct {
	// Allow judges each address before it is dialled; an error refuses it. Nil means that
	// only public addresses are allowed (see publicOnly).
	Allow func(netip.AddrPort) error
	// Local are hosts on this machine or in its network that may be read all the same, each with :port
	// at its end if that is neither 80 nor 443.
	Local []string
	// Setting is where Local is named; "" means fetch.local_hosts.
	Setting string
	// Loopback lets Client reach this machine under its own names (localhost, 127.0.0.1, ::1).
	Loopback bool
	// Resolver finds the addresses of names; nil means the system's.
	Resolver *net.Resolver
	// UserAgent is how servers are told who asks; "" means "troupe".
	UserAgent string
	// Search is the user's search service; without it there is no WebSearch.
	Search SearchSettings
}

// Client reaches what WebFetch may reach: public addresses, and the hosts nearby that the user named. It follows no
// redirect. An error is about the settings.
func Client(o Options) (*http.Client, error) {
	o.Setting = cmp.Or(o.Setting, "fetch.local_hosts")
	local, err := readLocal(o.Local)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Setting, err)
	}
	d := &guardedDialer{allow: publicOnly(), local: local, resolver: net.DefaultResolver, loopback: o.Loopback}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.dial(ctx, network, addr)
		if refused := (*refusedError)(nil); errors.As(err, &refused) {
			err = fmt.Errorf("%w; if that is wanted, name it in %s of the settings", err, o.Setting)
		}
		return conn, err
	}
	return &http.Client{
		Transport:     newGetter(dial, local, o.UserAgent).transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Check refuses an address that a Client with these options never reaches, or to which what is sent could be read on
// its way: without encryption it is one of this machine that Local names. Where a name leads is judged when it is
// dialled.
func Check(o Options, address string) error {
	local, err := readLocal(o.Local)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Setting, err)
	}
	u, err := readAddress(address, local)
	if err != nil {
		return fmt.Errorf("it %w", err)
	}
	host := u.Hostname()
	scheme, _, _ := strings.Cut(address, ":") // u has https where that is better
	near := (isLoopback(host) || host == "localhost") && local.names(host, portOf(u))
	if !strings.EqualFold(scheme, "https") && !near {
		return errors.New("it is not encrypted; write https://")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		d := &guardedDialer{allow: publicOnly(), local: local}
		return d.judge(host, portOf(u))(netip.AddrPortFrom(ip, portOf(u)))
	}
	return nil
}

// New returns WebFetch and WebSearch, which is only known, and cannot be had, unless a search
// service was named. An error is about the settings.
func New(o Options) ([]tool.Descriptor, error) {
	if o.Allow == nil {
		o.Allow = publicOnly()
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.UserAgent == "" {
		o.UserAgent = "troupe"
	}
	local, err := readLocal(o.Local)
	if err != nil {
		return nil, fmt.Errorf("fetch.local_hosts: %w", err)
	}
	d := &guardedDialer{allow: o.Allow, local: local, resolver: o.Resolver}
	fetch := &fetchTool{judge: d.judge, get: newGetter(d.dial, local, o.UserAgent), pages: newCache()}
	if o.Search.URL == "" {
		return []tool.Descriptor{fetch.describe(), describeSearch()}, nil
	}
	s, err := newSearch(o.Search, o.UserAgent)
	if err != nil {
		return nil, fmt.Errorf("web search: %w", err)
	}
	return []tool.Descriptor{fetch.describe(), describeSearch().With(s)}, nil
}
