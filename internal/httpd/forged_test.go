package httpd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// raw sends bytes to a server, and no more where they are cut, and reads one answer.
func raw(t *testing.T, s *Server, text string, cut bool) (*http.Response, []byte) {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Logf("it takes no more: %v", err)
	}
	if tcp, ok := c.(*net.TCPConn); ok && cut {
		if err := tcp.CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%.300q: no answer: %v", text, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%.300q: %d, and then %v", text, resp.StatusCode, err)
	}
	return resp, b
}

// forged is a request as it is written on a connection, with a token of a right.
func forged(line, token, body string, header ...string) string {
	all := append([]string{"Host: 127.0.0.1", "Authorization: Bearer " + token}, header...)
	if !slices.ContainsFunc(header, func(h string) bool {
		return strings.HasPrefix(h, "Content-Length") || strings.HasPrefix(h, "Transfer-Encoding")
	}) {
		all = append(all, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	return line + "\r\n" + strings.Join(all, "\r\n") + "\r\n\r\n" + body
}

// TestForgedRequests: what a call says of itself in other ways than by its method, its path and its token counts for
// nothing; what is written in two ways, or as no program does, is refused, and none of it reaches a session.
func TestForgedRequests(t *testing.T) {
	t.Parallel()
	w, s := listenFor(t, Address{Folders: []string{realDir(t)}})
	const stop, me = "POST /v1/sessions/7k3f00000000/stop HTTP/1.1", "GET /v1/me HTTP/1.1"
	chunks := "2\r\n{}\r\n0\r\n\r\n"
	for _, x := range []struct {
		what, text string
		want       int
	}{
		// From pages of others.
		{"a page's POST", forged(stop, "operator", "{}", "Origin: https://evil.example"), 403},
		{"a page without an origin", forged(stop, "operator", "{}", "Origin: null"), 403},
		{"a page's fetch", forged(stop, "operator", "{}", "Sec-Fetch-Site: cross-site"), 403},
		{"a page of another port", forged(stop, "operator", "{}", "Sec-Fetch-Site: same-site"), 403},
		{"a page's form", forged(stop, "operator", "now=true", "Origin: http://127.0.0.1:1",
			"Content-Type: application/x-www-form-urlencoded"), 403},
		{"a page's delivery", forged("POST /v1/webhooks/h/deliveries HTTP/1.1", "", "{}",
			"Origin: https://evil.example"), 403},
		{"a page's login", forged("POST /v1/sign-in HTTP/1.1", "", `{"code":"good"}`, "Sec-Fetch-Site: cross-site"),
			403},
		// By another name, or for another server.
		{"another host", "GET /v1/me HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer viewer\r\n\r\n", 403},
		{"a host that begins so", "GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\nAuthorization: Bearer " +
			"viewer\r\n\r\n", 403},
		{"two hosts", "GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nAuthorization: Bearer " +
			"viewer\r\n\r\n", 400},
		{"no host", "GET /v1/me HTTP/1.1\r\nAuthorization: Bearer viewer\r\n\r\n", 400},
		{"no host, of old", "GET /v1/me HTTP/1.0\r\nAuthorization: Bearer viewer\r\n\r\n", 403},
		{"a host of old", "GET /v1/me HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer viewer\r\n\r\n", 200},
		{"a whole address elsewhere", forged("GET http://evil.example/v1/me HTTP/1.1", "viewer", ""), 403},
		{"a whole address here", forged("GET http://127.0.0.1/v1/me HTTP/1.1", "viewer", ""), 200},
		{"a tunnel", forged("CONNECT 127.0.0.1:22 HTTP/1.1", "admin", ""), 404},
		{"a tunnel elsewhere", forged("CONNECT evil.example:22 HTTP/1.1", "admin", ""), 403},
		{"a forwarded host", forged(me, "viewer", "", "X-Forwarded-Host: evil.example", "Forwarded: host=evil.example"),
			200},
		// As another one, or by another method or path.
		{"as another", forged(stop, "viewer", "{}", `Troupe-Caller: {"name":"eve","right":"admin","surface":"server"}`),
			403},
		{"by a header", forged(stop, "viewer", "{}", "X-Forwarded-User: admin", "X-Remote-User: admin"), 403},
		{"another method", forged("GET /v1/sessions/7k3f00000000 HTTP/1.1", "operator", "",
			"X-Http-Method-Override: DELETE",
			"X-Http-Method: DELETE", "X-Method-Override: DELETE"), 200},
		{"another method behind the path", forged("GET /v1/sessions/7k3f00000000?_method=DELETE HTTP/1.1", "operator",
			""), 422},
		{"another path", forged(me, "viewer", "", "X-Original-Url: /v1/users", "X-Rewrite-Url: /v1/users"), 200},
		{"two tokens", forged(me, "viewer", "", "Authorization: Bearer admin"), 401},
		{"two tokens, the first is wrong", forged(me, "wrong", "", "Authorization: Bearer admin"), 401},
		{"a token in the path", "GET /v1/me?access_token=admin HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 401},
		{"a token in a cookie", "GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: token=admin; Authorization=Bearer " +
			"admin\r\n\r\n", 401},
		{"a name and a password", "GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic " +
			"YWRtaW46YWRtaW4=\r\n\r\n", 401},
		// Paths.
		{"two strokes", forged("POST //v1/sessions/7k3f00000000/stop HTTP/1.1", "operator", "{}"), 404},
		{"two strokes within", forged("POST /v1//sessions/7k3f00000000/stop HTTP/1.1", "operator", "{}"), 404},
		{"up", forged("POST /v1/tasks/../sessions/7k3f00000000/stop HTTP/1.1", "operator", "{}"), 404},
		{"up from what needs no token", forged("POST /v1/sign-in/../sessions/7k3f00000000/stop HTTP/1.1", "operator",
			"{}"), 404},
		{"here", forged("POST /v1/./sessions/7k3f00000000/stop HTTP/1.1", "operator", "{}"), 404},
		{"up, in other words", forged("POST /v1/tasks/%2e%2e/sessions/7k3f00000000/stop HTTP/1.1", "operator", "{}"),
			404},
		{"up behind a session", forged("GET /v1/sessions/7k3f00000000/%2e%2e/../users HTTP/1.1", "viewer", ""), 404},
		{"a stroke in other words", forged("POST /v1%2fsessions%2f7k3f00000000%2fstop HTTP/1.1", "operator", "{}"),
			404},
		{"a parameter", forged("POST /v1/sessions/7k3f00000000/stop;x=1 HTTP/1.1", "operator", "{}"), 404},
		{"a dot behind it", forged("POST /v1/sessions/7k3f00000000/stop. HTTP/1.1", "operator", "{}"), 404},
		{"a stroke behind it", forged("POST /v1/sessions/7k3f00000000/stop/ HTTP/1.1", "operator", "{}"), 404},
		{"capitals", forged("POST /V1/Sessions/7k3f00000000/Stop HTTP/1.1", "operator", "{}"), 404},
		{"a backslash", forged(`POST /v1\sessions\7k3f00000000\stop HTTP/1.1`, "operator", "{}"), 404},
		{"a zero", forged("POST /v1/sessions/7k3f00000000%00/stop HTTP/1.1", "operator", "{}"), 404},
		{"a broken escape", forged("POST /v1/sessions/%zz/stop HTTP/1.1", "operator", "{}"), 400},
		{"a path that becomes that of a login", forged("GET /v1%2fsign-in HTTP/1.1", "", ""), 401},
		{"a path that becomes that of a delivery", forged("POST /v1/webhooks/x%2fdeliveries HTTP/1.1", "", "{}"), 404},
		// What is sent in two ways, or as nothing sends it.
		{"two lengths", forged(stop, "operator", "{}", "Content-Length: 2", "Content-Length: 3"), 400},
		{"a length and chunks", forged(stop, "operator", chunks, "Content-Length: 2", "Transfer-Encoding: chunked"),
			204},
		{"a length below zero", forged(stop, "operator", "{}", "Content-Length: -1"), 400},
		{"chunks of another kind", forged(stop, "operator", chunks, "Transfer-Encoding: gzip, chunked"), 501},
		{"broken chunks", forged(stop, "operator", "zz\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 400},
		{"a header on two lines", forged(me, "viewer", "", "X-A: b\r\n folded"), 200},
		{"a space before a colon", forged(me, "viewer", "", "X-A : b"), 400},
		{"a version that is none", forged("GET /v1/me HTTP/9.9", "viewer", ""), 505},
		{"no HTTP", "hello\r\n\r\n", 400},
		{"HTTP/2 in the clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403},
		{"what is waited for", forged(stop, "operator", "{}", "Expect: 200-maybe"), 417},
		{"large headers", forged(me, "viewer", "", "X-A: "+strings.Repeat("a", 300<<10)), 431},
		{"a large body", forged(stop, "operator", strings.Repeat(" ", maxBody+1)), 413},
		{"a large body in chunks", forged(stop, "operator", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", maxBody+2,
			strings.Repeat(" ", maxBody+2)), "Transfer-Encoding: chunked"), 413},
		{"a body that is packed", forged(stop, "operator", packed(t, "{}"), "Content-Encoding: gzip"), 415},
		{"a small body that unpacks to a large one", forged(stop, "operator", packed(t, strings.Repeat(" ", 64<<20)),
			"Content-Encoding: gzip"), 415},
		{"a form", forged(stop, "operator", "now=true", "Content-Type: application/x-www-form-urlencoded"), 415},
		{"JSON as a form", forged(stop, "operator", "{}", "Content-Type: application/x-www-form-urlencoded"), 415},
		{"JSON as a text", forged(stop, "operator", "{}", "Content-Type: text/plain"), 415},
		{"JSON of another kind", forged(stop, "operator", "{}", "Content-Type: application/json; charset=utf-8"), 204},
		{"a body that ends before its end", forged(stop, "operator", "{}", "Content-Length: 3"), 400},
		{"chunks that end before their end", forged(stop, "operator", "2\r\n{}\r\n", "Transfer-Encoding: chunked"),
			400},
		{"a field in other capitals", forged(stop, "operator", `{"now":false,"Now":true}`), 400},
		{"a field with another s", forged("POST /v1/sessions/7k3f00000000/messages HTTP/1.1", "operator",
			`{"text":"x","images":[],"imageſ":[]}`), 400},
		{"a field of any kind twice", forged("POST /v1/tokens/revoke HTTP/1.1", "viewer", `{"id":"x","ID":"y"}`), 400},
		{"a field twice within", forged("POST /v1/sessions/7k3f00000000/messages HTTP/1.1", "operator",
			`{"text":"x","images":[{"media_type":"a","media_type":"b","data":""}]}`), 400},
		{"a field twice", forged(stop, "operator", `{"now":false,"now":true}`, "Content-Type: application/json"), 400},
	} {
		before := len(w.Calls())
		resp, b := raw(t, s, x.text, strings.Contains(x.what, "before"))
		if resp.StatusCode != x.want {
			t.Errorf("%s: %d, want %d: %.300s", x.what, resp.StatusCode, x.want, b)
		}
		if done := len(w.Calls()) > before; done != (resp.StatusCode == http.StatusNoContent) {
			t.Errorf("%s: %d, and it was done: %t", x.what, resp.StatusCode, done)
		}
		if kind := resp.Header.Get("Content-Type"); kind == problemType {
			var p wire.Problem
			if err := json.Unmarshal(b, &p); err != nil || p.Status != resp.StatusCode || p.Detail == "" {
				t.Errorf("%s: %s, %v", x.what, b, err)
			}
		} else if resp.StatusCode >= 400 && len(b) > 0 && (kind != "text/plain; charset=utf-8" || len(b) > 200) {
			t.Errorf("%s: %d has the type %q: %.300s", x.what, resp.StatusCode, kind, b)
		}
		if resp.Header.Get("Location") != "" || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", x.what, resp.Header)
		}
	}
	// A list in other capitals does not go past its bound, and what may hold anything may hold fields that look alike.
	many := strings.TrimSuffix(strings.Repeat(`"Read(x)",`, mostItems+1), ",")
	for body, want := range map[string]int{
		`{"place":{"cwd":"/src"},"calls":[{"tool":"x","input":{"a":1,"A":{"b":1,"B":2}}}]}`:            200,
		`{"place":{"cwd":"/src","deny":[],"Deny":[` + many + `]},"calls":[{"tool":"x","input":null}]}`: 400,
	} {
		if status, b := callAt(t, s, "viewer", "POST", "/v1/explain", body); status != want {
			t.Errorf("%.100s: %d %.300s", body, status, b)
		}
	}
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSlowBodies: who sends a body a byte at a time, or stops in the middle, is told so within seconds and let go. The
// time is virtual.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := apitest.New()
		s := newServer(t.Context(), &operations{bind: w.As, keys: rightKeys{}}, slog.New(slog.DiscardHandler),
			func(net.Conn) peer { return peer{} }, newDoor(Address{}, rightKeys{}, false).admit)
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		go func() { s.served <- s.http.Serve(l) }()
		defer func() {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		for _, every := range []time.Duration{time.Second, time.Hour} {
			c, there := net.Pipe()
			defer c.Close()
			l.conns <- there
			began, over := time.Now(), make(chan struct{})
			go func() {
				_, err := io.WriteString(c, forged("POST /v1/sessions/7k3f00000000/stop HTTP/1.1", "operator", "{",
					"Content-Length: 1000"))
				for err == nil {
					select {
					case <-over:
						return
					case <-time.After(every):
					}
					_, err = io.WriteString(c, " ")
				}
			}()
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			close(over)
			if err != nil || resp.StatusCode != http.StatusRequestTimeout || time.Since(began) > 10*time.Second ||
				resp.Header.Get("Content-Type") != problemType || len(w.Calls()) > 0 {
				t.Errorf("a byte each %v: %+v, %v, after %v", every, resp, err, time.Since(began))
			}
		}
	})
}
