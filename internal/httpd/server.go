package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/metrics"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Options are what a server may be told besides.
type Options struct {
	// Runtime and Temp are folders for a socket whose own path is too long for the kernel:
	// $XDG_RUNTIME_DIR, and the system's folder for temporary files. Either may be empty.
	Runtime, Temp string
	// Keys know the processes of the same database, which may speak for others; nil: each speaks for itself.
	Keys Keys
	// Folders are those in which agents work for the users of a server, for whom such a process speaks.
	Folders []string
	// Checkouts holds the folders of repositories that were checked out; "": there are none.
	Checkouts string
	// Metrics counts what is asked of it, and is told to whoever may look; nil: nothing is counted.
	Metrics *metrics.Set
	// Log is told of refused peers and of what goes wrong in serving; nil is nobody.
	Log *slog.Logger
}

// Server serves the API on one socket, or at one address.
type Server struct {
	socket *socket // nil: it has an address
	addr   net.Addr
	http   *http.Server
	served chan error         // the end of the goroutine that accepts connections
	cancel context.CancelFunc // ends every request
	closes sync.Once
	closed error // what came of it
	busy   busy  // requests under way
	log    *slog.Logger

	traffic *traffic
}

// Serve begins to serve the use cases on a socket at path, whose folder is made private to
// this user. A socket that a dead process left there is replaced. The API itself is put
// together when the first request comes, so that serving costs a run nothing until then.
//
// ctx is for its values; only Close ends the server.
func Serve(ctx context.Context, path string, cases Bind, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	sock, err := claim(ctx, path, o)
	if err != nil {
		return nil, err
	}
	s := newServer(ctx, &operations{bind: cases, in: o.Folders, checkouts: o.Checkouts, metrics: o.Metrics}, o.Log,
		look, admitPeers(o.Keys))
	s.socket = sock
	go func() { s.served <- s.http.Serve(sock.listener) }()
	return s, nil
}

// admission says who makes a request, or why nobody of ours does.
type admission func(*http.Request) (troupe.Caller, *wire.Problem)

// newServer makes a server that does not listen yet.
func newServer(ctx context.Context, o *operations, log *slog.Logger, look func(net.Conn) peer,
	admit admission) *Server {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	streams, silence := context.WithCancel(base)
	o.log, o.traffic = log, newTraffic(o.metrics)
	s := &Server{served: make(chan error, 1), cancel: cancel, log: log, traffic: o.traffic}
	s.http = &http.Server{
		Handler:           s.guard(handler(o, streams), admit),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       time.Minute,     // a body of 32 MB from the same machine; streams send none
		WriteTimeout:      5 * time.Minute, // until an answer begins to be written: see paced
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    256 << 10, // the cursors of a tree of ten thousand sessions
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			p := look(c)
			if p.refused != nil {
				log.Warn("refused a caller", "pid", p.pid, "why", p.refused)
			}
			return context.WithValue(ctx, peerKey{}, p)
		},
	}
	s.http.RegisterOnShutdown(silence) // once nobody can connect any more
	return s
}

// Path is where the socket is. It differs from what Serve was given if that was too long.
func (s *Server) Path() string { return s.socket.path }

// leaveWithin is how long a call may take to come to its end once it is cancelled. One that has no end by then, for it
// reckons on and looks at nothing else, is left: it must not keep the process from ending.
const leaveWithin = 5 * time.Second

// Close ends the streams, waits for the requests under way until ctx is done and then
// cancels them, removes the socket, and returns when nothing of the server is left, but for calls that do not end when
// they are cancelled. The log says which. Called again it returns the same.
func (s *Server) Close(ctx context.Context) error {
	s.closes.Do(func() { s.closed = s.close(ctx) })
	return s.closed
}

