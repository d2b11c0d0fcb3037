// Package mcp speaks to MCP servers, through the official Go SDK. Nothing else imports that.
//
// Servers are those of one hosted tree. A server is started, or reached, when it is first asked for something, and
// stays until it is ended: by Close, by End for the one session that it belongs to, or by itself. Each connection has a
// goroutine of ours that sees to it that nothing of a started server is left after its end, two that wait for that end
// and for its closing, and one that lists its tools anew when it says that they have changed; a write to it has one
// until the server has read it or is ended. Close waits for all of them. What a server sends is bounded, and whoever
// asks waits: a slow server slows its callers alone. A connection that failed is tried again by the next call, after a
// pause that doubles.
//
// What a server says of itself (its annotations, its instructions) is never taken for more than text.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// Usual bounds, where an entry names none.
const (
	usualStart = 30 * time.Second
	usualCall  = 10 * time.Minute
	firstPause = time.Second
	mostPause  = time.Minute
)

// Options are what servers need of the program around them.
type Options struct {
	Version string
	Now     func() time.Time
	Log     *slog.Logger
	// Changed is told that a server that is connected has other tools than before; nil: nobody wants to know. It
	// must not block.
	Changed func(t Target, l List)
}

// Target is a server as it is reached.
type Target struct {
	Owner Owner
	Entry entry.Entry // with its variables put in
	// Start starts its program and lets it be spoken to. What it prints beside what it says goes to stderr.
	Start func(ctx context.Context, stderr io.Writer) (Process, error)
	// Login is the user's at a server at an address; nil: there can be none.
	Login Login
}

// Process is a program that was started.
type Process interface {
	// Write and Read reach its standard input and output. CloseWrite ends its input.
	io.ReadWriter
	CloseWrite() error
	// End ends it and all that it started, and returns when nothing of them runs.
	End()
}

// Owner says whose connection to a server it is: "" is the tree's, which all of its sessions share.
type Owner string

// Servers are the connections of one tree.
type Servers struct {
	o   Options
	ctx context.Context //nolint:containedctx // of the connections that it owns; over when Close is called

	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu     sync.Mutex
	conns  map[key]*conn
	closed bool
}

type key struct {
	owner Owner
	name  string
}

// New makes the servers of a tree. Nothing is started. Of ctx only the values count: Close ends all.
func New(ctx context.Context, o Options) *Servers {
	s := &Servers{o: o, conns: make(map[key]*conn)}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// Close ends every connection and waits until nothing of them runs.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wait.Wait()
}

// End ends the connections that are one owner's.
func (s *Servers) End(owner Owner) {
	s.mu.Lock()
	var ended []*conn
	for k, c := range s.conns {
		if k.owner == owner {
			ended = append(ended, c)
			delete(s.conns, k)
		}
	}
	s.mu.Unlock()
	for _, c := range ended {
		c.cancel()
	}
}

// State is how a connection is, for people.
type State struct {
	Owner  Owner
	Server string
	Up     bool
	Err    error // why it is not
}

// States lists the connections that were asked for.
func (s *Servers) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []State
	for k, c := range s.conns {
		select {
		case <-c.ready:
			out = append(out, State{Owner: k.owner, Server: k.name, Up: c.err == nil && !c.gone.Load(), Err: c.err})
		default:
			out = append(out, State{Owner: k.owner, Server: k.name})
		}
	}
	return out
}

// conn is one connection, or the try to make one. The fields below ready do not change once it is closed.
type conn struct {
	cancel context.CancelFunc    // ends it
	gone   atomic.Bool           // it is of no more use
	heard  atomic.Int64          // the bytes of its streams since it was last asked something
	ready  chan struct{}         // closed when it is made, or has failed
	astray atomic.Pointer[error] // why a request was not sent where the server wanted it; the library may lose that

	login   refusal       // why the server wants to know who asks
	asks    asks          // of the calls under way
	in      intake        // of what it says by itself
	changes chan struct{} // holds one while its tools have to be listed anew

	session *mcp.ClientSession
	err     error
	tail    *tail         // of what the program printed
	ended   chan struct{} // closed when all of that was read
	failed  time.Time     // when err was found
	pause   time.Duration
}

