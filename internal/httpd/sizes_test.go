package httpd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestListsAreBounded: every list that is sent has a bound that the description names, and rules that are more are
// refused with it.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	doc := (&operations{}).describe(http.NewServeMux())
	lists := 0
	seen := map[*huma.Schema]bool{}
	var look func(where string, s *huma.Schema)
	look = func(where string, s *huma.Schema) {
		if s != nil && s.Ref != "" {
			s = doc.Components.Schemas.SchemaFromRef(s.Ref)
		}
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if s.Items != nil {
			if lists++; s.MaxItems == nil || *s.MaxItems > mostItems {
				t.Errorf("%s has no bound", where)
			}
			look(where, s.Items)
		}
		for name, p := range s.Properties {
			look(where+"."+name, p)
		}
	}
	for path, p := range doc.Paths {
		if p.Post != nil && p.Post.RequestBody != nil {
			look(path, p.Post.RequestBody.Content["application/json"].Schema)
		}
	}
	if lists < 10 {
		t.Errorf("%d lists are sent", lists)
	}
	dir := t.TempDir()
	_, s := listenFor(t, Address{Folders: []string{dir}})
	for n, want := range map[int]int{mostItems: http.StatusOK, mostItems + 1: http.StatusUnprocessableEntity} {
		rules := strings.TrimSuffix(strings.Repeat(`"Read(x)",`, n), ",")
		status, body := callAt(t, s, "viewer", "POST", "/v1/rules", fmt.Sprintf(`{"cwd":%q,"deny":[%s]}`, dir, rules))
		if status != want || want != http.StatusOK && !strings.Contains(body, "<= 1000") {
			t.Errorf("%d rules: %d %.300s", n, status, body)
		}
	}
}

// onPipes serves an api over pipes, which hold nothing that is not read, and dials it.
func onPipes(t *testing.T, log *slog.Logger, bind Bind) (*Server, func(token, method, path, body string) net.Conn) {
	t.Helper()
	s := newServer(t.Context(), &operations{bind: bind, keys: rightKeys{}}, log,
		func(net.Conn) peer { return peer{} }, newDoor(Address{Log: log}, rightKeys{}, false).admit)
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	go func() { s.served <- s.http.Serve(l) }()
	return s, func(token, method, path, body string) net.Conn {
		c, there := net.Pipe()
		t.Cleanup(func() { c.Close() })
		l.conns <- there
		go fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, token, len(body), body)
		return c
	}
}

// stubborn stops nothing until it is let, whoever has gone.
type stubborn struct {
	api.API

	let chan struct{}
}

func (s stubborn) Stop(context.Context, troupe.SessionID, wire.Stop) error { <-s.let; return nil }

// TestCloseLeavesTheStubborn: a server ends within its time, whatever a call does, and says which one did not end. The
// time is virtual.
func TestCloseLeavesTheStubborn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, let := apitest.New(), make(chan struct{})
		var told bytes.Buffer
		s, dial := onPipes(t, slog.New(slog.NewTextHandler(&told, nil)),
			func(c troupe.Caller) api.API { return stubborn{w.As(c), let} })
		dial("admin", "POST", "/v1/sessions/7k3f00000000/stop", "{}")
		synctest.Wait()
		const patience = 5 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		began := time.Now()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > patience+leaveWithin || !strings.Contains(told.String(), "/stop") ||
			!strings.Contains(told.String(), "POST") {
			t.Errorf("it took %v, and told is %q", took, told.String())
		}
		close(let)
	})
}

// large is an api whose plans are large. It counts how often they were asked for.
type large struct {
	api.API

	asked *atomic.Int32
}

func (l large) Plans(context.Context, string) ([]wire.Plan, error) {
	l.asked.Add(1)
	return []wire.Plan{{Name: "p", Text: strings.Repeat("x", 5<<20)}}, nil
}

// TestWhoDoesNotRead: of a token few answers are made at once; others are told to come again. Who takes nothing of an
// answer is cut off; who reads slowly is not. The time is virtual.
func TestWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := apitest.New()
		var asked atomic.Int32
		s, dial := onPipes(t, slog.New(slog.DiscardHandler),
			func(c troupe.Caller) api.API { return large{w.As(c), &asked} })
		defer func() {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		read := func(c net.Conn) (int, []byte, error) {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return 0, nil, err
			}
			b, err := io.ReadAll(resp.Body)
			return resp.StatusCode, b, err
		}
		const path = "/v1/plans"
		var idle []net.Conn
		for range mostLooks {
			idle = append(idle, dial("viewer", "GET", path, ""))
		}
		synctest.Wait()
		began := time.Now()
		status, b, err := read(dial("viewer", "POST", "/v1/worktrees", `{"cwd":"/src"}`))
		if err != nil || status != http.StatusTooManyRequests || time.Since(began) != largeWait ||
			!strings.Contains(string(b), "4 answers") || asked.Load() != mostLooks {
			t.Errorf("one more: %d %s, %v, after %v; %d were made", status, b, err, time.Since(began), asked.Load())
		}
		if status, _, err := read(dial("operator", "GET", "/v1/me", "")); err != nil || status != http.StatusOK {
			t.Errorf("another token: %d, %v", status, err)
		}
		<-time.After(writeWait)
		for _, c := range idle {
			if _, b, err := read(c); err == nil {
				t.Errorf("who did not read has %d bytes", len(b))
			}
		}
		slow, n := dial("viewer", "GET", path, ""), 0
		for buf := make([]byte, 256<<10); err == nil; {
			var m int
			m, err = slow.Read(buf)
			n += m
			if m > 32<<10 {
				<-time.After(writeWait / 8)
			}
		}
		if n < 5<<20 || time.Since(began) < time.Minute {
			t.Errorf("who reads slowly has %d bytes after %v: %v", n, time.Since(began), err)
		}
		if len(s.busy.calls) != 0 {
			t.Errorf("%d calls are under way", len(s.busy.calls))
		}
	})
}