func (s *Server) close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.cancel()
	if err != nil {
		err = s.http.Close()
	}
	for _, call := range s.busy.wait(leaveWithin) {
		s.log.Error("a call does not end, and is left", "call", call)
	}
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if s.socket != nil {
		err = errors.Join(err, s.socket.remove(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return fmt.Errorf("close the server: %w", err)
	}
	return nil
}

// busy knows the requests under way, and lets none begin once somebody waits for their end.
type busy struct {
	mu    sync.Mutex
	idle  chan struct{} // somebody waits; closed when none is left
	calls map[*http.Request]bool
}

func (b *busy) enter(r *http.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil {
		return false
	}
	if b.calls == nil {
		b.calls = make(map[*http.Request]bool)
	}
	b.calls[r] = true
	return true
}

func (b *busy) leave(r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if delete(b.calls, r); b.idle != nil && len(b.calls) == 0 {
		close(b.idle)
	}
}

// wait waits until no request is left, for so long at the most, and says which are.
func (b *busy) wait(most time.Duration) (left []string) {
	b.mu.Lock()
	if b.idle == nil {
		if b.idle = make(chan struct{}); len(b.calls) == 0 {
			close(b.idle)
		}
	}
	b.mu.Unlock()
	over := time.NewTimer(most)
	defer over.Stop()
	select {
	case <-b.idle:
	case <-over.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.calls {
		left = append(left, fmt.Sprintf("%s %.200q", r.Method, r.URL.Path))
	}
	return left
}

// peerKey is the key of the peer in a connection's context.
type peerKey struct{}

// callerKey is the key of the caller in a request's context.
type callerKey struct{}

// caller is who makes a request. Without an admission it is one without any right.
func caller(ctx context.Context) troupe.Caller {
	c, _ := ctx.Value(callerKey{}).(troupe.Caller)
	return c
}

// admitPeers admits the processes of this user: what is known of a process counts, never what it says of itself, unless
// it is one of the same database, which says whom it speaks for.
func admitPeers(keys Keys) admission {
	return func(r *http.Request) (troupe.Caller, *wire.Problem) {
		c, refused := admitPeer(r)
		if secret, ok := bearer(r); ok && refused == nil && keys != nil {
			peer, err := keys.Whose(r.Context(), secret)
			if err != nil {
				return troupe.Caller{}, wire.NewProblem(err)
			}
			return spokenFor(r, peer)
		}
		return c, refused
	}
}

// spokenFor is whom a caller speaks for: themselves, unless they are a process of the same database.
func spokenFor(r *http.Request, c troupe.Caller) (troupe.Caller, *wire.Problem) {
	text := r.Header.Get(wire.CallerHeader)
	if c.Right != troupe.RightSystem || text == "" {
		return c, nil
	}
	var other troupe.Caller
	if err := json.Unmarshal([]byte(text), &other); err != nil || other.Name == "" {
		return troupe.Caller{}, problem(http.StatusBadRequest, "it is not said whom the process speaks for",
			"Are both of the same version of Troupe?")
	}
	other.Relayed = true
	return other, nil
}

// bearer is the token that a call comes with. Of two it is not known which is meant.
func bearer(r *http.Request) (string, bool) {
	if len(r.Header.Values("Authorization")) > 1 {
		return "", false
	}
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func admitPeer(r *http.Request) (troupe.Caller, *wire.Problem) {
	p, ok := r.Context().Value(peerKey{}).(peer)
	if !ok {
		p.refused = errNoPeer
	}
	if p.refused != nil {
		return troupe.Caller{}, refusal(p.refused)
	}
	c := troupe.You(troupe.SurfaceSocket)
	c.Process = p.pid
	return c, nil
}

// guard turns away whoever may not call, before anything of the request is looked at. What a page of another site has a
// browser send is not counted as anyone's.
func (s *Server) guard(next http.Handler, admit admission) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		turnAway(w, &wire.Problem{
			Status: http.StatusForbidden, Detail: "the request comes from a page of another origin",
			Hint: "Only Troupe's own pages may call this API from a browser.", Code: troupe.ExitUsage,
		})
	}))
	admitted := origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, refused := admit(r)
		if refused != nil {
			turnAway(w, refused)
			return
		}
		ctx := context.WithValue(r.Context(), callerKey{}, c)
		if secret, ok := bearer(r); ok {
			ctx = context.WithValue(ctx, secretKey{}, secret)
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.busy.enter(r) {
			defer s.busy.leave(r)
			s.traffic.serve(&paced{w, http.NewResponseController(w)}, r, admitted)
		}
	})
}

