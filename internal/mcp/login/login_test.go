package login_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe/internal/mcp"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
	"github.com/troupe-dev/troupe/internal/mcp/login"
	"github.com/troupe-dev/troupe/internal/mcp/mcptest"
	"github.com/troupe-dev/troupe/internal/tool/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serving) }

// serving is what the SDK's server, which plays the other side, has for sessions that nobody ended.
var serving = goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read")

// home is a store of logins with a clock, and the servers that are logged in to.
type home struct {
	*mcptest.Authorizing
	t     *testing.T
	dir   string
	store *login.Store
	entry entry.Entry

	mu      sync.Mutex
	now     time.Time
	secrets []string
}

func (h *home) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *home) later(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{t: t, Authorizing: mcptest.Authorize(), dir: filepath.Join(t.TempDir(), "logins"), now: time.Now()}
	t.Cleanup(func() {
		h.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	h.entry = entry.Entry{Name: "docs", Type: entry.HTTP, URL: h.URL(),
		Headers: map[string]string{"X-Key": "of-the-entry"}}
	h.store = h.open()
	return h
}

// open is the store as another process has it.
func (h *home) open() *login.Store {
	return login.New(login.Options{Dir: h.dir, Now: h.clock,
		Client: func(near []string, loopback bool) (*http.Client, error) {
			return web.Client(web.Options{Local: near, Loopback: loopback})
		},
		Secret: func(s string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.secrets = append(h.secrets, s)
		}})
}

func (h *home) login() *login.Login { return h.store.Of("hash", "/f/.mcp.json", h.entry) }

// in logs in, as a person with a browser does.
func (h *home) in(scopes ...string) {
	h.t.Helper()
	p, err := h.login().Begin(h.t.Context(), scopes)
	if err != nil {
		h.t.Fatal(err)
	}
	defer p.End()
	if said, err := mcptest.Browse(p.Address()); err != nil || !strings.Contains(said, "close this page") {
		h.t.Fatalf("the browser shows %q, %v", said, err)
	}
	if h.login().State() != login.In {
		h.t.Error("the browser was told of a login that was not kept yet")
	}
	if err := p.Wait(soon(h.t)); err != nil {
		h.t.Fatal(err)
	}
}

// soon is far more time than a login takes that goes as it should.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func (h *home) token(l *login.Login) string {
	h.t.Helper()
	token, err := l.Token(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return token
}

// TestLogin: discovery, registration, PKCE and the way back over a free port; what came of it is in a file of the
// user's alone, and the authorization server is sent nothing of the entry.
func TestLogin(t *testing.T) {
	h := newHome(t)
	if got := h.token(h.login()); got != "" || h.login().State() != login.None {
		t.Errorf("there is a login before the first: %q", got)
	}
	h.in()
	token := h.token(h.login())
	if len(h.Tokens()) != 1 || token != h.Tokens()[0] || h.login().State() != login.In {
		t.Errorf("the token is %q of %v", token, h.Tokens())
	}
	for _, sent := range h.Heard() {
		if sent.Get("X-Key") != "" || sent.Get("Authorization") != "" {
			t.Errorf("the authorization server was sent %v", sent)
		}
	}
	h.mu.Lock()
	if !strings.Contains(strings.Join(h.secrets, " "), token) {
		t.Error("the token was used before it could be masked")
	}
	h.mu.Unlock()
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		info, ierr := os.Lstat(path)
		if err != nil || ierr != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if there, err := h.login().Forget(t.Context()); !there || err != nil || h.token(h.login()) != "" {
		t.Errorf("it was not forgotten: %v, %v", there, err)
	}
	if there, err := h.login().Forget(t.Context()); there || err != nil {
		t.Errorf("it was forgotten again: %v, %v", there, err)
	}
}

// TestWhatIsNotTold: what stands behind the address of an entry may be a key, and the address that a person opens holds
// nothing that looks like something else.
func TestWhatIsNotTold(t *testing.T) {
	h := newHome(t)
	h.entry.URL += "?api_key=of-the-entry"
	h.Metadata = func(m map[string]any) {
		if m["authorization_endpoint"] != nil {
			m["authorization_endpoint"] = h.Auth.URL + "/authorize?from=\u202egro.knab"
		}
	}
	p, err := h.login().Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	address := p.Address()
	if strings.Contains(address, "of-the-entry") || strings.ContainsFunc(address,
		func(r rune) bool { return r > '~' }) {
		t.Errorf("the address is %q", address)
	}
	if _, err := mcptest.Browse(address); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(soon(t)); err != nil {
		t.Fatal(err)
	}
	for _, sent := range h.Asked() {
		if strings.Contains(sent, "of-the-entry") {
			t.Errorf("the authorization server was sent %s", sent)
		}
	}
}

// TestBound: a login is for one entry, as it stands in one file, at one address.
func TestBound(t *testing.T) {
	h := newHome(t)
	h.in()
	elsewhere := h.entry
	elsewhere.URL = strings.Replace(h.entry.URL, "/mcp", "/mcp2", 1)
	for what, l := range map[string]*login.Login{
		"a changed entry":   h.store.Of("other", "/f/.mcp.json", h.entry),
		"another file":      h.store.Of("hash", "/g/.mcp.json", h.entry),
		"a changed address": h.store.Of("hash", "/f/.mcp.json", elsewhere),
	} {
		if got := h.token(l); got != "" || l.State() != login.None {
			t.Errorf("%s has the token", what)
		}
	}
	// A file under the name of another login is none of it.
	files, err := filepath.Glob(filepath.Join(h.dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.Replace(string(data), h.entry.URL, elsewhere.URL, 1))
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if h.token(h.login()) != "" {
		t.Error("a file about another address was taken")
	}
}

// TestRenew: a token that has expired, or that the server refuses, is renewed, by one process at a time: what it is
// renewed with is good once. When that is refused the login is over, and nobody is asked again.
func TestRenew(t *testing.T) {
	h := newHome(t)
	h.Lasts = time.Hour
	h.in()
	first := h.token(h.login())
	h.later(2 * time.Hour)
	var all sync.WaitGroup
	tokens := make([]string, 8)
	for i := range tokens {
		l := h.open().Of("hash", "/f/.mcp.json", h.entry)
		all.Go(func() { tokens[i], _ = l.Token(t.Context()) })
	}
	all.Wait()
	for _, got := range tokens {
		if got == "" || got == first || got != tokens[0] {
			t.Errorf("the tokens are %v", tokens)
			break
		}
	}
	if h.Renewals() != 1 {
		t.Errorf("it was renewed %d times", h.Renewals())
	}
	s := mcp.New(t.Context(), mcp.Options{})
	defer s.Close()
	to := mcp.Target{Entry: h.entry, Login: h.login()}
	call := func(want string) {
		t.Helper()
		r, err := s.Call(t.Context(), to, "echo", []byte(`{"text":"hi"}`), nil)
		said := ""
		if err != nil {
			said = err.Error()
		}
		for _, p := range r.Pieces {
			said += p.Text
		}
		if !strings.Contains(said, want) {
			t.Errorf("the call says %q, want %q", said, want)
		}
	}
	call("echo: hi")
	h.Forget(false) // the server has, before its time
	call("echo: hi")
	if h.Renewals() != 2 {
		t.Errorf("it was renewed %d times", h.Renewals())
	}
	h.Forget(true)
	call("needs login: troupe mcp login docs")
	if h.login().State() != login.Over {
		t.Errorf("the login is %q", h.login().State())
	}
	asked := len(h.Heard())
	call("needs login: troupe mcp login docs")
	if len(h.Heard()) != asked {
		t.Error("the authorization server was asked again")
	}
	h.in() // in another terminal
	call("echo: hi")
	h.Scope = "write"
	call("needs a login with more rights: troupe mcp login docs --scope 'write'")
	h.in("write")
	call("echo: hi")
}

// TestRepeatsNothing: whatever a token endpoint or a registration says, nothing of what it was sent is in an error, nor
// on disk.
func TestRepeatsNothing(t *testing.T) {
	h := newHome(t)
	h.Lasts = time.Hour
	h.in()
	h.later(2 * time.Hour)
	var sent string
	h.Repeats = func(form url.Values) string {
		sent = form.Get("refresh_token")
		return url.QueryEscape("x " + sent)
	}
	_, err := h.login().Token(t.Context())
	if err == nil || sent == "" || strings.Contains(err.Error(), sent) ||
		!strings.Contains(err.Error(), "(500 Internal Server Error an error that is not told") {
		t.Errorf("it says %v of %q", err, sent)
	}
	h.Repeats = func(url.Values) string { return "server_error" }
	if _, err := h.login().Token(t.Context()); err == nil || !strings.Contains(err.Error(), "server_error") {
		t.Errorf("it says %v", err)
	}
	said := ""
	registers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": said})
	}))
	defer registers.Close()
	h = newHome(t)
	h.Metadata = func(m map[string]any) {
		if m["registration_endpoint"] != nil {
			m["registration_endpoint"] = registers.URL
		}
	}
	for code, want := range map[string]string{"x " + sent: "program (an error that is not told",
		"invalid_redirect_uri": "program (invalid_redirect_uri)"} {
		said = code
		if _, err := h.login().Begin(t.Context(), nil); err == nil || strings.Contains(err.Error(), sent) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("registering, it says %v", err)
		}
	}
}

