package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
)

// counted counts what a server says.
type counted struct {
	mcp.Process
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Process.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// ends fails if something does not end: the deadline is for the machine, not a measure.
func ends(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end", what)
	}
}

// TestFloods: a server that says things of its own without end is still called, within its time, costs no memory, and
// is ended.
func TestFloods(t *testing.T) {
	for _, kind := range []string{"notifications/tools/list_changed", "notifications/message",
		"notifications/cancelled", "ping"} {
		t.Run(kind[strings.LastIndex(kind, "/")+1:], func(t *testing.T) {
			var said atomic.Int64
			var lists, most atomic.Int64
			s := mcp.New(t.Context(), mcp.Options{Changed: func(mcp.Target, mcp.List) { lists.Add(1) }})
			to := stdio(t, &starts{}, "-flood", kind)
			start := to.Start
			to.Start = func(ctx context.Context, stderr io.Writer) (mcp.Process, error) {
				p, err := start(ctx, stderr)
				return counted{p, &said}, err
			}
			to.Entry.Timeout = 30 * time.Second
			ends(t, "a call", func() {
				for said.Load() < 2<<20 {
					_, err := s.Call(t.Context(), to, "echo", []byte(`{"text": "x"}`), nil)
					if err != nil {
						if kind != "ping" { // with too many requests it is given up
							t.Error(err)
						}
						break
					}
					most.Store(max(most.Load(), int64(runtime.NumGoroutine())))
				}
			})
			if most.Load() > 500 {
				t.Errorf("%d goroutines", most.Load())
			}
			if kind == "notifications/tools/list_changed" && lists.Load() == 0 {
				t.Error("that its tools have changed was not heard")
			}
			ends(t, "the server", s.Close)
		})
	}
}

// TestDeaf: a call that a server does not even read ends in its time.
func TestDeaf(t *testing.T) {
	t.Parallel()
	s := mcp.New(t.Context(), mcp.Options{})
	to := stdio(t, &starts{}, "-deaf")
	to.Entry.Timeout = time.Second
	ends(t, "a call", func() {
		for range 2 {
			says(t, s, to, "echo", `{"text": "`+strings.Repeat("x", 1<<20)+`"}`, "may have taken effect")
		}
	})
	ends(t, "the server", s.Close)
}

// TestMayHaveTakenEffect: a call that was sent and has no answer of the protocol is told as one that may have taken
// effect; an answer that is an error is not, nor is a call that could not be sent.
func TestMayHaveTakenEffect(t *testing.T) {
	t.Parallel()
	s := mcp.New(t.Context(), mcp.Options{})
	defer s.Close()
	const told = "may have taken effect"
	babbles := stdio(t, &starts{}, "-babbles")
	says(t, s, babbles, "junk", `{}`, told)
	says(t, s, babbles, "endless", `{}`, told)
	if _, err := s.Call(t.Context(), babbles, "none", []byte(`{}`), nil); err == nil ||
		strings.Contains(err.Error(), told) {
		t.Error(err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oh", http.StatusInternalServerError) },
		"503": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oh", http.StatusServiceUnavailable) },
		"cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\nretry: 1\ndata: {\n\n")
		},
		"resumed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\nretry: 1\ndata:\n\n")
		},
		"silent": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
		"html":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"junk": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "zzz")
		},
	} {
		h := mcptest.Handler(mcptest.New(0), "", false)
		server := httptest.NewServer(onCall(h, "tools/call", answer))
		to := mcp.Target{Entry: entry.Entry{Name: name, Type: entry.HTTP, URL: server.URL}}
		ends(t, name, func() {
			s := mcp.New(t.Context(), mcp.Options{})
			defer s.Close()
			says(t, s, to, "echo", `{}`, told)
		})
		server.CloseClientConnections()
		server.Close()
	}
}

// onCall has one method answered differently.
func onCall(h http.Handler, method string, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var m struct{ Method string }
		if err == nil && json.Unmarshal(data, &m) == nil && m.Method == method {
			answer(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		h.ServeHTTP(w, r)
	})
}

// TestUnknownFirstWord: a server that does not know the first word of the newer protocol is spoken to as of old,
// whatever it makes of that word.
func TestUnknownFirstWord(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"202": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"200": func(http.ResponseWriter, *http.Request) {},
		"400": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		server := httptest.NewServer(onCall(mcptest.Handler(mcptest.New(0), "", false), "server/discover", answer))
		s := mcp.New(t.Context(), mcp.Options{})
		to := mcp.Target{Entry: entry.Entry{Name: name, Type: entry.HTTP, URL: server.URL}}
		says(t, s, to, "echo", `{"text": "hello"}`, "echo: hello")
		s.Close()
		server.CloseClientConnections()
		server.Close()
	}
}

// TestFloodsByHTTP: the streams of a server at an address are heard as what a program says is.
func TestFloodsByHTTP(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	h := mcptest.Handler(mcptest.New(0), "", false)
	server := httptest.NewServer(onCall(h, "tools/call", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 50_000 {
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		}
		for n := range 1_000 {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"own-%d\",\"method\":\"ping\"}\n\n", n)
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	s := mcp.New(t.Context(), mcp.Options{Changed: func(mcp.Target, mcp.List) { lists.Add(1) }})
	to := mcp.Target{Entry: entry.Entry{Name: "flood", Type: entry.HTTP, URL: server.URL}}
	ends(t, "a call", func() { says(t, s, to, "echo", `{}`, "may have taken effect") })
	ends(t, "the server", s.Close)
	if lists.Load() > 100 {
		t.Errorf("it was listed %d times", lists.Load())
	}
}
