package login

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// home is where the server answers.
func (l *Login) home() (*url.URL, error) {
	u, err := url.Parse(l.entry.URL)
	if err != nil {
		return nil, fmt.Errorf("read its url: %w", err)
	}
	return u, nil
}

// possible says why nobody can log in to the server; nil if that is not known.
func (l *Login) possible() error {
	if l.entry.Type == entry.Stdio {
		return errors.New("it is a program on this machine, which has no login; its entry may give it a key in " +
			"env")
	}
	for name := range l.entry.Headers {
		if strings.EqualFold(name, "Authorization") {
			return errors.New("its entry says what is sent for Authorization, and that counts; take that header out " +
				"to " +
				"log in")
		}
	}
	u, err := l.home()
	if err != nil {
		return err
	}
	return secure(u, entry.Loopback(u.Hostname()))
}

// secure says why no secret is sent to an address.
func secure(u *url.URL, loopback bool) error {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case u.User != nil || strings.ContainsFunc(u.Host, strange):
	case u.Scheme == "https" && u.Host != "":
		return nil
	case u.Scheme == "http" && loopback && entry.Loopback(u.Hostname()):
		return nil
	}
	return ours(shown(u.String()) + " is not encrypted, or no address to log in with, so nothing is sent there")
}

// client reaches what the server names.
func (l *Login) client() (*http.Client, error) {
	u, err := l.home()
	if err != nil {
		return nil, err
	}
	loopback := entry.Loopback(u.Hostname())
	near := []string{u.Host} // whoever wrote the entry chose it, wherever it is
	if loopback {
		near = nil
	}
	c, err := l.store.o.Client(near, loopback)
	if err != nil {
		return nil, err
	}
	out := *c
	out.Transport, out.Timeout = outbound{c.Transport, loopback}, renewTime
	out.CheckRedirect = sameHost
	return &out, nil
}

// outbound sends requests encrypted, or not at all.
type outbound struct {
	base     http.RoundTripper
	loopback bool
}

// RoundTrip implements http.RoundTripper.
func (o outbound) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := secure(r.URL, o.loopback); err != nil {
		return nil, err
	}
	return o.base.RoundTrip(r)
}

// sameHost follows redirects of questions within a host. What is sent elsewhere would be a code or a token.
func sameHost(r *http.Request, via []*http.Request) error {
	const most = 3
	if first := via[0]; len(via) > most || first.Method != http.MethodGet || r.URL.Host != first.URL.Host ||
		r.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// code is what a server names an error by, one of those that are registered for OAuth. Another may be anything that it
// was sent.
func code(said string) string {
	if said == "" || slices.Contains(strings.Fields("access_denied invalid_client invalid_client_metadata "+
		"invalid_dpop_proof "+
		"invalid_grant invalid_redirect_uri invalid_request invalid_scope invalid_software_statement invalid_target "+
		"invalid_token insufficient_scope interaction_required login_required consent_required "+
		"account_selection_required server_error slow_down temporarily_unavailable unapproved_software_statement "+
		"unauthorized_client unsupported_grant_type unsupported_response_type unsupported_token_type "+
		"use_dpop_nonce"), said) {
		return said
	}
	return "an error that is not told, for it is none of those of OAuth"
}

// status is that of an answer, in our words.
func status(r *http.Response) string {
	if r == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(r.StatusCode, " ", http.StatusText(r.StatusCode)))
}

// shown is text of strangers on one line, for a person.
func shown(s string) string {
	const most = 300
	out := []rune(strings.Map(func(r rune) rune {
		if troupe.Unseen(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�")))
	if len(out) > most {
		return string(out[:most]) + "…"
	}
	return string(out)
}
