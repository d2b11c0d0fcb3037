package home

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// ServeOptions are how a home is served at an address.
type ServeOptions struct {
	Listen    string   // host:port
	Cert, Key string   // files of the certificate, both or none
	Proxies   []string // addresses or networks of proxies that encrypt calls
	Folders   []string // in which agents work, the usual one first
	GitHosts  []string // from which repositories are checked out
	Database  string   // the address of a database; "": that of the environment, or the home's own
	// Told is told, in a line, who logs in and what begins, by several goroutines; nil: nobody is.
	Told func(text string)
	// WorkersOnly: a server runs no sessions itself.
	WorkersOnly bool
	// Advertise is the address by which other processes reach a worker that listens; "": the one it listens on.
	Advertise string
}

// Served is a home that is served at an address.
type Served struct {
	Address string
	Folders []string // by their real names
	// Code is the first login, and Until when it is good; "" if there is an admin who can log in.
	Code  string
	Until time.Time

	hosting *hosting
	server  *httpd.Server
}

// Serve opens a home and serves it at an address.
func Serve(ctx context.Context, env Env, o ServeOptions) (_ *Served, err error) {
	if err := refuseToHost(env, "serve sessions"); err != nil {
		return nil, err
	}
	at, err := o.address(env)
	if err != nil {
		return nil, err
	}
	own := at.Folders
	if o.WorkersOnly {
		own = nil
	}
	h, err := openHosting(ctx, o.env(env), part{bound: at.Folders, own: own, hosts: o.GitHosts})
	if err != nil {
		return nil, err
	}
	s := &Served{Folders: at.Folders, hosting: h}
	if _, err = h.announce(ctx); err == nil {
		s.Code, s.Until, err = h.people.First(ctx)
	}
	if err == nil {
		at.Acts, at.Hooks = app.ActsOf(h.app), app.HooksOf(h.app)
		at.Checkouts, at.Metrics = h.checkouts, h.counts
		if o.Told != nil {
			at.Acts = telling{at.Acts, o.Told}
		}
		s.server, err = httpd.Listen(ctx, at, h.people, h.as)
	}
	if err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	s.Address = addressOf(s.server, at)
	return s, nil
}

// telling are acts of which whoever looks at the server is told the few that begin something.
type telling struct {
	httpd.Acts
	told func(text string)
}

func (t telling) Begin(ctx context.Context, a wire.Act) (func(context.Context, error), error) {
	end, err := t.Acts.Begin(ctx, a)
	did := map[string]string{wire.SignInRoute: "logs in", "begin": "begins a session"}[a.Verb]
	if err != nil || did == "" {
		return end, err
	}
	return func(ctx context.Context, err error) {
		end(ctx, err)
		text := fmt.Sprintf("%s (%s) %s", a.By, a.Right, did)
		if a.About != "" {
			text += ": " + a.About
		}
		if err != nil {
			text += ": refused, " + wire.NewProblem(err).Detail
		}
		t.told(text)
	}, nil
}

// Drained implements what a command waits for: a server runs on, though it may have been told to run no sessions.
func (s *Served) Drained() <-chan struct{} { return nil }

// Warnings lists what is odd in the settings, and what is missing.
func (s *Served) Warnings() []string { return app.HostWarnings(s.hosting.app) }

// closeWithin is how long calls under way may take when a server ends.
const closeWithin = 5 * time.Second

// Close lets the calls under way come to their end, and ends what runs here. What was under way can be resumed.
func (s *Served) Close(ctx context.Context) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	return errors.Join(s.server.Close(within), s.hosting.close(ctx))
}

// Working is a process that runs the sessions of a database for its servers.
type Working struct {
	Folders []string
	Reached string // where other processes reach it
	// Shared: it has a database that others have too, and not the file of its home.
	Shared bool

	hosting *hosting
}

// Work opens a home and runs the sessions of its database that work in folders of this machine.
func Work(ctx context.Context, env Env, o ServeOptions) (*Working, error) {
	if err := refuseToHost(env, "run sessions of others"); err != nil {
		return nil, err
	}
	at, err := o.address(env)
	if err != nil {
		return nil, err
	}
	called := o.Advertise
	if called == "" && o.Listen != "" && at.TLS == nil {
		called = "http://" + o.Listen
	}
	if called != "" {
		if err := clearlyNot(called); err != nil {
			return nil, err
		}
	}
	reached := &at
	if o.Listen == "" {
		reached = nil
	}
	h, err := openHosting(ctx, o.env(env), part{bound: at.Folders, own: at.Folders, hosts: o.GitHosts, at: reached,
		advertise: o.Advertise})
	if err != nil {
		return nil, err
	}
	owner, err := h.announce(ctx)
	if err == nil && owner.Socket == "" {
		err = &troupe.UserError{Problem: "this worker cannot be reached by other processes",
			Hint: "See with --debug FILE why it has no socket."}
	}
	if err != nil {
		return nil, errors.Join(err, h.close(ctx))
	}
	database, ok := o.env(env).Lookup(app.DatabaseVariable)
	return &Working{Folders: at.Folders, Reached: owner.Socket, Shared: ok && database != "", hosting: h}, nil
}

// Drained is closed once it takes on nothing any more and nothing is at work in it (troupe admin drain).
func (w *Working) Drained() <-chan struct{} { return w.hosting.host.Load().Drained() }

// Warnings lists what is odd in the settings, and what is missing.
func (w *Working) Warnings() []string { return app.HostWarnings(w.hosting.app) }

// Close ends what runs here. Another worker goes on with it.
func (w *Working) Close(ctx context.Context) error { return w.hosting.close(ctx) }

func refuseToHost(env Env, what string) error {
	return (&Home{agent: troupe.AgentOf(env.Lookup)}).refuseAgent(what)
}

// env is the environment of a process that hosts sessions.
func (o ServeOptions) env(env Env) Env {
	env.Serve = true
	if o.Database == "" {
		return env
	}
	lookup := env.Lookup
	env.Lookup = func(name string) (string, bool) {
		if name == app.DatabaseVariable {
			return o.Database, true
		}
		return lookup(name)
	}
	return env
}

// address is where and how the process listens.
func (o ServeOptions) address(env Env) (at httpd.Address, err error) {
	at = httpd.Address{Listen: o.Listen, Log: env.Log}
	if at.Folders, err = servedFolders(o.Folders); err != nil {
		return at, err
	}
	if err = gitHosts(o.GitHosts); err != nil {
		return at, err
	}
	if at.Proxies, err = proxies(o.Proxies); err != nil {
		return at, err
	}
	at.TLS, err = certificate(o.Cert, o.Key)
	return at, err
}

// servedFolders are folders by their real names.
func servedFolders(named []string) ([]string, error) {
	out := make([]string, 0, len(named))
	for _, name := range named {
		real, err := filepath.Abs(name)
		if err == nil {
			real, err = filepath.EvalSymlinks(real)
		}
		if info, serr := os.Stat(real); err == nil && serr == nil && !info.IsDir() {
			err = errors.New("it is a file")
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

// gitHosts refuses what can be no host.
func gitHosts(named []string) error {
	for _, host := range named {
		if !app.IsGitHost(host) {
			return &troupe.UserError{Problem: fmt.Sprintf("--git-host %q is no host", host),
				Hint: "Give one such as github.com, git.example.com:8443 or git.example.com=gitlab.",
				Code: troupe.ExitUsage}
		}
	}
	return nil
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
