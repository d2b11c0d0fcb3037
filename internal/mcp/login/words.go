package login

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// ours is an error in words for people. The SDK wraps it in words of its own, which are left out again.
type ours string

// Error implements error.
func (e ours) Error() string { return string(e) }

const errKind = ours("the authorization server gives tokens of a kind that cannot be used")

// plain is an error in words for people, without what it may hold of codes and tokens: servers repeat in their answers
// what they were sent.
func plain(err error) error {
	var said *oauth2.RetrieveError
	var registering *oauthex.ClientRegistrationError
	var lost *url.Error
	var own ours
	switch {
	case errors.As(err, &said):
		return fmt.Errorf("the authorization server gave no token (%s)",
			strings.TrimSpace(status(said.Response)+" "+code(said.ErrorCode)))
	case errors.As(err, &registering):
		return fmt.Errorf("the authorization server did not register this program (%s); if it has given you a "+
			"client id, write that into the entry: \"oauth\": {\"clientId\": \"…\"}", code(registering.ErrorCode))
	case errors.As(err, &lost):
		where := lost.URL
		if u, perr := url.Parse(lost.URL); perr == nil {
			where = u.Scheme + "://" + u.Host
		}
		return fmt.Errorf("%s could not be asked: %s", shown(where), unreached(lost.Err))
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("there was no answer in time")
	default:
		return errors.New(meant(shown(err.Error())))
	}
}

// unreached says why there was no answer.
func unreached(err error) string {
	var own ours
	var name *net.DNSError
	var stranger x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	var clear tls.RecordHeaderError
	var timed net.Error
	switch {
	case errors.As(err, &own):
		return string(own)
	case errors.As(err, &name):
		return "its name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing answers there"
	case errors.As(err, &stranger), errors.As(err, &other), errors.As(err, &invalid):
		return "its certificate is not to be trusted"
	case errors.As(err, &clear):
		return "it does not speak TLS"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "it ended the connection without an answer"
	case errors.As(err, &timed) && timed.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "there was no answer in time"
	}
	return shown(err.Error())
}

// meant is what an error of the SDK says, which has no types to tell them apart by. One that is not known is told as
// it is, behind whose words these are.
func meant(said string) string {
	for _, w := range []struct{ has, means string }{
		{"no configured client registration", "the authorization server registers no program by itself; if it has " +
			"given you a client id, write that into the entry: \"oauth\": {\"clientId\": \"…\"}"},
		{"does not match pre-registered credentials", "the server has users log in somewhere else than the " +
			"\"issuer\" of its entry says, so the client id is not sent there"},
		{"does not implement PKCE", "the authorization server does not keep a login from others who listen (PKCE), " +
			"so you are not sent there"},
		{"got metadata resource", "what the server says of where to log in is about another address, so it is not " +
			"followed"},
		{"issuer", "the authorization server says that it is another one than the server named, so it is not trusted"},
		{"iss parameter", "the authorization server does not say who it is, though it promised to, so it is not " +
			"trusted"},
		{"state mismatch", "what the browser brought back belongs to another login"},
		{"non-public", "the server names an address to log in at that is not public, so nothing is sent there"},
		{"does not use HTTPS", "the server names an address to log in at that is not encrypted, so nothing is sent " +
			"there"},
		{"disallowed scheme", "the server names an address to log in at that is no address of the web"},
		{"redirect", "the server redirects the question where to log in, which is not followed"},
		{"cannot parse", "what the authorization server gave is no token that can be read"},
		{"missing access_token", "what the authorization server gave is no token that can be read"},
		{"registration", "the authorization server answered the wish to be registered with what cannot be read"},
		{"challenge", "the server does not say in a way that can be read where to log in"},
		{"WWW-Authenticate", "the server does not say in a way that can be read where to log in"},
		{"metadata", "the server does not say where to log in, or not in a way that can be read"},
	} {
		if strings.Contains(said, w.has) {
			return w.means
		}
	}
	return "what the servers say leads to no login; in the words of the library: " + said
}
