package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Keys say who may call a server.
type Keys interface {
	// Whose is the caller whom a token belongs to. A troupe.UserError with troupe.ExitPermission says that it is
	// nobody's.
	Whose(ctx context.Context, token string) (troupe.Caller, error)
	// SignIn gives a token for a login code.
	SignIn(ctx context.Context, in wire.SignIn) (wire.SignedIn, error)
	// Ready says what keeps them from knowing.
	Ready(ctx context.Context) error
}

// Acts note who does what.
type Acts interface {
	// Begin notes an act that is about to be carried out, and end what came of it.
	Begin(ctx context.Context, a wire.Act) (end func(ctx context.Context, err error), err error)
}

// Webhooks take what programs elsewhere deliver.
type Webhooks interface {
	// Deliver takes a delivery in. A troupe.UserError with troupe.ExitPermission says that it is nobody's.
	Deliver(ctx context.Context, d wire.Delivery) (wire.Delivered, error)
}

// Address is where and how a server listens for other machines, and for programs that come with a token.
type Address struct {
	Listen string // host:port; port 0 takes a free one
	// TLS is what the server proves itself with; nil: calls are not encrypted.
	TLS *tls.Config
	// Proxies are the addresses of those that encrypt calls for a server without TLS, and pass them on. Others are not
	// answered then.
	Proxies []netip.Prefix
	// Folders are those in which agents work, the usual one first.
	Folders []string
	// Checkouts holds the folders of repositories that were checked out, in which agents work too; "": there are none.
	Checkouts string
	// Metrics counts what is asked of it, and is told to whoever may look; nil: nothing is counted. Lookers say
	// who may, where that is not for the keys to say.
	Metrics *metrics.Set
	Lookers Keys

	Acts  Acts         // what users do is noted there; nil: nowhere
	Hooks Webhooks     // nil: nothing is taken
	Log   *slog.Logger // nil: nobody
}

// Listen begins to serve the use cases at an address. Every call but a sign-in comes with a token in its header; what
// it may do is what its user may. Beyond this machine it listens only encrypted, or behind a proxy that does that.
//
// ctx is for its values; only Close ends the server.
func Listen(ctx context.Context, at Address, keys Keys, cases Bind) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", at.Listen)
	if err != nil {
		return nil, &troupe.UserError{Problem: fmt.Sprintf("%s cannot be listened on: %v", at.Listen, err),
			Hint: "Give another address, such as --listen 127.0.0.1:0, which takes a free port.",
			Code: troupe.ExitUsage, Err: err}
	}
	local := isLoopback(l.Addr().String())
	if !local && at.TLS == nil && len(at.Proxies) == 0 {
		return nil, errors.Join(&troupe.UserError{
			Problem: fmt.Sprintf("%s can be reached from other machines, and calls would not be encrypted", l.Addr()),
			Hint: "Give --tls-cert and --tls-key, or name with --behind-proxy the address of the proxy that encrypts " +
				"them; or listen on 127.0.0.1.", Code: troupe.ExitUsage}, l.Close())
	}
	if at.TLS != nil {
		l = tls.NewListener(l, at.TLS)
	}
	o := &operations{bind: cases, keys: keys, in: at.Folders, checkouts: at.Checkouts, acts: at.Acts,
		hooks: at.Hooks, metrics: at.Metrics}
	door := newDoor(at, keys, local && len(at.Proxies) == 0)
	s := newServer(ctx, o, door.at.Log, func(net.Conn) peer { return peer{} }, door.admit)
	s.addr = l.Addr()
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// Addr is the address that a server listens on, with its port.
func (s *Server) Addr() net.Addr { return s.addr }

// isLoopback reports whether an address, with or without a port, is of this machine alone.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// keysWait is how long a database may take to say who calls, before the caller is told that it does not answer.
const keysWait = 4 * time.Second

// How often strangers may log in and come with wrong tokens (each address alone, and each of the two by itself), and
// what a user's token is good for in a second.
const (
	strangerRate, strangerBurst = 0.2, 10
	userRate, userBurst         = 200, 1000
	// What comes from one address to webhooks, whoever sends it: many have the same forge as their sender.
	deliveryRate, deliveryBurst = 20, 200
)

// door lets the calls in that come with a token.
type door struct {
	keys  Keys
	at    Address
	local bool // no proxy passes calls on, and none comes from another machine
	// strangers are the addresses that come with wrong tokens, and logins those that log in.
	strangers, logins, users, deliveries *limits
	known                                *known
	lookups                              lookups
}

func newDoor(at Address, keys Keys, local bool) *door {
	if at.Log == nil {
		at.Log = slog.New(slog.DiscardHandler)
	}
	return &door{keys: keys, at: at, local: local, strangers: newLimits(strangerRate, strangerBurst),
		logins: newLimits(strangerRate, strangerBurst), users: newLimits(userRate, userBurst),
		deliveries: newLimits(deliveryRate, deliveryBurst), known: newKnown()}
}

