//go:build unix

package httpd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

func serve(t *testing.T) *Server {
	t.Helper()
	return serveCases(t, apitest.New().As)
}

func serveCases(t *testing.T, cases Bind) *Server {
	t.Helper()
	s, err := Serve(t.Context(), filepath.Join(t.TempDir(), "run", "a.sock"), cases, Options{Temp: os.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// request makes one request on a connection of its own.
func request(t *testing.T, socket, method, path, body string, header ...string) *http.Response {
	t.Helper()
	resp, err := try(t, socket, method, path, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func try(t *testing.T, socket, method, path, body string, header ...string) (*http.Response, error) {
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	// A stream that should have been refused, or should have begun further on, would not end.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, "http://troupe"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return tr.RoundTrip(req)
}

func ask(t *testing.T, socket, method, path, body string, header ...string) (int, string) {
	t.Helper()
	resp := request(t, socket, method, path, body, header...)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode >= 400 && resp.Header.Get("Content-Type") != problemType {
		t.Errorf("%s %s: %d has the type %s", method, path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return resp.StatusCode, string(b)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const root, child = "/v1/sessions/7k3f00000000", "/v1/sessions/9m2000000000"
	for _, x := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/v1/sessions", "", 200, `"title":"limit 50"`},
		{"GET", "/v1/sessions?limit=-1", "", 422, `query.limit`},
		{"GET", "/v1/sessions?limits=1", "", 422, `unknown query parameter`},
		{"GET", "/v1/sessions/main%2FAuth%20Explorer", "", 200, `"id":"9m2000000000"`},
		{"GET", "/v1/sessions/9m2/report", "", 200, `"session_id":"7k3f00000000"`},
		{"GET", "/v1/sessions/nobody", "", 404, `"kind":"not_found"`},
		{"GET", "/v1/sessions/" + strings.Repeat("x", 2000), "", 422, "length"},
		{"GET", root + "/events", "", 200, `"type":"session.started"`},
		{"GET", root + "/events?after=1&limit=1", "", 200, `[{"type":"session.started"`},
		{"GET", root + "/events?limit=100000", "", 422, "limit"},
		{"GET", root + "/events?tree=true&cursor=7k3f00000000:2,9m2000000000:0", "", 200,
			`[{"type":"session.started","session":"9m2000000000"`},
		{"GET", root + "/events?tree=true&cursor=7k3f", "", 400, "is not a place in a log"},
		{"GET", "/v1/tasks", "", 200, `"doing":"waits for approval"`},
		{"GET", "/v1/requests?root=job", "", 200, `\u202e`},
		{"GET", "/v1/requests?root=zzz", "", 404, "not_found"},
		{"GET", "/openapi.yaml", "", 200, "openapi: "},
		{"GET", "/openapi.json", "", 200, `"openapi":"3.1.0"`},
		{"GET", "/", "", 404, "there is no GET / here"},
		{"PUT", "/v1/tasks", "", 404, "there is no PUT /v1/tasks here"},
		{"POST", root + "/messages", `{"text":"hello"}`, 200, `"effect":"steers"`},
		{"POST", root + "/messages", `{"txt":"hello"}`, 422, "unexpected property"},
		{"POST", root + "/messages", `{"text":"hello","later":true}`, 422, "unexpected property"},
		{"POST", root + "/messages", `{"text":`, 400, `"code":2`},
		{"POST", root + "/messages", ``, 400, "body"},
		{"POST", root + "/stop", `{"now":true}`, 204, ""},
		{"POST", root + "/stop", `{"now":"yes"}`, 422, "boolean"},
		{"POST", root + "/stop", `{"x":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too large"},
		{"POST", root + "/background", "", 400, "has no background"},
		{"POST", child + "/background", "", 204, ""},
		{"POST", child + "/compact", "{}", 409, `"kind":"fenced"`},
		{"POST", "/v1/requests/9m2/answer", `{}`, 422, "allow"},
		{"POST", "/v1/requests/9m2/answer", `{"allow":true}`, 204, ""},
		{"POST", "/v1/requests/9m2/answer", `{"allow":true}`, 404, "there is no open request"},
	} {
		status, body := ask(t, s.Path(), x.method, x.path, x.body)
		if status != x.status || !strings.Contains(body, x.says) &&
			!strings.Contains(body, strings.ReplaceAll(x.says, `\u202e`, "\u202e")) {
			t.Errorf("%s %.60s %.60s: %d %.300s; want %d with %q", x.method, x.path, x.body, status, body, x.status,
				x.says)
		}
	}
}

// TestCaller: who asks is what the kernel says of the peer, whatever a request claims.
func TestCaller(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	s := serveCases(t, w.As)
	if status, body := ask(t, s.Path(), "POST", "/v1/requests/9m2/answer",
		`{"allow":true,"by":"the president"}`); status != 422 {
		t.Errorf("who answers can be sent: %d %s", status, body)
	}
	ask(t, s.Path(), "POST", "/v1/requests/9m2/answer", `{"allow":true}`)
	want := troupe.Caller{Name: "you", Right: troupe.RightOwner, Surface: troupe.SurfaceSocket, Process: os.Getpid()}
	if got := w.Caller(); !reflect.DeepEqual(got, want) {
		t.Errorf("the caller is %+v, want %+v", got, want)
	}
}

// TestCallerWithSecret: a process that proves to have the same database says whom it speaks for. A secret that is none
// is worth less than no secret, and without one nothing counts that a call says of itself.
func TestCallerWithSecret(t *testing.T) {
	t.Parallel()
	w, in := apitest.New(), t.TempDir()
	s, err := Serve(t.Context(), filepath.Join(short(t), "a.sock"), w.As, Options{Keys: rightKeys{}, Folders: []string{
		in, t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	you := troupe.Caller{Name: "you", Right: troupe.RightOwner, Surface: troupe.SurfaceSocket, Process: os.Getpid()}
	ada := troupe.Caller{Name: "ada", Right: troupe.RightOperator, Surface: troupe.SurfaceServer, Token: "operator"}
	const eve = `{"name":"eve","right":"operator","surface":"server"}`
	for _, x := range []struct {
		token, who string
		status     int
		caller     troupe.Caller
	}{
		{"", "", 200, you},
		{"", eve, 200, you},
		{"none", "", 403, troupe.Caller{}},
		{"none", eve, 403, troupe.Caller{}},
		{"broken", "", 500, troupe.Caller{}}, // the database does not say whose it is
		{"operator", "", 200, ada},
		{"operator", eve, 200, ada},
		{"system", eve, 200, troupe.Caller{Name: "eve", Right: troupe.RightOperator, Surface: troupe.SurfaceServer,
			Relayed: true}},
		{"system", `{"right":"operator","surface":"server"}`, 400, troupe.Caller{}},
		{"system", `{`, 400, troupe.Caller{}},
	} {
		w.As(troupe.Caller{}) // forget the one before
		header := []string{wire.CallerHeader, x.who}
		if x.token != "" {
			header = append(header, "Authorization", "Bearer "+x.token)
		}
		begin := fmt.Sprintf(`{"prompt":"x","cwd":%q}`, in)
		status, body := ask(t, s.Path(), "POST", "/v1/sessions", begin, header...)
		if got := w.Caller(); status != x.status || !reflect.DeepEqual(got, x.caller) {
			t.Errorf("%q who says to be %q: %d %s; the caller is %+v", x.token, x.who, status, body, got)
		}
		// A user of a server is bound to its folders here too; the person of this machine is not.
		status, _ = ask(t, s.Path(), "POST", "/v1/sessions", `{"prompt":"x","cwd":"/"}`, header...)
		if bound := status != 200; bound == (reflect.DeepEqual(x.caller, you)) {
			t.Errorf("%q who says to be %q begins outside: %d", x.token, x.who, status)
		}
	}
}

// TestNamedLikeAnID: an id in a path is never taken for a name that looks like it.
func TestNamedLikeAnID(t *testing.T) {
	t.Parallel()
	s := serveCases(t, func(c troupe.Caller) api.API { return named{apitest.New().As(c)} })
	for _, path := range []string{"/v1/sessions/zzzz00000000/events"} {
		if status, body := ask(t, s.Path(), "GET", path, ""); status != http.StatusConflict ||
			!strings.Contains(body, "is the name of session 9m2000000000") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// named has a session whose name is what could be another's id.
type named struct{ api.API }

func (n named) Find(ctx context.Context, _, cwd string) (wire.Session, error) {
	return n.API.Find(ctx, string(apitest.Child), cwd)
}

// TestOtherOrigins: a web page in the user's browser must not reach what a proxy of theirs
// might put on a port.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	s := serve(t)
	status, body := ask(t, s.Path(), "POST", "/v1/sessions/7k3f00000000/stop", "{}", "Origin",
		"https://elsewhere.example")
	if status != http.StatusForbidden || !strings.Contains(body, "another origin") {
		t.Errorf("a page of elsewhere gets %d %s", status, body)
	}
}

// message reads a stream to its next message.
func message(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", b.String(), err)
		}
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	s := serveCases(t, w.As)
	open := func(path string, header ...string) *bufio.Reader {
		resp := request(t, s.Path(), "GET", path, "", append(header, "Accept", "text/event-stream")...)
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != streamType ||
			resp.Header.Get(rootHeader) != "7k3f00000000" {
			t.Fatalf("%s: %d %v", path, resp.StatusCode, resp.Header)
		}
		r := bufio.NewReader(resp.Body)
		if m := message(t, r); m != "retry: 1000\n" {
			t.Errorf("%s begins with %q", path, m)
		}
		return r
	}
	is := func(name string, r *bufio.Reader, id string) {
		t.Helper()
		if m := message(t, r); !strings.HasPrefix(m, "id: "+id+"\ndata: {\"type\":\"session.") ||
			strings.Count(m, "\n") != 2 {
			t.Errorf("%s: %q, want %s", name, m, id)
		}
	}
	one := open("/v1/sessions/job/events")
	is("from the start", one, "7k3f00000000:1")
	is("from the start", one, "7k3f00000000:2")
	w.Commit(apitest.Root, troupe.Started{Run: 2})
	is("as it comes", one, "7k3f00000000:3")

	is("resumed", open("/v1/sessions/job/events", "Last-Event-ID", "7k3f00000000:2"), "7k3f00000000:3")
	is("resumed by number", open("/v1/sessions/job/events?after=2"), "7k3f00000000:3")
	is("the further of both", open("/v1/sessions/job/events?after=1", "Last-Event-ID", "7k3f00000000:2"),
		"7k3f00000000:3")

	tree := open("/v1/sessions/job/events?tree=true&cursor=7k3f00000000:3")
	is("a tree", tree, "9m2000000000:1")
	w.Commit(apitest.Root, troupe.Started{Run: 3})
	is("a tree", tree, "7k3f00000000:4")

	if status, body := ask(t, s.Path(), "GET", "/v1/sessions/job/events", "", "Accept", "text/event-stream",
		"Last-Event-ID", "x"); status != 400 {
		t.Errorf("a bad Last-Event-ID: %d %s", status, body)
	}
	if status, _ := ask(t, s.Path(), "GET", "/v1/sessions/nobody/events", "", "Accept",
		"text/event-stream"); status != 404 {
		t.Errorf("a stream of nobody: %d", status)
	}
}

// fails is an api whose store has gone away.
type fails struct{ api.API }

func (f fails) Follow(ctx context.Context, o wire.Follow) (api.Stream, error) {
	s, err := f.API.Follow(ctx, o)
	return failing{s}, err
}

type failing struct{ api.Stream }

func (failing) Next(context.Context) (wire.Batch, error) {
	return wire.Batch{}, errors.New("the disk is gone")
}

// TestStreamFails: a stream that cannot go on says why before it ends.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	s := serveCases(t, func(c troupe.Caller) api.API { return fails{apitest.New().As(c)} })
	status, body := ask(t, s.Path(), "GET", "/v1/sessions/job/events?after=2", "", "Accept", "text/event-stream")
	if status != 200 || !strings.Contains(body, "event: problem\ndata: {") ||
		!strings.Contains(body, "the disk is gone") {
		t.Errorf("%d %s", status, body)
	}
}

// TestStreamLives: hours without an event do not end a stream; it shows that it lives, and a
// reader that takes nothing is let go. The time is virtual.
func TestStreamLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := apitest.New()
		s := newServer(t.Context(), &operations{bind: w.As}, slog.New(slog.DiscardHandler),
			func(net.Conn) peer { return peer{pid: 1} }, admitPeer)
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		go func() { s.served <- s.http.Serve(l) }()
		defer func() {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		dial := func() *bufio.Reader {
			c, there := net.Pipe()
			t.Cleanup(func() { c.Close() })
			if err := c.SetDeadline(time.Now().Add(3 * time.Hour)); err != nil { // none of this takes longer
				t.Fatal(err)
			}
			l.conns <- there
			go fmt.Fprint(c, "GET /v1/sessions/job/events?after=2 HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
			return bufio.NewReader(c)
		}
		reads, stuck := dial(), dial()
		begun := time.Now()
		for alive := 0; time.Since(begun) < 2*time.Hour; {
			if strings.Contains(message(t, reads), ": still here") {
				alive++
			}
			if alive > int(time.Since(begun)/stillHere)+1 {
				t.Fatalf("%d signs of life in %v", alive, time.Since(begun))
			}
		}
		w.Commit(apitest.Root, troupe.Started{Run: 2})
		for m := ""; !strings.Contains(m, "id: 7k3f00000000:3"); {
			m = message(t, reads)
		}
		if b, err := io.ReadAll(stuck); err != nil || bytes.Contains(b, []byte("still here")) {
			t.Errorf("a reader that took nothing for hours has %q, %v", b, err)
		}
	})
}

// pipes is a listener of connections in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// TestClose: requests under way are answered, streams end, and what takes too long is cancelled.
func TestClose(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	slow := slowly{API: w, begun: make(chan struct{}), let: make(chan struct{})}
	cases := func(troupe.Caller) api.API { return slow }
	for _, patient := range []bool{true, false} {
		s, err := Serve(t.Context(), filepath.Join(t.TempDir(), "a.sock"), cases, Options{Temp: os.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		stream := request(t, s.Path(), "GET", "/v1/sessions/job/events", "", "Accept", "text/event-stream")
		answered := make(chan string, 1)
		go func() {
			resp, err := try(t, s.Path(), "POST", "/v1/sessions/7k3f00000000/stop", "{}")
			if err != nil {
				answered <- err.Error()
				return
			}
			resp.Body.Close()
			answered <- resp.Status
		}()
		<-slow.begun
		ctx, cancel := context.WithCancel(t.Context())
		if !patient {
			cancel()
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close(ctx) }()
		if _, err := io.Copy(io.Discard, stream.Body); err != nil && patient {
			t.Errorf("the stream ended with %v", err)
		}
		if patient {
			slow.let <- struct{}{}
		}
		if got := <-answered; patient != strings.HasPrefix(got, "204") {
			t.Errorf("patient %t: the request under way got %s", patient, got)
		}
		if err := <-closed; err != nil {
			t.Errorf("Close: %v", err)
		}
		cancel()
		if _, err := os.Lstat(s.Path()); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	}
}

// slowly stops sessions when it is let.
type slowly struct {
	api.API
	begun, let chan struct{}
}

func (s slowly) Stop(ctx context.Context, _ troupe.SessionID, _ wire.Stop) error {
	s.begun <- struct{}{}
	select {
	case <-s.let:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, body := ask(t, s.Path(), "GET", "/openapi.json", "")
	var doc struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || len(doc.Paths) != 74 {
		t.Errorf("it describes %d paths: %v", len(doc.Paths), err)
	}
}

// TestNobody: a request that came by a way on which nobody was looked at is refused.
func TestNobody(t *testing.T) {
	t.Parallel()
	s := newServer(t.Context(), &operations{bind: apitest.New().As}, slog.New(slog.DiscardHandler), look, admitPeer)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/tasks", nil)
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "who calls is not known") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if p := look(here); !errors.Is(p.refused, errNoPeer) {
		t.Errorf("somebody on a pipe is %+v", p)
	}
	s.cancel()
}
