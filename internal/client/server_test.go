package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

// oneKey lets its caller in.
type oneKey struct {
	token  string
	caller troupe.Caller
}

func (k oneKey) Whose(_ context.Context, token string) (troupe.Caller, error) {
	if token != k.token {
		return troupe.Caller{}, &troupe.UserError{Problem: "nobody's token", Hint: "h", Code: troupe.ExitPermission}
	}
	return k.caller, nil
}

func (oneKey) Ready(context.Context) error { return nil }

func (k oneKey) SignIn(_ context.Context, in wire.SignIn) (wire.SignedIn, error) {
	return wire.SignedIn{Token: k.token, Name: in.Code + in.Label}, nil
}

// listen puts a World at an address. The caller is one whose folders are not bounded, as no folder of a World is there.
func listen(t *testing.T, w *apitest.World, at string) *httpd.Server {
	t.Helper()
	you := troupe.You(troupe.SurfaceSocket)
	s, err := httpd.Listen(t.Context(), httpd.Address{Listen: at}, oneKey{"secret", you}, w.As)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeServer(t *testing.T, s *httpd.Server) {
	t.Helper()
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// TestServerConforms: a server at an address answers as a process on a socket does.
func TestServerConforms(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	s := listen(t, w, "127.0.0.1:0")
	defer closeServer(t, s)
	c := client.At("http://"+s.Addr().String(), "secret")
	defer c.Close()
	apitest.Conform(t, w, c)
	w = apitest.New()
	s = listen(t, w, "127.0.0.1:0")
	defer closeServer(t, s)
	c = client.At("http://"+s.Addr().String()+"/", "secret")
	defer c.Close()
	apitest.Streams(t, w, c)
	in, err := client.SignIn(t.Context(), "http://"+s.Addr().String(), wire.SignIn{Code: "a", Label: "b"})
	if err != nil || in.Token != "secret" || in.Name != "ab" {
		t.Errorf("a login gives %+v, %v", in, err)
	}
}

// TestWrongToken: who is not let in is told why, with the exit code for that.
func TestWrongToken(t *testing.T) {
	t.Parallel()
	s := listen(t, apitest.New(), "127.0.0.1:0")
	defer closeServer(t, s)
	c := client.At("http://"+s.Addr().String(), "wrong")
	defer c.Close()
	var user *troupe.UserError
	if _, err := c.Server().People().Me(t.Context()); !errors.As(err, &user) || user.Code != troupe.ExitPermission ||
		user.Problem != "nobody's token" || user.Hint != "h" {
		t.Errorf("the error is %v", err)
	}
}

// TestServerComesBack: a server that is started anew is waited for by those who look, and by no one who has something
// done: that may have been done.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	s := listen(t, w, "127.0.0.1:0")
	address := s.Addr().String()
	c := client.At("http://"+address, "secret")
	defer c.Close()
	if _, err := c.Find(t.Context(), "main", ""); err != nil {
		t.Fatal(err)
	}
	closeServer(t, s)
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for what, err := range map[string]error{
		"a stop":  c.Stop(within, apitest.Root, wire.Stop{}),
		"a login": c.Server().People().Revoke(within, wire.Revoke{ID: "x"}),
	} {
		if !errors.Is(err, api.ErrUnreachable) && !errors.Is(err, api.ErrLost) || len(w.Calls()) > 0 ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s at a server that is gone: %v, %v", what, err, w.Calls())
		}
	}
	told := make(chan string, 9)
	client.Tell(c, func(text string) { told <- text })
	found := make(chan error)
	go func() {
		_, err := c.Find(t.Context(), "main", "")
		found <- err
	}()
	if text := <-told; !strings.Contains(text, "does not answer") {
		t.Errorf("told is %q", text)
	}
	again := listen(t, w, address)
	defer closeServer(t, again)
	if err := <-found; err != nil {
		t.Error(err)
	}
	close(told)
	var rest []string
	for text := range told {
		rest = append(rest, text)
	}
	if len(rest) != 1 || !strings.Contains(rest[0], "answers again") {
		t.Errorf("behind that it is told %q", rest)
	}
}