// TestRefused: what a person or the authorization server refuses is told, without what could harm a terminal.
func TestRefused(t *testing.T) {
	h := newHome(t)
	h.Refuses = true
	p, err := h.login().Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	// Who does not know the state is not heard, and spoils nothing.
	if said, err := mcptest.Browse(p.Redirect() + "?state=guessed&code=mine"); err != nil ||
		!strings.Contains(said, "not a login that was begun here") {
		t.Errorf("a stranger is told %q, %v", said, err)
	}
	if said, err := mcptest.Browse(p.Address()); err != nil || !strings.Contains(said, "You are not logged in: the "+
		"login was refused (access_denied") {
		t.Fatal(said, err)
	}
	err = p.Wait(soon(t))
	if err == nil || !strings.Contains(err.Error(), "the login was refused (access_denied not") ||
		strings.Contains(err.Error(), "\x1b") {
		t.Errorf("it says %v", err)
	}
	if h.login().State() != login.None {
		t.Error("there is a login")
	}
	given, err := h.login().Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	given.End()
	if err := given.Wait(soon(t)); err == nil || !strings.Contains(err.Error(), "given up") {
		t.Errorf("it says %v", err)
	}
}

// TestNotKept: a login that cannot be kept is none, and the browser is told so.
func TestNotKept(t *testing.T) {
	h := newHome(t)
	if err := os.WriteFile(h.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := h.login().Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	said, err := mcptest.Browse(p.Address())
	if err != nil || !strings.Contains(said, "You are not logged in: keep the login:") {
		t.Errorf("the browser shows %q, %v", said, err)
	}
	if err := p.Wait(soon(t)); err == nil || !strings.Contains(err.Error(), "keep the login") {
		t.Errorf("it says %v", err)
	}
}

// TestPlainWords: what a server does wrong is told in a sentence, and not in the words of a library.
func TestPlainWords(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	stranger.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	for want, change := range map[string]func(m map[string]any){
		"does not keep a login from others who listen (PKCE)": func(m map[string]any) {
			delete(m, "code_challenge_methods_supported")
		},
		"is another one than the server named": func(m map[string]any) {
			if m["issuer"] != nil {
				m["issuer"] = "http://127.0.0.1:1"
			}
		},
		"nothing answers there": func(m map[string]any) {
			if m["registration_endpoint"] != nil {
				m["registration_endpoint"] = gone.URL
			}
		},
		"its certificate is not to be trusted": func(m map[string]any) {
			if m["registration_endpoint"] != nil {
				m["registration_endpoint"] = stranger.URL
			}
		},
	} {
		h := newHome(t)
		h.Metadata = change
		_, err := h.login().Begin(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "library") {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// TestClient: a client that is known to the authorization server, with an address to come back to of its own.
func TestClient(t *testing.T) {
	h := newHome(t)
	h.Static = "known"
	if _, err := h.login().Begin(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "registers no program by itself") {
		t.Errorf("it says %v", err)
	}
	h.entry.OAuth = &entry.OAuth{ID: "known", Issuer: "https://auth.example.com"}
	if _, err := h.login().Begin(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "somewhere else than") {
		t.Errorf("it says %v", err)
	}
	h.entry.OAuth.Issuer = h.Auth.URL
	h.entry.Type = entry.SSE // which is asked in another way
	h.in()
	if h.token(h.login()) == "" {
		t.Error("there is no token")
	}
}

// TestStrangeAddresses: addresses that a server names are reached with TLS and where WebFetch may go, and on this
// machine for a server that is on it. No other gets a word.
func TestStrangeAddresses(t *testing.T) {
	h := newHome(t)
	told := 0
	private := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told++ }))
	defer private.Close()
	for key, values := range map[string][]string{
		"token_endpoint":        {"http://10.0.0.1/token", "https://169.254.169.254/latest"},
		"registration_endpoint": {"http://192.168.1.1/x", "https://10.1.2.3/register", "file:///etc/passwd"},
		"authorization_endpoint": {"http://10.0.0.1/", "javascript:alert(1)", "http://example.com/login", "file:///x",
			"https://bank.example@10.0.0.1/", "https://bank.example/#x", "https://b\u0430nk.example/"},
		"authorization_servers": {"http://10.0.0.1", "https://169.254.169.254", "https://user:pw@127.0.0.1:1"},
	} {
		for _, value := range values {
			h.Metadata = func(m map[string]any) {
				if key == "authorization_servers" && m[key] != nil {
					m[key] = []string{value}
				} else if m[key] != nil {
					m[key] = value
				}
			}
			p, err := h.login().Begin(t.Context(), nil)
			if err == nil {
				if _, err = mcptest.Browse(p.Address()); err == nil {
					err = p.Wait(soon(t))
				}
				p.End()
			}
			if err == nil || h.login().State() != login.None {
				t.Errorf("%s %s: %v", key, value, err)
			}
		}
	}
	// A server elsewhere names this machine: the guard refuses what answers there.
	away := h.store.Of("x", "", entry.Entry{Name: "away", Type: entry.HTTP, URL: "https://mcp.example.com/mcp"})
	port := strings.Split(private.URL, ":")[2]
	for address, want := range map[string]string{private.URL: "only public addresses", h.Auth.URL: "not encrypted",
		"https://localhost:" + port: "only public addresses", "https://10.0.0.1": "only public addresses"} {
		if err := away.Reaches(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	near := h.login()
	if err := near.Reaches(t.Context(), h.Auth.URL); err != nil {
		t.Errorf("a server of this machine does not reach this machine: %v", err)
	}
	if told != 0 {
		t.Errorf("what listens here was told %d times", told)
	}
	for want, e := range map[string]entry.Entry{
		"a program on this machine": {Type: entry.Stdio, Command: "x"},
		"take that header out":      {Type: entry.HTTP, URL: h.URL(), Headers: map[string]string{"authorization": "x"}},
		"is not encrypted":          {Type: entry.HTTP, URL: "http://mcp.example.com/mcp"},
	} {
		if _, err := h.store.Of("x", "", e).Begin(t.Context(), nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