// turnAway answers who is not let in. Nothing of the request was read, so its connection is of no more use.
func turnAway(w http.ResponseWriter, p *wire.Problem) {
	w.Header().Set("Connection", "close")
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	writeProblem(w, p)
}

func refusal(why error) *wire.Problem {
	p := wire.NewProblem(why)
	p.Status = http.StatusForbidden
	return p
}

// handler is the API as an http.Handler, made when it is first needed.
func handler(o *operations, streams context.Context) http.Handler {
	made := sync.OnceValue(func() http.Handler { return newHandler(o, streams) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { made().ServeHTTP(w, r) })
}

// Where a server says that it lives, and that it can do its work. It says so to those who come without a token too.
const (
	livePath  = "/healthz"
	readyPath = "/readyz"
	// readyWait is how long a database may take until a server is not ready.
	readyWait = 5 * time.Second
)

func newHandler(o *operations, streams context.Context) http.Handler {
	o.streaming = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(streams, cancel)
		return ctx, func() { stop(); cancel() }
	}
	mux := http.NewServeMux()
	doc := o.describe(mux)
	serveText(mux, "GET /openapi.yaml", "application/openapi+yaml", doc.YAML)
	serveText(mux, "GET /openapi.json", "application/openapi+json", func() ([]byte, error) { return json.Marshal(doc) })
	mux.HandleFunc("GET "+livePath, func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET "+readyPath, func(w http.ResponseWriter, r *http.Request) {
		if o.keys != nil {
			ctx, cancel := context.WithTimeout(r.Context(), readyWait)
			defer cancel()
			if err := o.keys.Ready(ctx); err != nil {
				writeProblem(w, unreachable(o.log, err))
				return
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	if o.metrics != nil {
		mux.HandleFunc("GET "+metricsPath, o.tell)
	}
	mux.HandleFunc("/", nothingHere)
	return routed(mux)
}

// nothingHere answers where there is nothing by a path, or nothing that takes a method.
func nothingHere(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, &wire.Problem{
		Status: http.StatusNotFound, Detail: fmt.Sprintf("there is no %.20s %.200s here", r.Method, r.URL.Path),
		Hint: "GET /openapi.yaml describes what there is.", Code: troupe.ExitUsage,
	})
}

// tell tells what the process has counted, to those who may look at it.
func (o *operations) tell(w http.ResponseWriter, r *http.Request) {
	if needs := troupe.RightViewer; !caller(r.Context()).Right.Covers(needs) {
		writeProblem(w, wire.NewProblem(troupe.NotAllowed(needs)))
		return
	}
	w.Header().Set("Content-Type", metrics.ContentType)
	// The reader may have gone; net/http closes the connection then.
	_ = o.metrics.Write(r.Context(), w)
}

func serveText(mux *http.ServeMux, pattern, contentType string, make func() ([]byte, error)) {
	made := sync.OnceValues(make)
	mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		text, err := made()
		if err != nil {
			writeProblem(w, wire.NewProblem(err))
			return
		}
		w.Header().Set("Content-Type", contentType)
		// The reader may have gone; net/http closes the connection then.
		_, _ = w.Write(text)
	})
}

// description is the OpenAPI document of this API, as YAML.
func description() ([]byte, error) {
	return (&operations{}).describe(http.NewServeMux()).YAML()
}

var _ huma.StatusError = (*wire.Problem)(nil)

var errNoPeer = &troupe.UserError{Problem: "who calls is not known",
	Hint: "Use the socket of the process that runs the session.", Code: troupe.ExitPermission}