// TestSaidOnce: words and beginnings to a server that goes away before it has answered are sent again, with the same
// key, once it is back.
func TestSaidOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	refuse := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{}`)
			return
		}
		var in struct {
			Key string `json:"idempotency_key"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		got = append(got, r.URL.Path+" "+in.Key)
		if refuse = !refuse; refuse {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, `{}`)
	}))
	defer srv.Close()
	heard := func() []string { // since it was last asked
		mu.Lock()
		defer mu.Unlock()
		out := got
		got = nil
		return out
	}
	c := client.At(srv.URL, "secret")
	defer c.Close()
	if _, err := c.Find(t.Context(), "main", ""); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"begin": func() error { _, err := c.Begin(t.Context(), wire.Begin{Prompt: "x"}); return err },
		"send":  func() error { _, err := c.Send(t.Context(), apitest.Root, wire.Message{Text: "x"}); return err },
	} {
		err := call()
		if got := heard(); err != nil || len(got) != 2 || got[0] != got[1] || strings.HasSuffix(got[0], " ") {
			t.Errorf("%s: %v, called were %q", what, err, got)
		}
	}
	_, err := c.Begin(t.Context(), wire.Begin{Prompt: "x", Resume: "7k3f"})
	if got := heard(); !errors.Is(err, api.ErrLost) || len(got) != 1 {
		t.Errorf("one that goes on: %v, called were %q", err, got)
	}
}

// TestServerStaysAway: a server that has answered is waited for a minute, and not for ever; a wait is a look.
func TestServerStaysAway(t *testing.T) {
	t.Parallel()
	s := listen(t, apitest.New(), "127.0.0.1:0")
	c := client.At("http://"+s.Addr().String(), "secret")
	if _, err := c.Find(t.Context(), "main", ""); err != nil {
		t.Fatal(err)
	}
	c.Close()
	closeServer(t, s)
	synctest.Test(t, func(t *testing.T) {
		for what, look := range map[string]func(context.Context) error{
			"a look": func(ctx context.Context) error { _, err := c.Find(ctx, "main", ""); return err },
			"a wait": func(ctx context.Context) error { return c.Wait(ctx, apitest.Root) },
		} {
			within, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			began := time.Now()
			err := look(within)
			if took := time.Since(began); !errors.Is(err, api.ErrUnreachable) || took < 59*time.Second ||
				took > 62*time.Second {
				t.Errorf("%s ended after %v with %v", what, took, err)
			}
			cancel()
		}
	})
}

// TestThroughProxy: servers are called through the proxy that the environment names, and sockets are not.
func TestThroughProxy(t *testing.T) {
	t.Parallel()
	const variable, nobody = "HTTP_PROXY", "http://127.0.0.1:9"
	if os.Getenv(variable) != nobody { // the environment is read once
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestThroughProxy$")
		cmd.Env = append(os.Environ(), variable+"="+nobody, "NO_PROXY=", "no_proxy=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	for proxied, c := range map[bool]*client.Client{
		true:  client.At("http://troupe.invalid:7777", "secret"),
		false: client.Dial("/none.sock"),
	} {
		_, err := c.Server().People().Me(t.Context())
		if op, ok := errors.AsType[*net.OpError](err); !ok || (op.Op == "proxyconnect") != proxied {
			t.Errorf("through a proxy %t: %v, %+v", proxied, err, op)
		}
		c.Close()
	}
}

// TestNoServer: an address where nothing ever answered is a mistake, which is told at once.
func TestNoServer(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := client.At("http://"+address, "secret")
	defer c.Close()
	_, err = c.Find(t.Context(), "main", "")
	if user, ok := errors.AsType[*troupe.UserError](err); !ok || !strings.Contains(user.Hint, "Is the address right") ||
		strings.Contains(fmt.Sprintf("%v%+v", err, *user), "secret") {
		t.Errorf("the error is %v", err)
	}
}

// TestNoRedirect: the token is for the server that it is of, whatever that answers.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	var got []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	s := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	c := client.At(s.URL, "secret")
	defer c.Close()
	if _, err := c.Server().People().Me(t.Context()); err == nil || len(got) > 0 {
		t.Errorf("a redirect leads to %q, %v", got, err)
	}
}

// TestCertificate: a server that does not prove who it is gets no token, and the person is told what to do.
func TestCertificate(t *testing.T) {
	t.Parallel()
	called := false
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	c := client.At(s.URL, "secret")
	defer c.Close()
	if _, err := c.Server().People().Me(t.Context()); err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") ||
		called {
		t.Errorf("a certificate of nobody's: %v", err)
	}
	plain := client.At(strings.Replace(s.URL, "https:", "http:", 1), "secret")
	defer plain.Close()
	if _, err := plain.Server().People().Me(t.Context()); err == nil || !strings.Contains(err.Error(), s.URL) ||
		!strings.Contains(err.Error(), "speaks TLS") || called {
		t.Errorf("plain HTTP where TLS is spoken: %v", err)
	}
}
