package httpd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// waits is an api of trees that never end.
type waits struct{ api.API }

func (waits) Wait(ctx context.Context, _ troupe.SessionID) error { <-ctx.Done(); return ctx.Err() }

// lessened are fickle keys whose tokens can be worth nothing.
type lessened struct {
	fickle

	less atomic.Bool
	// inProject: the right is one in the project /src alone; less is one in another.
	inProject bool
}

func (k *lessened) Whose(ctx context.Context, token string) (troupe.Caller, error) {
	c, err := k.fickle.Whose(ctx, token)
	less := k.less.Load()
	switch {
	case k.inProject && err == nil:
		c.Projects, c.Right = troupe.Projects{{Folder: "/src", Right: c.Right}}, troupe.RightNone
		if less {
			c.Projects[0].Folder = "/src/other"
		}
	case less:
		c.Right = ""
	}
	return c, err
}

// TestStreamsEndWithTheirRight: who is removed, or given less than a verb needs, reads an open stream for ten seconds
// more and waits for no tree; a database that is down ends none. The time is virtual.
func TestStreamsEndWithTheirRight(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(*lessened){
		"revoked": func(k *lessened) { k.gone.Store(true) },
		"less":    func(k *lessened) { k.less.Store(true) },

		"less of projects": func(k *lessened) { k.less.Store(true) },
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &lessened{inProject: strings.Contains(what, "project")}
			w := apitest.New()
			w.Settle("/src")
			o := &operations{bind: func(c troupe.Caller) api.API { return waits{w.As(c)} }, keys: k,
				in: folders{"/src"}}
			s := newServer(t.Context(), o, slog.New(slog.DiscardHandler), func(net.Conn) peer { return peer{} },
				newDoor(Address{Log: slog.New(slog.DiscardHandler)}, k, false).admit)
			l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
			go func() { s.served <- s.http.Serve(l) }()
			defer func() {
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			dial := func(method, path string) *bufio.Reader {
				c, there := net.Pipe()
				t.Cleanup(func() { c.Close() })
				l.conns <- there
				go fmt.Fprintf(c, "%s %s HTTP/1.0\r\nAuthorization: Bearer viewer\r\nAccept: text/event-stream\r\n\r\n",
					method, path)
				return bufio.NewReader(c)
			}
			stream := dial("GET", "/v1/sessions/job/events")
			for m := ""; !strings.Contains(m, "id: 7k3f00000000:2"); {
				m = message(t, stream)
			}
			k.down.Store(true)
			for range 4 {
				if m := message(t, stream); !strings.Contains(m, "still here") {
					t.Fatalf("%s: at an outage came %q", what, m)
				}
			}
			k.down.Store(false)
			for range 2 {
				if m := message(t, stream); !strings.Contains(m, "still here") {
					t.Fatalf("%s: while the right holds came %q", what, m)
				}
			}
			wait := dial("POST", "/v1/sessions/job/wait")
			synctest.Wait()
			take(k)
			began := time.Now()
			if b, err := io.ReadAll(stream); err != nil || time.Since(began) > lookAgain {
				t.Errorf("%s: the stream went on for %v: %q, %v", what, time.Since(began), b, err)
			}
			b, err := io.ReadAll(wait)
			if err != nil || time.Since(began) > lookAgain || !strings.Contains(string(b), `"ended":false`) {
				t.Errorf("%s: it was waited for %v: %s, %v", what, time.Since(began), b, err)
			}
		})
	}
}

// TestStreamsAreFew: a token has so many streams open and a server so many, and one that ends makes room.
func TestStreamsAreFew(t *testing.T) {
	t.Parallel()
	_, s := listenFor(t, Address{Folders: []string{realDir(t)}})
	dial := func(token string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET",
			"http://"+s.Addr().String()+"/v1/sessions/7k3f00000000/events", nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", streamType)
		return (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	}
	var opened []io.Closer
	for range mostOfToken {
		resp, err := dial("viewer")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %v, %v", len(opened), resp, err)
		}
		opened = append(opened, resp.Body)
	}
	resp, err := dial("viewer")
	if err != nil || resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" ||
		resp.Header.Get("Content-Type") != problemType {
		t.Fatalf("one stream more: %+v, %v", resp, err)
	}
	resp.Body.Close()
	if resp, err = dial("operator"); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("one with another token: %v, %v", resp, err)
	}
	resp.Body.Close()
	for _, c := range opened {
		c.Close()
	}
	for again := false; !again; { // once the server has noticed
		if resp, err = dial("viewer"); err != nil {
			t.Fatal(err)
		}
		again = resp.StatusCode == http.StatusOK
		resp.Body.Close()
	}
	n := &open{of: make(map[string]int)}
	var leave func()
	for i := range mostStreams {
		if leave, err = n.enter(troupe.Caller{Token: fmt.Sprint(i)}); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := n.enter(troupe.Caller{Token: "x"}); err == nil {
		t.Error("a server has one stream more")
	}
	if leave(); len(n.of) != mostStreams-1 || n.all != mostStreams-1 {
		t.Errorf("a stream that has ended is counted: %d", n.all)
	}
}

