// Package modeltest helps to test and to measure what talks to models: a conformance test
// that every provider runs (Run), one more for those that speak to a service over HTTP
// (RunWire), and servers that speak the Messages API (NewAnthropic), Chat Completions
// (NewOpenAI) and the Responses API (NewResponses) over real HTTP, for tests and for benchmark programs alike. One
// Handler serves all: a server translates requests, replies and failures.
//
// The server answers each request in net/http's goroutine for its connection; handlers are
// called concurrently. What it remembers is bounded by Options.Keep. Close ends everything,
// stalled replies included, and returns when the last handler has.
package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe/internal/model"
)

// Handler decides how the server answers. It must be safe for concurrent use, and must not
// keep the request unless the server does (Options.Keep > 0).
type Handler func(*Request) Reply

// Options of a Server. The zero value checks everything and keeps the last 256 requests.
type Options struct {
	// FirstByte is how long every reply waits before its first byte.
	FirstByte time.Duration
	// Keep is how many requests are remembered, the newest ones; 0 means 256, less than 0
	// none: then bodies are read into buffers that are used again.
	Keep int
	// Midway accepts requests that continue a conversation the server has not seen begin.
	Midway bool
	// Fork reports whether a request is one of a fork, which goes on from any request of a conversation and not only
	// from its last; nil: there are none.
	Fork func(*Request) bool
	// Cache says what the input of each request is charged as, in the place of what its Reply says; nil: that stands.
	Cache *Cache
	// Unchecked switches off the prefix rule and the other rules of the API.
	Unchecked bool
}

// API is a service's language.
type API int

// The languages a Server can speak.
const (
	Anthropic API = iota // the Messages API
	OpenAI               // Chat Completions
	Responses            // OpenAI's Responses API
)

func (a API) path() string {
	switch a {
	case OpenAI:
		return "/v1/chat/completions"
	case Responses:
		return "/v1/responses"
	default:
		return "/v1/messages"
	}
}

// requestID is the header that names a request.
func (a API) requestID() string {
	if a == Anthropic {
		return "request-id"
	}
	return "x-request-id"
}

// Server is a fake of a model service on a loopback port.
type Server struct {
	api     API
	handler Handler
	o       Options
	prefix  *model.PrefixChecker
	http    *http.Server
	url     string
	served  chan struct{}
	bodies  sync.Pool // *[]byte
	count   atomic.Int64
	quit    chan struct{} // closed by Close

	mu     sync.Mutex
	ended  sync.Cond // a handler has returned
	open   int
	peak   int
	kept   []*Request
	broken []error
}

// NewAnthropic starts a server of the Messages API. It panics if there is no loopback port
// to be had.
func NewAnthropic(h Handler, o Options) *Server { return newServer(Anthropic, h, o) }

// NewOpenAI starts a server of Chat Completions, at URL and at URL/v1.
func NewOpenAI(h Handler, o Options) *Server { return newServer(OpenAI, h, o) }

// NewResponses starts a server of the Responses API, at URL and at URL/v1.
func NewResponses(h Handler, o Options) *Server { return newServer(Responses, h, o) }

func newServer(api API, h Handler, o Options) *Server {
	if o.Keep == 0 {
		o.Keep = 256
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		panic(fmt.Sprintf("modeltest: no loopback port: %v", err))
	}
	s := &Server{api: api, handler: h, o: o, prefix: model.NewPrefixChecker(100_000),
		url: "http://" + l.Addr().String(), served: make(chan struct{}), quit: make(chan struct{})}
	s.ended.L = &s.mu
	s.bodies.New = func() any { return new([]byte) }
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // always ErrServerClosed: Close is the only way out
	}()
	return s
}

// URL is the server's base URL.
func (s *Server) URL() string { return s.url }

// Count is how many requests have come.
func (s *Server) Count() int { return int(s.count.Load()) }

// Peak is the most requests that were under way at one time.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Requests are those that are still remembered, in the order they came.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.kept...)
}

// Err is what requests have broken so far: the prefix rule, or a rule of the API.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.broken...)
}

// Close stops the server. It must be called once.
func (s *Server) Close() {
	_ = s.http.Close() // closing the listener can only fail by its being closed
	close(s.quit)      // after the connections: what stalls is torn, not ended
	<-s.served
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.open > 0 {
		s.ended.Wait()
	}
}

