package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// proxyError is a proxy that does not connect us.
type proxyError struct {
	proxy  string // host and port
	status string // its answer: "407 Proxy Authentication Required"
	code   int
}

func (e *proxyError) Error() string {
	if e.code == http.StatusProxyAuthRequired {
		return fmt.Sprintf("the proxy %s wants a login (%s); put user and password into HTTPS_PROXY, as in "+
			"http://user:password@%s", e.proxy, e.status, e.proxy)
	}
	return fmt.Sprintf("the proxy %s answered %s", e.proxy, e.status)
}

// connected looks at a proxy's answer to CONNECT.
func connected(_ context.Context, proxy *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{proxy: proxy.Host, status: res.Status, code: res.StatusCode}
}

// unreached says why there was no answer from a host, in words for people, and whether another attempt may
// help: what only a change of settings mends is not tried again.
func (c *Client) unreached(host string, err error) *model.Error {
	var proxy *proxyError
	var dns *net.DNSError
	var op *net.OpError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	out := &model.Error{Fault: troupe.FaultRetry}
	to := host
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		to = "the proxy for " + host
	}
	switch {
	case errors.Is(err, errElsewhere):
		out.Fault, out.Message = troupe.FaultBad, err.Error()
	case errors.As(err, &cert):
		out.Fault = troupe.FaultBad
		out.Message = fmt.Sprintf("%s cannot be trusted: %v; if your network inspects TLS, name its certificate in "+
			"SSL_CERT_FILE or TROUPE_CA_FILE", host, err)
	case errors.As(err, &proxy):
		if proxy.code < 500 && proxy.code != http.StatusTooManyRequests {
			out.Fault = troupe.FaultBad
		}
		out.Message = fmt.Sprintf("cannot reach %s: %v", host, err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		out.Fault = troupe.FaultBad
		out.Message = fmt.Sprintf("%s does not speak TLS; if it is the right address, write http:// in %s", host,
			c.o.Address)
	case errors.Is(err, syscall.ECONNREFUSED):
		out.Message = fmt.Sprintf("cannot reach %s (connection refused)", to)
	case errors.As(err, &dns) && dns.IsNotFound:
		out.Message = fmt.Sprintf("cannot reach %s (there is no host of this name)", to)
	case errors.As(err, &op) && op.Timeout():
		out.Message = fmt.Sprintf("cannot reach %s (no connection in time)", to)
	case errors.As(err, &op) && op.Op != "read" && op.Op != "write":
		out.Message = fmt.Sprintf("cannot reach %s (%s)", to, op.Err)
	default:
		out.Message = fmt.Sprintf("%s gave no answer (%s)", host, strings.TrimPrefix(err.Error(), "net/http: "))
	}
	out.Message = c.Clean(out.Message)
	return out
}
