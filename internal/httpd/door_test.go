package httpd

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/wire"
)

// slowKeys are rightKeys that take their time, as a database does.
type slowKeys struct {
	rightKeys

	asked atomic.Int64
	down  atomic.Bool // the database is
}

func (k *slowKeys) Whose(ctx context.Context, token string) (troupe.Caller, error) {
	k.asked.Add(1)
	<-time.After(10 * time.Millisecond)
	if k.down.Load() {
		return troupe.Caller{}, outage()
	}
	return k.rightKeys.Whose(ctx, token)
}

// outage is what the store says of a database that cannot be reached.
func outage() error {
	return &troupe.UserError{Problem: "cannot read record token/abc: the database cannot be reached (user=troupe " +
		"host=10.9.8.7)", Hint: "See that it runs.", Err: troupe.ErrDamaged}
}

// visit is a call at a door, from an address.
func visit(t *testing.T, h http.Handler, method, path, token, from string, header ...string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{}"))
	r.RemoteAddr = from + ":1"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// doorOf is the door of a server with these keys, and what is behind it.
func doorOf(k Keys) http.Handler {
	return (&Server{}).guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}), newDoor(Address{Log: slog.New(slog.DiscardHandler)}, k, false).admit)
}

// TestTriesAtOnce: of wrong tokens that come at the same time no more are looked up than of those that come one after
// the other. The time is virtual.
func TestTriesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &slowKeys{}
		h := doorOf(k)
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() { visit(t, h, "GET", "/v1/me", fmt.Sprint("wrong", i), "10.0.0.1") })
		}
		all.Wait()
		if n := k.asked.Load(); n != strangerBurst {
			t.Errorf("%d of 300 wrong tokens were looked up", n)
		}
		if status := visit(t, h, "GET", "/v1/me", "wrong", "10.0.0.2"); status != http.StatusUnauthorized {
			t.Errorf("a wrong token from elsewhere: %d", status)
		}
	})
}

// TestFirstCallsAtOnce: of calls that come at once with a token which is not known yet, as behind a restart, one looks
// it up; what comes of it holds for all, also that the database does not answer.
func TestFirstCallsAtOnce(t *testing.T) {
	t.Parallel()
	for down, want := range map[bool]int{false: http.StatusNoContent, true: http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			k := &slowKeys{}
			k.down.Store(down)
			h := doorOf(k)
			var all sync.WaitGroup
			for range 10 * strangerBurst {
				all.Go(func() {
					if status := visit(t, h, "GET", "/v1/me", "viewer", "10.0.0.1"); status != want {
						t.Errorf("%d, want %d", status, want)
					}
				})
			}
			all.Wait()
			if n := k.asked.Load(); down && n != 1 {
				t.Errorf("it was looked up %d times", n)
			}
		})
	}
}

// TestNeighbours: who has been let in within the hour is let in, whatever their address has used up; a token that is
// good uses up nothing, and one that has become wrong is a stranger's.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const here = "10.0.0.1"
		k := &slowKeys{}
		h := doorOf(k)
		is := func(what, token string, want int) {
			t.Helper()
			if status := visit(t, h, "GET", "/v1/me", token, here); status != want {
				t.Errorf("%s: %d, want %d", what, status, want)
			}
		}
		for range 3 * strangerBurst {
			is("a good token", "viewer", http.StatusNoContent)
		}
		for range strangerBurst {
			is("a wrong token", "wrong", http.StatusUnauthorized)
		}
		is("one too many", "wrong", http.StatusTooManyRequests)
		is("the good token beside them", "viewer", http.StatusNoContent)
		is("a good token that is not known", "operator", http.StatusTooManyRequests)
		if status := visit(t, h, "POST", "/v1/sign-in", "", here); status != http.StatusNoContent {
			t.Errorf("a login beside wrong tokens: %d", status)
		}
		<-time.After(knownFor + time.Minute)
		for range strangerBurst {
			is("a wrong token an hour later", "wrong", http.StatusUnauthorized)
		}
		is("the good token, which was not seen for an hour", "viewer", http.StatusTooManyRequests)
		<-time.After(time.Minute)
		is("the good token again", "viewer", http.StatusNoContent)
		k.down.Store(true)
		for range 3 * strangerBurst {
			is("a wrong token at an outage", "wrong", http.StatusServiceUnavailable)
		}
		is("the good token at an outage", "viewer", http.StatusServiceUnavailable)
	})
}

// TestRevokedIsAStranger: a token that was good, and is not any more, is one wrong token and then like others.
func TestRevokedIsAStranger(t *testing.T) {
	t.Parallel()
	k := &fickle{}
	h := doorOf(k)
	for range 3 {
		visit(t, h, "GET", "/v1/me", "viewer", "10.0.0.1")
	}
	k.gone.Store(true)
	k.asked.Store(0)
	for range 300 {
		visit(t, h, "GET", "/v1/me", "viewer", "10.0.0.1")
	}
	if n := k.asked.Load(); n < strangerBurst || n > strangerBurst+2 {
		t.Errorf("a token that was revoked is looked up %d times", n)
	}
}

