package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
)

const serves = "TROUPE_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serves) != "" {
		if err := mcptest.Main(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Idle connections of the tests' own servers end a little later than the servers.
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.DisableKeepAlives = true
	}
	goleak.VerifyTestMain(m)
}

// child is this binary as a server.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	io.Reader
	end func()
}

func (c *child) Write(p []byte) (int, error) { return c.in.Write(p) }
func (c *child) CloseWrite() error           { return c.in.Close() }
func (c *child) End()                        { c.end() }

// starts counts how often a server is started.
type starts struct {
	mu sync.Mutex
	n  int
}

func (s *starts) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// stdio is a server that is started with these arguments.
func stdio(t *testing.T, s *starts, args ...string) mcp.Target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Target{Entry: entry.Entry{Name: "test", Type: entry.Stdio},
		Start: func(_ context.Context, stderr io.Writer) (mcp.Process, error) {
			s.mu.Lock()
			s.n++
			s.mu.Unlock()
			cmd := exec.Command(self, args...)
			cmd.Env, cmd.Stderr = append(os.Environ(), serves+"=1"), stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				return nil, err
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				return nil, err
			}
			if err := cmd.Start(); err != nil {
				return nil, err
			}
			return &child{cmd: cmd, in: in, Reader: out, end: sync.OnceFunc(func() {
				_ = in.Close()
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})}, nil
		}}
}

func says(t *testing.T, s *mcp.Servers, to mcp.Target, tool, input, want string) {
	t.Helper()
	r, err := s.Call(t.Context(), to, tool, []byte(input), nil)
	var got strings.Builder
	for _, p := range r.Pieces {
		got.WriteString(p.Text)
	}
	if err != nil {
		got.WriteString(err.Error())
	}
	if !strings.Contains(got.String(), want) {
		t.Errorf("%s says %q, want %q", tool, got.String(), want)
	}
}

// TestTransports: a server is spoken to alike over a program's pipes and over both transports of HTTP, with what its
// entry says in each request.
func TestTransports(t *testing.T) {
	t.Parallel()
	for _, kind := range []entry.Type{entry.Stdio, entry.HTTP, entry.SSE} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			to := stdio(t, &starts{})
			if kind != entry.Stdio {
				server := httptest.NewServer(mcptest.Handler(mcptest.New(0), "secret", kind == entry.SSE))
				t.Cleanup(server.Close)
				to = mcp.Target{Entry: entry.Entry{Name: "test", Type: kind, URL: server.URL,
					Headers: map[string]string{"Authorization": "Bearer secret"}}}
			}
			s := mcp.New(t.Context(), mcp.Options{})
			defer s.Close()
			l, err := s.List(t.Context(), to)
			if err != nil || len(l.Tools) != 11 || !l.Resources || len(l.Prompts) != 1 {
				t.Fatalf("%+v %v", l, err)
			}
			says(t, s, to, "echo", `{"text": "hello"}`, "echo: hello")
			says(t, s, to, "fail", `{}`, "there is no such issue")
			says(t, s, to, "structured", `{}`, `"count":3`)
			if r, err := s.Read(t.Context(), to, "memo://insights"); err != nil || r.Pieces[0].Text != "insight one" {
				t.Error(r, err)
			}
			if r, err := s.Resources(t.Context(), to); err != nil || len(r) != 1 {
				t.Error(r, err)
			}
		})
	}
}

// TestUnauthorized: a server that refuses its caller is an error that says so, and so is one that sends its caller
// elsewhere: what the entry says is not told there.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	told := false // one after the other
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told = true }))
	defer other.Close()
	asking := func(w http.ResponseWriter, r *http.Request) {
		told = told || r.URL.RawQuery != ""
		http.Redirect(w, r, r.URL.Path+"?x=1", http.StatusTemporaryRedirect)
	}
	elsewhere := func(w http.ResponseWriter, r *http.Request) {
		told = told || r.URL.Path == "/elsewhere"
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}
	s := mcp.New(t.Context(), mcp.Options{})
	defer s.Close()
	for want, h := range map[string]http.Handler{
		"Unauthorized":  mcptest.Handler(mcptest.New(0), "secret", false),
		"another place": http.RedirectHandler(other.URL, http.StatusTemporaryRedirect),
		"/elsewhere":    http.HandlerFunc(elsewhere),
		"leads to":      http.HandlerFunc(asking), // the same path, with a query
	} {
		server := httptest.NewServer(h)
		to := mcp.Target{Entry: entry.Entry{Name: want, Type: entry.HTTP, URL: server.URL,
			Headers: map[string]string{"Authorization": "Bearer wrong"}}}
		if _, err := s.List(t.Context(), to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		server.Close()
	}
	if told {
		t.Error("the other place was told")
	}
}