var errClosed = errors.New("the servers of this session are closed")

// connect returns the connection to a server. It makes one where there is none, or where the last is over.
func (s *Servers) connect(ctx context.Context, t Target) (*conn, error) {
	c, err := s.take(t)
	if err != nil {
		return nil, err
	}
	c.heard.Store(0)
	select {
	case <-c.ready:
		return c, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("it was not ready yet when the call was given up: %w", ctx.Err())
	}
}

func (s *Servers) take(t Target) (*conn, error) {
	k := key{t.Owner, t.Entry.Name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	before := s.conns[k]
	pause := firstPause
	if before != nil {
		select {
		case <-before.ready:
		default:
			return before, nil
		}
		if before.err == nil && !before.gone.Load() {
			return before, nil
		}
		wait := before.pause - s.o.Now().Sub(before.failed)
		if errors.As(before.err, new(*LoginError)) {
			wait = 0 // the user may have logged in meanwhile, and a refusal is quick
		}
		if before.err != nil && wait > 0 {
			return nil, fmt.Errorf("%w (it is tried again in %v at the earliest)", before.err,
				wait.Round(time.Second))
		}
		if before.err != nil {
			pause = min(2*before.pause, mostPause)
		}
	}
	c := &conn{ready: make(chan struct{}), ended: make(chan struct{}), tail: &tail{}, pause: pause,
		changes: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(s.ctx)
	c.cancel = cancel
	s.conns[k] = c
	s.wait.Go(func() {
		defer cancel()
		s.serve(ctx, c, t)
	})
	return c, nil
}

// serve makes a connection and stays with it until it is over.
func (s *Servers) serve(ctx context.Context, c *conn, t Target) {
	defer c.gone.Store(true)
	limit := bound(t.Entry.Start, usualStart)
	late := time.AfterFunc(limit, c.cancel)
	defer late.Stop()
	session, end, err := s.open(ctx, c, t)
	if err == nil && !late.Stop() {
		err = context.DeadlineExceeded
	}
	if err != nil {
		end()
		if ctx.Err() != nil && s.ctx.Err() == nil {
			err = fmt.Errorf("it was not ready after %v", limit)
		}
		c.err, c.failed = c.tail.explain(err), s.o.Now()
		s.o.Log.Info("mcp server", "server", t.Entry.Name, "err", c.err)
		close(c.ready)
		return
	}
	c.session = session
	close(c.ready)
	s.wait.Go(func() { s.renew(ctx, c, t) })
	over := make(chan struct{})
	s.wait.Go(func() {
		defer close(over)
		_ = session.Wait() // how it ended is told to who calls it
	})
	select {
	case <-ctx.Done():
	case <-over:
	}
	c.gone.Store(true)
	c.cancel() // all that waits for the server is over
	closed := make(chan struct{})
	s.wait.Go(func() {
		defer close(closed)
		_ = session.Close() // it is over either way
	})
	polite := time.NewTimer(lastWords)
	defer polite.Stop()
	select {
	case <-closed:
	case <-polite.C:
	}
	end()
	close(c.ended)
	<-closed
	<-over
}

// open connects. end lets go of whatever was begun, and may be called in any case.
func (s *Servers) open(ctx context.Context, c *conn, t Target) (session *mcp.ClientSession, end func(), err error) {
	e := t.Entry
	client := mcp.NewClient(&mcp.Implementation{Name: "troupe", Version: s.o.Version}, &mcp.ClientOptions{
		// No roots, no sampling: a server is told nothing of the machine, and is lent no model.
		Capabilities: &mcp.ClientCapabilities{},
		ElicitationHandler: func(asked context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked, cancel := context.WithCancel(asked)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)() // the library does not tell that the connection is over
			return c.elicit(asked, t.Entry.Name, r.Params), nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case c.changes <- struct{}{}:
			default:
			}
		},
	})
	end = func() {}
	var transport mcp.Transport
	options := &mcp.ClientSessionOptions{}
	switch e.Type {
	case entry.Stdio:
		p, err := t.Start(ctx, c.tail)
		if err != nil {
			return nil, end, err
		}
		end = sync.OnceFunc(p.End)
		// A program of old may not survive a first word that it does not know.
		options.ProtocolVersion = "2025-11-25"
		transport = reined{&mcp.IOTransport{Reader: io.NopCloser(p), Writer: writing{p}}, &c.in, &s.wait, &c.gone}
	case entry.SSE:
		transport = reined{&mcp.SSEClientTransport{Endpoint: e.URL, HTTPClient: httpClient(ctx, t, c)}, &c.in, &s.wait,
			&c.gone}
	default:
		// The library does not let a connection of this kind be wrapped: its streams are sifted instead.
		transport = &mcp.StreamableClientTransport{Endpoint: e.URL, HTTPClient: httpClient(ctx, t, c)}
	}
	session, err = client.Connect(ctx, transport, options)
	if why := c.login.get(); err != nil && why != nil {
		err = why
	} else if why := c.astray.Load(); err != nil && why != nil {
		err = *why
	}
	return session, end, err
}