// fickle are rightKeys whose tokens can be revoked, or be worth less.
type fickle struct {
	rightKeys

	asked      atomic.Int64
	gone, down atomic.Bool
}

func (k *fickle) Whose(ctx context.Context, token string) (troupe.Caller, error) {
	k.asked.Add(1)
	switch {
	case k.down.Load():
		return troupe.Caller{}, outage()
	case k.gone.Load():
		token = "none"
	}
	return k.rightKeys.Whose(ctx, token)
}

// TestPagesOfOthersCount: what a page of another site has a browser send uses up nothing of what people at its address
// may try.
func TestPagesOfOthersCount(t *testing.T) {
	t.Parallel()
	h := doorOf(&fickle{})
	for range 3 * strangerBurst {
		for path, token := range map[string]string{"/v1/sign-in": "", "/v1/sessions": "wrong"} {
			if status := visit(t, h, "POST", path, token, "10.0.0.1", "Sec-Fetch-Site", "cross-site"); status != 403 {
				t.Fatalf("a page of another site posts to %s: %d", path, status)
			}
		}
	}
	if status := visit(t, h, "POST", "/v1/sign-in", "", "10.0.0.1"); status != http.StatusNoContent {
		t.Errorf("a login beside such a page: %d", status)
	}
	if status := visit(t, h, "GET", "/v1/me", "operator", "10.0.0.1"); status != http.StatusNoContent {
		t.Errorf("a good token beside such a page: %d", status)
	}
}

// TestKnownTokens: so many are known and no more.
func TestKnownTokens(t *testing.T) {
	t.Parallel()
	k := newKnown()
	for i := range 3 * mostKnown {
		k.add(fmt.Sprint(i), knownFor)
	}
	if len(k.until) > mostKnown {
		t.Errorf("%d tokens are known", len(k.until))
	}
	if !k.has(fmt.Sprint(3*mostKnown - 1)) {
		t.Error("the newest is not known")
	}
}

// downKeys are those of a server whose database is down.
type downKeys struct{}

func (downKeys) Whose(context.Context, string) (troupe.Caller, error) {
	return troupe.Caller{}, outage()
}
func (downKeys) Ready(context.Context) error { return outage() }
func (downKeys) SignIn(context.Context, wire.SignIn) (wire.SignedIn, error) {
	return wire.SignedIn{}, outage()
}

// hangingKeys are those of a database that does not answer.
type hangingKeys struct{ rightKeys }

func (hangingKeys) Whose(ctx context.Context, _ string) (troupe.Caller, error) {
	<-ctx.Done()
	return troupe.Caller{}, context.Cause(ctx)
}

func (hangingKeys) SignIn(ctx context.Context, _ wire.SignIn) (wire.SignedIn, error) {
	<-ctx.Done()
	return wire.SignedIn{}, context.Cause(ctx)
}

// TestDatabaseHangs: who calls while the database does not answer is told within five seconds. The time is virtual.
func TestDatabaseHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &operations{keys: hangingKeys{}, log: slog.New(slog.DiscardHandler)}
		mux := http.NewServeMux()
		o.describe(mux)
		for name, call := range map[string]func() int{
			"a token": func() int { return visit(t, doorOf(hangingKeys{}), "GET", "/v1/me", "viewer", "10.0.0.1") },
			"a login": func() int {
				r := wire.RouteOf(wire.SignInRoute)
				req := httptest.NewRequestWithContext(t.Context(), r.Method, r.Path,
					strings.NewReader(`{"code":"good"}`))
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, req)
				return w.Code
			},
		} {
			began := time.Now()
			status := call()
			if took := time.Since(began); status != http.StatusServiceUnavailable || took > 5*time.Second {
				t.Errorf("%s: %d within %v", name, status, took)
			}
		}
	})
}

// TestDatabaseDown: where the database does not answer, no token is wrong, and strangers learn nothing of it.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), Address{Listen: "127.0.0.1:0"}, downKeys{}, apitest.New().As)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	for range 3 * strangerBurst {
		status, body := callAt(t, s, "viewer", "GET", "/v1/me", "")
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "cannot reach its database; try again") {
			t.Fatalf("a token: %d %s", status, body)
		}
	}
	for _, x := range []struct{ method, path, body string }{
		{"POST", "/v1/sign-in", `{"code":"good"}`}, {"GET", "/readyz", ""},
	} {
		status, body := callAt(t, s, "", x.method, x.path, x.body)
		if status != http.StatusServiceUnavailable || strings.Contains(body, "10.9.8.7") ||
			strings.Contains(body, "abc") || strings.Contains(body, "user=") {
			t.Errorf("%s: %d %s", x.path, status, body)
		}
	}
	if status, _ := callAt(t, s, "", "GET", "/healthz", ""); status != http.StatusNoContent {
		t.Errorf("it does not live: %d", status)
	}
}
