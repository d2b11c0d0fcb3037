package web

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// What one page may take.
const (
	fetchTime    = 30 * time.Second // from the first name looked up to the last byte read
	headerTime   = 20 * time.Second
	maxHeader    = 64 << 10
	maxWire      = 5 << 20 // bytes of body read from the connection
	maxBody      = 5 << 20 // bytes of it after unpacking
	maxRedirects = 5
)

// getter reads pages. It is safe for concurrent use.
type getter struct {
	transport *http.Transport
	local     localHosts
	agent     string
}

func newGetter(dial func(ctx context.Context, network, address string) (net.Conn, error), local localHosts,
	agent string) *getter {
	return &getter{agent: agent, local: local, transport: &http.Transport{
		Proxy:                  nil, // a proxy would dial addresses that nobody judged
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTime,
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true, // each request is judged anew, and nothing stays open
		DisableCompression:     true, // unpacked here, where it is counted
	}}
}

// reply is what a server answered at the end of all redirects that were followed.
type reply struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte
	cut    bool // there was more than may be read
	// moved is where the server sends whoever asks, if it was not followed; why says why.
	moved string
	why   string
}

// get reads what is at u. The error is worded by explain.
func (g *getter) get(ctx context.Context, u *url.URL) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	for range maxRedirects + 1 {
		resp, err := g.ask(ctx, u)
		if err != nil {
			return nil, err
		}
		location := resp.Header.Get("Location")
		if !isRedirect(resp.StatusCode) || location == "" {
			return read(resp, u)
		}
		resp.Body.Close() //nolint:errcheck,gosec // nothing in it is wanted
		next, moved, why := g.follow(u, location)
		if why != "" {
			return &reply{url: u, status: resp.StatusCode, header: resp.Header, moved: moved, why: why}, nil
		}
		u = next
	}
	return nil, errRedirects
}

var (
	errRedirects = errors.New("it redirects more than 5 times")
	errTime      = fmt.Errorf("it did not answer in full within %s", fetchTime)
)

func (g *getter) ask(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", g.agent)
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.8, */*;q=0.5")
	req.Header.Set("Accept-Encoding", "gzip")
	return g.transport.RoundTrip(req)
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// follow decides about one redirect. It is followed within a host; if it is not, why says so.
func (g *getter) follow(from *url.URL, location string) (next *url.URL, moved, why string) {
	shown, _ := cutRunes(oneLine(location), 300)
	ref, err := url.Parse(location)
	if err != nil {
		return nil, shown, "that is not a valid URL"
	}
	target := from.ResolveReference(ref)
	next, err = readAddress(target.String(), g.local)
	switch {
	case err != nil:
		return nil, shown, "that " + err.Error()
	case next.Host != from.Host:
		return next, next.String(), "that is another host"
	case from.Scheme == "https" && next.Scheme != "https":
		return nil, next.String(), "that is not encrypted"
	case next.String() == from.String():
		return nil, next.String(), "that is where it was asked already"
	default:
		return next, "", ""
	}
}

// read takes the body, within the caps, and closes it.
func read(resp *http.Response, u *url.URL) (*reply, error) {
	defer resp.Body.Close() //nolint:errcheck // only read from
	r := &reply{url: u, status: resp.StatusCode, header: resp.Header}
	if !readable(resp.Header.Get("Content-Type")) {
		return r, nil // told with its type and size
	}
	wire := &capped{r: resp.Body, left: maxWire}
	body := io.Reader(wire)
	switch encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(wire)
		if err != nil {
			return nil, brokenBody(err)
		}
		body = z
	default:
		encoding, _ = cutRunes(oneLine(encoding), 40)
		return nil, fmt.Errorf("it is packed as %q, which was not asked for", encoding)
	}
	b, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil && !wire.full {
		return nil, brokenBody(err)
	}
	if r.body = b; len(b) > maxBody {
		r.body = b[:maxBody]
	}
	r.cut = wire.full || len(b) > maxBody
	return r, nil
}

func brokenBody(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("its content breaks off or cannot be unpacked: %w", err)
}

// capped ends a reader after so many bytes, and remembers that it did.
type capped struct {
	r    io.Reader
	left int
	full bool
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left == 0 {
		// One byte more tells an end from a cap.
		var one [1]byte
		n, err := c.r.Read(one[:])
		if n > 0 {
			c.full = true
			return 0, io.EOF
		}
		return 0, err
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// explain words what went wrong for the model: what happened and what to do.
func explain(u *url.URL, err error) string {
	const elsewhere = "Check the address, or look for the same content elsewhere."
	var refused *refusedError
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("%s was not fetched: %s; %s.", u, refused.Error(), nearby)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("%s: there is no host %s. %s", u, u.Hostname(), elsewhere)
	case errors.As(err, &dns):
		return fmt.Sprintf("%s: the address of %s could not be looked up. Try again, or work without the network.", u,
			u.Hostname())
	case errors.As(err, &cert):
		return fmt.Sprintf("%s: the server cannot show that it is %s (%s). %s", u, u.Hostname(),
			oneLine(cert.Err.Error()), elsewhere)
	case errors.As(err, &record):
		return fmt.Sprintf("%s: the server does not speak https there, and pages are read over https only. %s", u,
			elsewhere)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("%s: %v. Try again later, or %s", u, errTime, "look for the same content elsewhere.")
	default:
		text, _ := cutRunes(oneLine(err.Error()), 300)
		return fmt.Sprintf("%s could not be read: %s. %s", u, text, elsewhere)
	}
}
