package home

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/router"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/app/host"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
)

// ServeOptions are how a home is served at an address.
type ServeOptions struct {
	Listen    string   // host:port
	Cert, Key string   // files of the certificate, both or none
	Proxies   []string // addresses or networks of proxies that encrypt calls
	Folders   []string // in which agents work, the usual one first
}

// Served is a home that is served at an address.
type Served struct {
	Address string
	Folders []string // by their real names
	// Code is the first login, and Until when it is good; "" if there is an admin who can log in.
	Code  string
	Until time.Time

	app    *app.App
	host   *host.Host
	server *httpd.Server
}

// Serve opens a home and serves it at an address.
func Serve(ctx context.Context, env Env, o ServeOptions) (_ *Served, err error) {
	if agent, ok := env.Lookup(troupe.AgentVariable); ok && agent != "" {
		return nil, (&Home{agent: agent}).refuseAgent("serve sessions")
	}
	at := httpd.Address{Listen: o.Listen, Log: env.Log}
	if at.Folders, err = servedFolders(o.Folders); err != nil {
		return nil, err
	}
	if at.Proxies, err = proxies(o.Proxies); err != nil {
		return nil, err
	}
	if at.TLS, err = certificate(o.Cert, o.Key); err != nil {
		return nil, err
	}
	env.Serve = true
	e := env.app()
	e.Folders = at.Folders
	a, err := app.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	s := &Served{Folders: at.Folders, app: a, host: app.Host(ctx, a, true)}
	people := app.PeopleOf(a)
	if s.Code, s.Until, err = people.First(ctx); err == nil {
		s.server, err = httpd.Listen(ctx, at, people, func(c troupe.Caller) api.API {
			return s.host.API(router.New(a.As(c), func(socket string) router.Peer { return client.Dial(socket) }, ""))
		})
	}
	if err != nil {
		s.host.Close()
		return nil, errors.Join(err, a.Close())
	}
	scheme := "http://"
	if at.TLS != nil {
		scheme = "https://"
	}
	s.Address = scheme + s.server.Addr().String()
	return s, nil
}

// Warnings lists what is odd in the settings.
func (s *Served) Warnings() []string { return s.app.Warnings() }

// closeWithin is how long calls under way may take when a server ends.
const closeWithin = 5 * time.Second

// Close lets the calls under way come to their end, and ends what runs here. What was under way can be resumed.
func (s *Served) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	err := s.server.Close(ctx)
	s.host.Close()
	return errors.Join(err, s.app.Close())
}

// servedFolders are folders by their real names.
func servedFolders(named []string) ([]string, error) {
	out := make([]string, 0, len(named))
	for _, name := range named {
		real, err := filepath.Abs(name)
		if err == nil {
			real, err = filepath.EvalSymlinks(real)
		}
		if err != nil {
			return nil, &troupe.UserError{Problem: fmt.Sprintf("the folder %s is not to be had: %v", name, err),
				Hint: "Name one that is there with --folder.", Code: troupe.ExitUsage, Err: err}
		}
		if !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out, nil
}

func proxies(named []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range named {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			var ip netip.Addr
			if ip, err = netip.ParseAddr(text); err == nil {
				p = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen())
			}
		}
		if err != nil {
			return nil, &troupe.UserError{Problem: fmt.Sprintf("--behind-proxy %q is no address and no network", text),
				Hint: "Give one such as 10.0.0.5 or 10.0.0.0/24.", Code: troupe.ExitUsage, Err: err}
		}
		out = append(out, p)
	}
	return out, nil
}

// certificate reads what a server proves itself with. It is read again when a call comes and the files have changed by
// then: certificates are renewed while servers run.
func certificate(cert, key string) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil //nolint:nilnil // without one there is no encryption
	}
	if cert == "" || key == "" {
		return nil, &troupe.UserError{Problem: "--tls-cert and --tls-key go together",
			Hint: "Give both, or none.", Code: troupe.ExitUsage}
	}
	r := &renewed{cert: cert, key: key}
	if _, err := r.get(nil); err != nil {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("the certificate cannot be used: %v", err),
			Hint: "--tls-cert is a file with the certificate and those above it, --tls-key one with its key, both as " +
				"PEM.",
			Code: troupe.ExitUsage, Err: err}
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: r.get, NextProtos: []string{"h2", "http/1.1"}}, nil
}
