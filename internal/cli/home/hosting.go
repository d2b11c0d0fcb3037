package home

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/router"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/app/notice"
	"github.com/troupe-dev/troupe/internal/app/people"
	"github.com/troupe-dev/troupe/internal/app/schedule"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// hosting is an open home whose sessions are kept going, here or in other processes of its database.
type hosting struct {
	app    *app.App
	people *people.People
	counts *metrics.Set
	secret string // by which these processes know each other
	host   atomic.Pointer[host.Host]
	// checkouts is the folder of repositories that were checked out.
	checkouts string
	keeper    *schedule.Keeper // begins what is scheduled; nil: it is not announced
	notices   *notice.Teller
}

// part is what a process has of a server.
type part struct {
	bound []string // folders in which the agents of its users work
	own   []string // those of them that this process has
	hosts []string // from which it checks repositories out
	// at is where others reach what runs here besides a socket, and advertise how they call it; nil: nowhere.
	at        *httpd.Address
	advertise string
}

// openHosting opens a home and begins to keep its sessions going.
func openHosting(ctx context.Context, env Env, p part) (*hosting, error) {
	h := &hosting{counts: metrics.New()}
	metrics.Process(h.counts, env.Version, env.Now())
	e := env.app()
	e.Folders, e.GitHosts, e.Metrics = p.bound, p.hosts, h.counts
	at, advertise := p.at, p.advertise
	e.Serve = func(ctx context.Context, a *app.App, path string) (app.Served, error) {
		runtime, _ := env.Lookup("XDG_RUNTIME_DIR")
		s, err := httpd.Serve(ctx, path, h.as, httpd.Options{Runtime: runtime, Temp: os.TempDir(), Keys: h.people,
			Folders: p.bound, Checkouts: h.checkouts, Log: env.Log, Metrics: h.counts})
		if err != nil || at == nil {
			return s, err
		}
		at.Metrics, at.Lookers = h.counts, h.people // users may look at what a worker counts, and do no more there
		l, err := httpd.Listen(ctx, *at, peersOnly{h.people}, h.as)
		if err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
		if advertise == "" {
			advertise = addressOf(l, *at)
		}
		return &listening{s, l, advertise}, nil
	}
	a, err := app.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	h.app, h.people = a, app.PeopleOf(a)
	if h.checkouts, err = app.Checkouts(a); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if h.secret, err = h.people.Peers(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	own := p.own
	if left, _ := os.ReadDir(h.checkouts); len(own) > 0 && len(p.hosts)+len(left) > 0 { // what began there goes on
		own = append(slices.Clip(own), h.checkouts)
	}
	h.notices = app.NoticesOf(a)
	h.host.Store(app.Host(ctx, a, own, h.checkouts, h.notices.Tell, func(socket string,
		c troupe.Caller) host.Peer {
		return h.dial(socket, c)
	}))
	return h, nil
}

// as is what a caller may ask for: whichever process has a tree, and whoever keeps it going.
func (h *hosting) as(c troupe.Caller) api.API {
	here := router.New(h.app.As(c), func(socket string) router.Peer { return h.dial(socket, c) }, "")
	if kept := h.host.Load(); kept != nil {
		return kept.API(here, c)
	}
	return here // it is just being opened
}

// dial reaches another process of the database, which is told whom this one speaks for.
func (h *hosting) dial(socket string, c troupe.Caller) *client.Client {
	switch {
	case !strings.HasPrefix(socket, "http"):
		return client.Dial(socket).For(h.secret, c)
	case inTheClear(socket):
		return client.At(socket, "") // what proves that a process is one of the database's is not sent there
	}
	return client.At(socket, "").For(h.secret, c)
}

// inTheClear reports whether calls to an address of another machine would not be encrypted.
func clearlyNot(address string) error {
	if !inTheClear(address) {
		return nil
	}
	return &troupe.UserError{Problem: fmt.Sprintf("other processes would call this one at %q, which is not encrypted: "+
		"what proves that a process is one of the database's could be read on its way", address),
		Hint: "Give an address that begins with https:// with --advertise.", Code: troupe.ExitUsage}
}

func inTheClear(address string) bool {
	u, err := url.Parse(address)
	return err != nil || u.Scheme != "https" && !isHere(u.Hostname())
}

// announce says to the other processes of the database which folders this one has, and begins what is scheduled there.
func (h *hosting) announce(ctx context.Context) (troupe.Owner, error) {
	owner, err := app.Ready(ctx, h.app)
	if err == nil {
		err = h.host.Load().Announce(ctx, owner)
	}
	if err == nil {
		h.notices.Begin(ctx, owner.ID)
		h.keeper = app.KeepSchedules(ctx, h.app, owner.ID, h.host.Load(), h.as)
	}
	return owner, err
}

func (h *hosting) close(ctx context.Context) error {
	if h.keeper != nil {
		h.keeper.Close()
	}
	err := h.host.Load().Close(ctx)
	h.notices.Close()
	return errors.Join(err, h.app.Close())
}

// listening is what answers on a socket and at an address.
type listening struct {
	socket, address *httpd.Server

	advertised string
}

// Path is where other processes reach it.
func (l *listening) Path() string { return l.advertised }

// Close ends both.
func (l *listening) Close(ctx context.Context) error {
	return errors.Join(l.address.Close(ctx), l.socket.Close(ctx))
}

// peersOnly lets nobody in but processes of the same database.
type peersOnly struct{ *people.People }

// Whose refuses users: they call the server, which knows what they may do.
func (p peersOnly) Whose(ctx context.Context, token string) (troupe.Caller, error) {
	c, err := p.People.Whose(ctx, token)
	if err == nil && c.Right != troupe.RightSystem {
		err = errNoServer()
	}
	return c, err
}

// SignIn refuses to give tokens: a code is not used up at the wrong address.
func (p peersOnly) SignIn(context.Context, wire.SignIn) (wire.SignedIn, error) {
	return wire.SignedIn{}, errNoServer()
}

func errNoServer() error {
	return &troupe.UserError{Problem: "this is a worker, and no server", Hint: "Call the address of the server.",
		Code: troupe.ExitPermission}
}

// addressOf is the address of what listens, with its scheme.
func addressOf(s *httpd.Server, at httpd.Address) string {
	scheme, host := "http://", s.Addr().String()
	if at.TLS != nil {
		scheme = "https://"
	}
	// An address that stands for all of the machine's is none that others can call.
	if name, port, err := net.SplitHostPort(host); err == nil && net.ParseIP(name).IsUnspecified() {
		if own, err := os.Hostname(); err == nil {
			host = net.JoinHostPort(own, port)
		}
	}
	return scheme + host
}