// TestSlash: a server that wants a slash behind its address is followed there.
func TestSlash(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/mcp/", mcptest.Handler(mcptest.New(0), "secret", false)) // which redirects /mcp
	server := httptest.NewServer(mux)
	defer server.Close()
	s := mcp.New(t.Context(), mcp.Options{})
	defer s.Close()
	to := mcp.Target{Entry: entry.Entry{Name: "a", Type: entry.HTTP, URL: server.URL + "/mcp",
		Headers: map[string]string{"Authorization": "Bearer secret"}}}
	if _, err := s.List(t.Context(), to); err != nil {
		t.Error(err)
	}
}

// later is a login that a user makes while the program runs.
type later struct{ token atomic.Pointer[string] }

func (l *later) Token(context.Context) (string, error) {
	if token := l.token.Load(); token != nil {
		return *token, nil
	}
	return "", nil
}

func (*later) Renew(context.Context, string) (string, error) { return "", nil }

// TestLoginCountsAtOnce: a server that refused its caller is asked again by the next call, without the pause that one
// has which failed: the user may have logged in meanwhile.
func TestLoginCountsAtOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(mcptest.Handler(mcptest.New(0), "secret", false))
	defer server.Close()
	now := time.Now() // and for as long as the test takes
	s := mcp.New(t.Context(), mcp.Options{Now: func() time.Time { return now }})
	defer s.Close()
	var user later
	to := mcp.Target{Entry: entry.Entry{Name: "test", Type: entry.HTTP, URL: server.URL}, Login: &user}
	var refused *mcp.LoginError
	if _, err := s.List(t.Context(), to); !errors.As(err, &refused) {
		t.Fatalf("%v, want a login to be asked for", err)
	}
	token := "secret"
	user.token.Store(&token)
	says(t, s, to, "echo", `{"text": "hello"}`, "echo: hello")
}

// TestDies: a server that ends in the middle of a call is an error, and the next call starts it again. One that does
// not start is not started by each call.
func TestDies(t *testing.T) {
	t.Parallel()
	s := mcp.New(t.Context(), mcp.Options{})
	defer s.Close()
	var good, bad starts
	to := stdio(t, &good)
	says(t, s, to, "die", `{}`, "ended in the middle of the call, which may have taken effect")
	says(t, s, to, "echo", `{"text": "again"}`, "echo: again")
	if good.count() != 2 {
		t.Errorf("started %d times", good.count())
	}
	broken := stdio(t, &bad, "-broken")
	broken.Entry.Name = "broken"
	for range 3 {
		says(t, s, broken, "echo", `{}`, "cannot find the module frobnicate")
	}
	if bad.count() != 1 {
		t.Errorf("the broken one was started %d times", bad.count())
	}
}

// TestBounds: no wait is for ever: neither until it is ready nor for an answer.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := mcp.New(t.Context(), mcp.Options{})
	defer s.Close()
	slow := stdio(t, &starts{}, "-slow", "1h")
	slow.Entry.Name, slow.Entry.Start = "slow", 100*time.Millisecond
	says(t, s, slow, "echo", `{}`, "not ready after 100ms")
	hangs := stdio(t, &starts{})
	hangs.Entry.Timeout = time.Second
	says(t, s, hangs, "hang", `{}`, "no answer in time")
	says(t, s, hangs, "echo", `{"text": "still here"}`, "still here")
}

// TestOwners: a connection is its owner's, and ended with it; the shared one is not.
func TestOwners(t *testing.T) {
	t.Parallel()
	s := mcp.New(t.Context(), mcp.Options{})
	defer s.Close()
	var n starts
	shared := stdio(t, &n)
	own := shared
	own.Owner = "agent"
	for range 2 {
		says(t, s, shared, "echo", `{"text": "a"}`, "echo: a")
		says(t, s, own, "echo", `{"text": "b"}`, "echo: b")
	}
	s.End("agent")
	says(t, s, shared, "echo", `{"text": "a"}`, "echo: a")
	if n.count() != 2 || len(s.States()) != 1 {
		t.Errorf("started %d times, %v", n.count(), s.States())
	}
}

// TestChanged: a server that gets other tools says so, and is heard.
func TestChanged(t *testing.T) {
	t.Parallel()
	heard := make(chan mcp.List, 1)
	s := mcp.New(t.Context(), mcp.Options{Changed: func(_ mcp.Target, l mcp.List) {
		select {
		case heard <- l:
		default:
		}
	}})
	defer s.Close()
	to := stdio(t, &starts{})
	says(t, s, to, "grow", `{}`, "one more")
	select {
	case l := <-heard:
		if len(l.Tools) != 12 {
			t.Errorf("%d tools", len(l.Tools))
		}
	case <-time.After(20 * time.Second):
		t.Error("it was not heard")
	}
	says(t, s, to, "grown", `{}`, "grown")
}
