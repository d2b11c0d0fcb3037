package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// newTransport is tuned for many slow streams to one host: idle connections are kept for
// the next turn of a thousand agents, and each costs two small buffers. There is no limit
// on connections; how many calls may run at once is not decided here. Compression is off
// because it would hold events back.
func newTransport(roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           2048,
		MaxIdleConnsPerHost:    2048,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		ExpectContinueTimeout:  time.Second,
		DisableCompression:     true,
		OnProxyConnectResponse: connected,
		ReadBufferSize:         4 << 10,
		WriteBufferSize:        4 << 10,
	}
}

var errElsewhere = errors.New("the service redirects to another address")

// stayHome follows a redirect only where the key has already been sent: net/http knows
// only some of the headers that hold one, and lets even these go to subdomains.
func (c *Client) stayHome(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return fmt.Errorf("%w (%s); the key was not sent there: if that is right, set %s to it", errElsewhere,
			req.URL.Host, c.o.Address)
	}
	if len(via) > 3 {
		return fmt.Errorf("%w again and again", errElsewhere)
	}
	return nil
}