// writing is the input of a program, as the SDK closes it. Its output ends when the program does.
type writing struct{ Process }

func (w writing) Close() error { return w.CloseWrite() }

// Call has a server do something. The error is about the server or the connection; what the tool found wrong is in
// the result. What the server asks the user meanwhile goes to ask, for which its time does not run; nil declines it.
func (s *Servers) Call(ctx context.Context, t Target, tool string, input json.RawMessage, ask Ask) (Result, error) {
	ctx, p := withPatience(ctx, bound(t.Entry.Timeout, usualCall))
	defer p.end()
	c, err := s.connect(ctx, t)
	if err != nil {
		return Result{}, err
	}
	asking := c.asks.begin(ask, p)
	defer c.asks.end(asking)
	out, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: input})
	if err != nil {
		return Result{}, c.failure(ctx, err, "the call")
	}
	r := resultOf(out)
	for _, note := range c.asks.notes(asking) {
		r.Pieces = append(r.Pieces, Piece{Text: note})
	}
	return r, nil
}

func bound(d, usual time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return usual
}

// codeRejected is what the library has for a request that a server did not answer in the protocol.
const codeRejected = -32005

// failure says why something that was asked of a server came to nothing.
func (c *conn) failure(ctx context.Context, err error, what string) error {
	if why := c.astray.Load(); why != nil {
		err = *why
	}
	switch why := c.login.get(); {
	case why != nil:
		return why
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("%s had no answer in time, and was given up; it may have taken effect", what)
	case ctx.Err() != nil:
		return fmt.Errorf("%s was cancelled; it may have taken effect", what)
	case errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF), errors.Is(err, mcp.ErrSessionMissing):
		c.gone.Store(true)
		c.settle(ctx)
		return c.tail.explain(fmt.Errorf("the server ended in the middle of %s, which may have taken effect; the "+
			"next call starts it again", what))
	}
	var said *jsonrpc.Error
	var lost *net.OpError
	switch {
	case errors.As(err, &said) && said.Code != codeRejected:
		return fmt.Errorf("%s: %w", what, err)
	case errors.As(err, &lost) && lost.Op == "dial":
		return fmt.Errorf("%s was not sent: %w", what, err)
	default:
		return fmt.Errorf("%s had no valid answer, and may have taken effect: %w", what, err)
	}
}

// lastWords is how long the end of a server's program is waited for, so that what it printed last can be told.
const lastWords = 2 * time.Second

// settle waits until a connection that is over has been cleared away.
func (c *conn) settle(ctx context.Context) {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
}