func (s *Server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.peak = max(s.peak, s.open)
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.ended.Broadcast()
}

func (s *Server) serve(w http.ResponseWriter, hr *http.Request) {
	s.enter()
	defer s.leave()
	if hr.Method != http.MethodPost || hr.URL.Path != s.api.path() {
		Fail(http.StatusNotFound, "not_found_error", "no such path").refuse(s.api, w)
		return
	}
	body, release, err := s.read(hr)
	if err != nil {
		return // the client went away while it was sending
	}
	defer release()
	req, err := parse(s.api, body)
	if err == nil && !s.o.Unchecked {
		if err = s.prefix.CheckConversation(body, s.o.Midway, s.o.Fork != nil && s.o.Fork(req)); err == nil {
			err = req.check()
		}
	}
	if err != nil {
		s.note(err)
		Fail(http.StatusBadRequest, "invalid_request_error", err.Error()).refuse(s.api, w)
		return
	}
	req.Number, req.Header = int(s.count.Add(1)), hr.Header
	if s.o.Keep > 0 {
		s.keep(req)
	}
	rep := s.handler(req)
	begun := func() {}
	if s.o.Cache != nil {
		said := rep.Usage.Output
		rep.Usage, begun = s.o.Cache.charge(req)
		rep.Usage.Output = said
	}
	if !s.pause(hr.Context(), s.o.FirstByte+rep.Delay) {
		return
	}
	if rep.Status != 0 && rep.Status != http.StatusOK {
		rep.refuse(s.api, w)
		return
	}
	begun()
	s.send(hr.Context(), w, req, rep)
}

// read takes in a body: into a buffer of its own if requests are kept, else into one that
// is used again after release.
func (s *Server) read(hr *http.Request) (body []byte, release func(), err error) {
	release = func() {}
	if hr.ContentLength < 0 || hr.ContentLength > 64<<20 {
		body, err = io.ReadAll(io.LimitReader(hr.Body, 64<<20))
		return body, release, err
	}
	n := int(hr.ContentLength)
	if s.o.Keep > 0 {
		body = make([]byte, n)
	} else {
		buf, _ := s.bodies.Get().(*[]byte)
		if cap(*buf) < n {
			*buf = make([]byte, n+n/2)
		}
		body = (*buf)[:n]
		release = func() { s.bodies.Put(buf) }
	}
	_, err = io.ReadFull(hr.Body, body)
	return body, release, err
}

func (s *Server) keep(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, r)
	if extra := len(s.kept) - s.o.Keep; extra > 0 {
		s.kept = append(s.kept[:0], s.kept[extra:]...)
	}
}

func (s *Server) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.broken) < 20 {
		s.broken = append(s.broken, err)
	}
}

// pause waits, and reports whether there still is somebody to answer.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.quit:
		return false
	}
}

// refuse sends a reply that is an error status.
func (r Reply) refuse(api API, w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set(api.requestID(), "req_fake")
	if r.RetryAfter != "" {
		h.Set("Retry-After", r.RetryAfter)
	}
	body := r.errorJSON(api, nil)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.Status)
	_, _ = w.Write(body) // a client that has gone is not our concern
}

// send streams a reply, as far as it is to go.
func (s *Server) send(ctx context.Context, w http.ResponseWriter, req *Request, r Reply) {
	stream := r.Stream(req)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set(s.api.requestID(), "req_fake_"+strconv.Itoa(req.Number))
	flush := func() {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	if r.End > 0 {
		stream = stream[:min(r.End, len(stream))]
	}
	if r.Cut > 0 {
		stream = stream[:min(r.Cut, len(stream))]
	}
	if r.Pieces > 1 {
		size := max(1, len(stream)/r.Pieces)
		for len(stream) > size {
			_, _ = w.Write(stream[:size])
			flush()
			stream = stream[size:]
			if !s.pause(ctx, r.Over/time.Duration(r.Pieces)) {
				return
			}
		}
	}
	_, _ = w.Write(stream)
	flush()
	switch {
	case r.Stall:
		select {
		case <-ctx.Done():
		case <-s.quit:
		}
	case r.Cut > 0:
		panic(http.ErrAbortHandler) // tears the connection
	}
}
