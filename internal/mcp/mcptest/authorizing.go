package mcptest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Authorizing is an MCP server that wants to know who asks, and the authorization server that tells it, at two
// addresses of this machine.
type Authorizing struct {
	MCP, Auth *httptest.Server
	// Lasts is how long a token is good; 0: a server says nothing of it.
	Lasts time.Duration
	// Metadata changes what either says of itself; nil: nothing.
	Metadata func(map[string]any)
	// Repeats is what the token endpoint says for an error, of what it was sent, with the status 500.
	Repeats func(form url.Values) string
	// Refuses: the person says no.
	Refuses bool
	// Static is a client that is known without a registration, and registers nobody else.
	Static string
	// Scope is what calls of the tool big need besides.
	Scope string

	mu       sync.Mutex
	clients  map[string]string // redirect by id
	codes    map[string]url.Values
	tokens   map[string]string // scopes by token
	refresh  map[string]string
	renewals int
	heard    []http.Header // what the authorization server was sent
	asked    []string      // and where and what it was asked
	sent     []string      // and the MCP server for Authorization
}

// Authorize starts both. Close ends them.
func Authorize() *Authorizing {
	a := &Authorizing{clients: map[string]string{}, codes: map[string]url.Values{}, tokens: map[string]string{},
		refresh: map[string]string{}}
	s := New(0)
	mcp.AddTool(s, &mcp.Tool{Name: "tell", Description: "Tell what it was sent as."}, func(_ context.Context,
		r *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: "sent as " + r.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	inner := Handler(s, "", false)
	a.MCP = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
			a.tell(w, map[string]any{"resource": a.MCP.URL + "/mcp", "authorization_servers": []string{a.Auth.URL},
				"scopes_supported": []string{"read"}})
			return
		}
		a.guard(w, r, inner)
	}))
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		m := map[string]any{"issuer": a.Auth.URL, "authorization_endpoint": a.Auth.URL + "/authorize",
			"token_endpoint": a.Auth.URL + "/token", "registration_endpoint": a.Auth.URL + "/register",
			"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"}}
		if a.Static != "" {
			delete(m, "registration_endpoint")
		}
		a.tell(w, m)
	})
	mux.HandleFunc("/register", a.register)
	mux.HandleFunc("/authorize", a.authorize)
	mux.HandleFunc("/token", a.token)
	a.Auth = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // what cannot be read is not understood below
		a.mu.Lock()
		a.heard, a.asked = append(a.heard, r.Header.Clone()), append(a.asked, r.URL.String()+" "+r.PostForm.Encode())
		a.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	return a
}

// Close ends both servers.
func (a *Authorizing) Close() { a.MCP.Close(); a.Auth.Close() }

// URL is the address of the MCP server.
func (a *Authorizing) URL() string { return a.MCP.URL + "/mcp" }

// Heard are the headers that the authorization server was sent.
func (a *Authorizing) Heard() []http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.heard)
}

// Asked is what the authorization server was asked.
func (a *Authorizing) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// Sent is what the MCP server was sent for Authorization.
func (a *Authorizing) Sent() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.sent, " ")
}

// Renewals is how often tokens were renewed.
func (a *Authorizing) Renewals() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.renewals
}

// Tokens are those that are good.
func (a *Authorizing) Tokens() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t := range a.tokens {
		out = append(out, t)
	}
	return out
}

// Forget makes the tokens that were given worthless, and with all what they are renewed with as well.
func (a *Authorizing) Forget(all bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.tokens)
	if all {
		clear(a.refresh)
	}
}

// Browse opens an address as a person with a browser does, and returns what the last page says.
func Browse(address string) (string, error) {
	r, err := http.Get(address) //nolint:gosec,noctx // it plays a browser
	if err != nil {
		return "", err
	}
	defer r.Body.Close() //nolint:errcheck // only read from
	data := make([]byte, 1000)
	n, _ := r.Body.Read(data)
	return string(data[:n]), nil
}

func (a *Authorizing) tell(w http.ResponseWriter, m map[string]any) {
	if a.Metadata != nil {
		a.Metadata(m)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m)
}

// guard lets those through who have a token.
func (a *Authorizing) guard(w http.ResponseWriter, r *http.Request, inner http.Handler) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	scopes, ok := a.tokens[token]
	a.sent = append(a.sent, r.Header.Get("Authorization"))
	a.mu.Unlock()
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/`+
			`oauth-protected-resource"`, a.MCP.URL))
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case a.Scope != "" && !slices.Contains(strings.Fields(scopes), a.Scope):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+a.Scope+`"`)
		http.Error(w, "you may not", http.StatusForbidden)
	default:
		inner.ServeHTTP(w, r)
	}
}

func (a *Authorizing) register(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || len(in.Redirects) != 1 {
		http.Error(w, `{"error":"invalid_client_metadata"}`, http.StatusBadRequest)
		return
	}
	id := rand.Text()
	a.mu.Lock()
	a.clients[id] = in.Redirects[0]
	a.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "token_endpoint_auth_method": "none",
		"redirect_uris": in.Redirects})
}

func (a *Authorizing) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	known := a.clients[q.Get("client_id")] == q.Get("redirect_uri") || a.Static != "" && q.Get("client_id") == a.Static
	if err != nil || !known || q.Get("code_challenge_method") != "S256" || q.Get("resource") != a.URL() {
		http.Error(w, "this is no request of a client that is known", http.StatusBadRequest)
		return
	}
	out := url.Values{"state": {q.Get("state")}}
	if a.Refuses {
		out.Set("error", "access_denied")
		out.Set("error_description", "not \x1b[31mtoday")
	} else {
		code := rand.Text()
		a.codes[code] = q
		out.Set("code", code)
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (a *Authorizing) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	refused := func() {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_grant", "echo": r.PostForm})
	}
	if r.ParseForm() != nil {
		refused()
		return
	}
	if a.Repeats != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": a.Repeats(r.PostForm)})
		return
	}
	scopes := ""
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		q, ok := a.codes[r.PostForm.Get("code")]
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") ||
			r.PostForm.Get("redirect_uri") != q.Get("redirect_uri") {
			refused()
			return
		}
		delete(a.codes, r.PostForm.Get("code"))
		scopes = q.Get("scope")
	case "refresh_token":
		old := r.PostForm.Get("refresh_token")
		s, ok := a.refresh[old]
		if !ok {
			refused()
			return
		}
		delete(a.refresh, old) // it is good once
		scopes = s
		a.renewals++
	}
	access, refresh := "at-"+rand.Text(), "rt-"+rand.Text()
	out := map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
	if a.Lasts != 0 {
		out["expires_in"] = int(a.Lasts.Seconds())
	}
	a.tokens[access], a.refresh[refresh] = scopes, scopes
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}