// admit is an admission. Nothing that a call says of where it comes from counts, but for what a listed proxy adds.
func (d *door) admit(r *http.Request) (troupe.Caller, *wire.Problem) {
	from, listed := d.from(r)
	calledOf(r.Context()).from = from
	switch {
	case len(d.at.Proxies) > 0 && !listed:
		calledOf(r.Context()).refused = "proxy"
		return troupe.Caller{}, problem(http.StatusForbidden, "this server answers its proxy alone",
			"Call the address of the proxy.")
	case d.local && !isLoopback(r.Host):
		calledOf(r.Context()).refused = "host"
		// A page of another site, whose name was made to mean this machine, shows itself by the name.
		return troupe.Caller{}, problem(http.StatusForbidden,
			fmt.Sprintf("%.100q is not a name of this machine", r.Host),
			"Call it by 127.0.0.1 or localhost.")
	}
	if r.Method == http.MethodGet && (r.URL.Path == livePath || r.URL.Path == readyPath) {
		if !d.users.take(from) {
			return troupe.Caller{}, much(r, "too_many_calls", "there are too many calls from "+from)
		}
		return troupe.Caller{}, nil
	}
	signIn := wire.RouteOf(wire.SignInRoute)
	if r.Method == signIn.Method && r.URL.Path == signIn.Path {
		if !d.logins.take(from) {
			return troupe.Caller{}, much(r, "too_many_logins", "there were too many logins from "+from)
		}
		return troupe.Caller{}, nil
	}
	if d.delivers(r) {
		if !d.deliveries.take(from) {
			return troupe.Caller{}, tooMuch("there are too many deliveries from " + from)
		}
		return troupe.Caller{}, nil
	}
	secret, ok := bearer(r)
	if !ok {
		return troupe.Caller{}, problem(http.StatusUnauthorized, "the call comes without a token",
			"Log in: troupe login ADDRESS. The token goes into the header: Authorization: Bearer TOKEN.")
	}
	c, refused := d.whose(r, secret, from)
	if refused != nil {
		return troupe.Caller{}, refused
	}
	if c.Right != troupe.RightSystem && !d.users.take(c.Token) {
		return troupe.Caller{}, much(r, "too_many_calls", "there are too many calls with this token")
	}
	return spokenFor(r, c)
}

// delivers reports whether a call delivers something to a webhook.
func (d *door) delivers(r *http.Request) bool {
	route := wire.RouteOf(wire.DeliverRoute)
	before, behind, _ := strings.Cut(route.Path, "{webhook}")
	name, ok := strings.CutPrefix(r.URL.Path, before)
	name, also := strings.CutSuffix(name, behind)
	return r.Method == route.Method && ok && also && name != "" && !strings.Contains(name, "/")
}

// whose says who calls. Of calls that come at once with a token that is not known, as all do behind a restart, one
// looks it up.
func (d *door) whose(r *http.Request, secret, from string) (c troupe.Caller, p *wire.Problem) {
	for !d.known.has(secret) {
		l, first := d.lookups.begin(secret)
		if first {
			defer func() { d.lookups.end(secret, l, p) }()
			return d.lookUp(r, secret, from, false)
		}
		select {
		case <-l.done:
			if l.problem != nil && l.problem.Status == http.StatusServiceUnavailable {
				same := *l.problem
				return troupe.Caller{}, &same
			}
		case <-r.Context().Done():
			return troupe.Caller{}, unreachable(d.at.Log, r.Context().Err())
		}
	}
	return d.lookUp(r, secret, from, true)
}

// lookUp looks a token up. Until it is known to be good it counts as a wrong one of its address, so that no more are
// looked up at once either; who was let in before is kept out by no neighbour.
func (d *door) lookUp(r *http.Request, secret, from string, known bool) (troupe.Caller, *wire.Problem) {
	keys := d.keys
	if d.at.Lookers != nil && r.Method == http.MethodGet && r.URL.Path == metricsPath {
		keys = d.at.Lookers
	}
	if !known && !d.strangers.take(from) {
		return troupe.Caller{}, much(r, "too_many_wrong_tokens",
			"there were too many calls with wrong tokens from "+from)
	}
	ctx, cancel := context.WithTimeout(r.Context(), keysWait)
	defer cancel()
	c, err := keys.Whose(ctx, secret)
	if refusedBy(err) {
		if known {
			d.known.add(secret, 0)
			d.strangers.take(from)
		}
		d.at.Log.WarnContext(r.Context(), "token refused", "from", from, "request_id", calledOf(r.Context()).id)
		return troupe.Caller{}, problem(http.StatusUnauthorized, wire.NewProblem(err).Detail, wire.NewProblem(err).Hint)
	}
	if !known {
		d.strangers.give(from)
	}
	if err != nil {
		return troupe.Caller{}, unreachable(d.at.Log, err)
	}
	d.known.add(secret, knownFor)
	return c, nil
}

// refusedBy reports whether an error of Keys says that a token or a code is none. Any other is the database's.
func refusedBy(err error) bool {
	user, ok := errors.AsType[*troupe.UserError](err)
	return ok && user.Code == troupe.ExitPermission
}

// unreachable is what strangers are told of a database that fails: nothing of it.
func unreachable(log *slog.Logger, err error) *wire.Problem {
	log.Warn("it is not known who calls", "error", err)
	return &wire.Problem{Status: http.StatusServiceUnavailable, Title: http.StatusText(http.StatusServiceUnavailable),
		Detail: "the server cannot reach its database; try again", Code: troupe.ExitFailed}
}

// from is the address that a call comes from, and whether a listed proxy passes it on.
func (d *door) from(r *http.Request) (address string, listed bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr, false
	}
	ip := peer.Addr().Unmap()
	if !slices.ContainsFunc(d.at.Proxies, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return ip.String(), false
	}
	// What stands last was added by the proxy itself; all before it is the caller's own word.
	all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if told, err := netip.ParseAddr(strings.TrimSpace(all[len(all)-1])); err == nil {
		return told.Unmap().String(), true
	}
	return ip.String(), true
}

func problem(status int, detail, hint string) *wire.Problem {
	return &wire.Problem{Title: http.StatusText(status), Status: status, Detail: detail, Hint: hint,
		Code: troupe.ExitPermission}
}

// much is tooMuch, counted by why.
func much(r *http.Request, why, detail string) *wire.Problem {
	calledOf(r.Context()).refused = why
	return tooMuch(detail)
}

func tooMuch(detail string) *wire.Problem {
	return problem(http.StatusTooManyRequests, detail, "Try again in a while.")
}