// TestLargeBodiesTakeTurns: so many large bodies are read at once; others wait, and not for ever. Small ones do not.
func TestLargeBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(&operations{bind: apitest.New().As}, t.Context())
		post := func(body io.Reader, size int64) *httptest.ResponseRecorder {
			ctx := context.WithValue(t.Context(), callerKey{}, troupe.You(troupe.SurfaceSocket))
			r := httptest.NewRequestWithContext(ctx, "POST", "/v1/sessions/7k3f00000000/messages", body)
			r.ContentLength = size
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		var all sync.WaitGroup
		var slow []*io.PipeWriter
		for range mostLarge {
			r, w := io.Pipe()
			slow = append(slow, w)
			all.Go(func() { post(r, -1) })
		}
		synctest.Wait()
		const say = `{"text":"x"}`
		if w := post(strings.NewReader(say), int64(len(say))); w.Code != http.StatusOK {
			t.Errorf("a small one: %d %s", w.Code, w.Body)
		}
		w := post(strings.NewReader(say), maxBody+1)
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("a large one: %d %v", w.Code, w.Header())
		}
		all.Go(func() {
			if w := post(strings.NewReader(say), -1); w.Code != http.StatusOK {
				t.Errorf("one that waited for its turn: %d %s", w.Code, w.Body)
			}
		})
		synctest.Wait()
		for _, w := range slow {
			w.Close()
		}
		all.Wait()
	})
}

// TestExplainIsBounded: about so many calls can be asked at once.
func TestExplainIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, s := listenFor(t, Address{Folders: []string{dir}})
	ask := func(n int) (int, string) {
		calls := strings.TrimSuffix(strings.Repeat(`{"tool":"Bash","input":{}},`, n), ",")
		return callAt(t, s, "viewer", "POST", "/v1/explain",
			fmt.Sprintf(`{"place":{"cwd":%q},"calls":[%s]}`, dir, calls))
	}
	if status, body := ask(wire.MostCalls); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if status, body := ask(wire.MostCalls + 1); status != http.StatusBadRequest ||
		!strings.Contains(body, "200 at a time") {
		t.Errorf("%d %s", status, body)
	}
	for _, p := range []string{"explain", "agents", "agent", "skills", "workflows"} {
		if status, _ := callAt(t, s, "viewer", "POST", "/v1/"+p, `{"x":"`+strings.Repeat("x", maxBody)+`"}`); status !=
			http.StatusRequestEntityTooLarge {
			t.Errorf("2 MB to %s: %d", p, status)
		}
	}
}

// asks is an api that notes what it is asked to follow.
type asks struct {
	api.API
	is func(wire.Follow)
}

func (a asks) Follow(ctx context.Context, f wire.Follow) (api.Stream, error) {
	a.is(f)
	return failing{}, context.Canceled
}

// byOne is a stream that has one event at a time, and at last what is wrong with it.
type byOne struct {
	api.Stream
	all []troupe.Event
	err error
}

func (s *byOne) Rest(ctx context.Context) (out []troupe.Event, err error) {
	if s.all == nil {
		if s.all, err = s.Stream.Rest(ctx); err != nil {
			return nil, err
		}
	}
	if len(s.all) == 0 {
		return nil, s.err
	}
	out, s.all = s.all[:1:1], s.all[1:]
	return out, nil
}

// inPages is an api whose streams are byOne.
type inPages struct {
	api.API
	err error
}

func (a inPages) Follow(ctx context.Context, f wire.Follow) (api.Stream, error) {
	if !f.Paged {
		return nil, errors.New("a whole tree is asked for")
	}
	s, err := a.API.Follow(ctx, f)
	return &byOne{Stream: s, err: a.err}, err
}

// TestTreesArePaged: the events of a whole tree are read a page at a time; an answer that misses some is none.
func TestTreesArePaged(t *testing.T) {
	t.Parallel()
	const path = "/v1/sessions/job/events?tree=true"
	_, want := ask(t, serveCases(t, apitest.New().As).Path(), "GET", path, "")
	of := func(err error) *Server {
		return serveCases(t, func(c troupe.Caller) api.API { return inPages{apitest.New().As(c), err} })
	}
	if status, got := ask(t, of(nil).Path(), "GET", path, ""); status != 200 || got != want ||
		strings.Count(got, `"seq"`) < 3 {
		t.Errorf("%d %s\nwant %s", status, got, want)
	}
	if status, got := ask(t, of(nil).Path(), "GET", path+"&cursor=7k3f00000000:99,9m2000000000:99",
		""); status != 200 ||
		got != "[]\n" {
		t.Errorf("of nothing new: %d %s", status, got)
	}
	resp := request(t, of(errors.New("the disk is on fire")).Path(), "GET", path, "")
	if all, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("what is cut off looks whole: %s", all)
	}
}

// TestStreamsArePaged: a stream does not have a log read whole, however long it is.
func TestStreamsArePaged(t *testing.T) {
	t.Parallel()
	paged := false
	s := serveCases(t, func(c troupe.Caller) api.API {
		return asks{apitest.New().As(c), func(f wire.Follow) { paged = f.Paged }}
	})
	if status, body := ask(t, s.Path(), "GET", "/v1/sessions/job/events", "", "Accept", streamType); status != 200 ||
		!paged {
		t.Errorf("%d %s", status, body)
	}
}
