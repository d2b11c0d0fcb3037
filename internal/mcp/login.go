package mcp

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// Login is a user's login at one server, see the package login. It is safe for concurrent use.
type Login interface {
	// Token is what is sent with each request; "" if the user is not logged in. It may take a request of its own.
	Token(ctx context.Context) (string, error)
	// Renew is another token in the place of one that the server refused; "" if there is none.
	Renew(ctx context.Context, refused string) (string, error)
}

// LoginError says that a server wants to know who asks, or more than it is told.
type LoginError struct {
	Server string
	More   bool   // there is a login, and it has not the rights that are needed
	Scope  string // those that are, if they can be shown
}

func (e *LoginError) Error() string {
	word := entry.Word(e.Server)
	switch {
	case e.More && e.Scope != "":
		return "needs a login with more rights: troupe mcp login " + word + " --scope '" + e.Scope + "'"
	case e.More:
		return "needs a login with more rights: troupe mcp login " + word
	default:
		return "needs login: troupe mcp login " + word
	}
}

// refusal is why requests of a connection did not reach the server as the user's, as of the last one.
type refusal struct {
	mu  sync.Mutex
	err error
}

func (r *refusal) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *refusal) get() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// send sends a request as the logged in user, where there is one. A token that is refused is renewed once.
func (b bounded) send(r *http.Request) (*http.Response, error) {
	if b.login == nil || r.Header.Get("Authorization") != "" { // the entry's own counts
		return b.base.RoundTrip(r)
	}
	refused := b.conn.login.set
	if r.Method != http.MethodPost && b.entry.Type != entry.SSE {
		refused = func(error) {} // nothing is asked by it
	}
	token, err := b.login.Token(r.Context())
	if err != nil {
		err = fmt.Errorf("it was not asked, for its login could not be renewed: %w", err)
		refused(err)
		return nil, err
	}
	out, err := b.base.RoundTrip(authorized(r, token))
	if err == nil && out.StatusCode == http.StatusUnauthorized && token != "" {
		out, err = b.again(r, out, token)
	}
	var why error
	switch {
	case err != nil:
	case out.StatusCode == http.StatusUnauthorized:
		why = &LoginError{Server: b.entry.Name}
	case out.StatusCode == http.StatusForbidden:
		if scope, more := wanted(out.Header); more {
			why = &LoginError{Server: b.entry.Name, More: true, Scope: scope}
		}
	}
	refused(why)
	return out, err
}

// again sends a request with another token, if there is one. Else the refusal stands.
func (b bounded) again(r *http.Request, refused *http.Response, token string) (*http.Response, error) {
	other, err := b.login.Renew(r.Context(), token)
	if err != nil || other == "" || other == token || r.Body != nil && r.GetBody == nil {
		return refused, nil //nolint:nilerr // the server's refusal says more
	}
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return refused, nil //nolint:nilerr // the same
		}
	}
	_ = refused.Body.Close() // nothing in it is wanted
	return b.base.RoundTrip(authorized(again, other))
}

func authorized(r *http.Request, token string) *http.Request {
	if token == "" {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// wanted reports whether a refusal asks for more rights, and which if they may be shown: a person may paste them into
// a shell.
func wanted(h http.Header) (scope string, more bool) {
	challenges, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return "", false
	}
	for _, c := range challenges {
		if strings.EqualFold(c.Scheme, "bearer") && c.Params["error"] == "insufficient_scope" {
			if s := c.Params["scope"]; len(s) < 300 && regexp.MustCompile(`^[A-Za-z0-9_.:/ -]+$`).MatchString(s) {
				scope = s
			}
			return scope, true
		}
	}
	return "", false
}
