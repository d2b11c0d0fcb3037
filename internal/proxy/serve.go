package proxy

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// user is the name in the proxy's credentials; only the word after it counts.
const user = "troupe"

// ServeHTTP judges one request and carries it out.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		return
	}
	defer p.requests.Done()
	if !p.knows(r.Header.Get("Proxy-Authorization")) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="troupe"`)
		refuse(w, http.StatusProxyAuthRequired, "This proxy is for commands that carry its word in HTTP_PROXY.")
		return
	}
	tunnel := r.Method == http.MethodConnect
	port := 80
	switch {
	case tunnel:
		port = 0 // it has to be named
	case r.URL.Scheme != "http" || r.URL.Host == "":
		refuse(w, http.StatusBadRequest, "This is a proxy: ask it for http://host/path, or for a tunnel with CONNECT "+
			"host:port.")
		return
	}
	t, ok := parseTarget(r.URL.Host, port)
	if !ok || r.URL.User != nil || tunnel && r.URL.Path != "" {
		refuse(w, http.StatusBadRequest, "The host of this request cannot be read: write a plain name or address, "+
			"and for CONNECT a port.")
		return
	}
	e, allowed := p.list.find(t)
	allowed = allowed && !p.deny.denies(t)
	p.log(t.String(), allowed)
	if !allowed {
		refuse(w, http.StatusForbidden, fmt.Sprintf("%s may not be reached from here: no rule names it. Ask the user "+
			"to allow this host if it is needed.", t))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxLife)
	defer cancel()
	if tunnel {
		p.tunnel(ctx, w, t, e)
		return
	}
	p.pass(ctx, w, r, t, e)
}

// knows reports whether a request carries the proxy's word.
func (p *Proxy) knows(header string) bool {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return false
	}
	_, word, _ := strings.Cut(string(b), ":")
	return subtle.ConstantTimeCompare([]byte(word), []byte(p.token)) == 1
}

func refuse(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "troupe: "+sentence+"\n")
}

// unreachable answers for a host that is allowed and was not reached.
func unreachable(w http.ResponseWriter, t target, err error) {
	switch {
	case errors.Is(err, errRefused):
		refuse(w, http.StatusForbidden, fmt.Sprintf("%s may not be reached from here: %v. If that is wanted, the "+
			"rule has to name the address itself.", t, errRefused))
	case isTimeout(err):
		refuse(w, http.StatusGatewayTimeout, t.String()+" did not answer in time.")
	default:
		refuse(w, http.StatusBadGateway, t.String()+" cannot be reached.")
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// towards makes what carries out one plain request, on a connection of its own.
func (p *Proxy) towards(t target, e entry) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		ResponseHeaderTimeout:  idleTime,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := p.dial(ctx, t.host(), t.port, e)
			if err != nil {
				return nil, err
			}
			return &quietConn{Conn: c}, nil
		},
	}
}

// quietConn ends when nothing was read or written for a while.
type quietConn struct{ net.Conn }

func (c *quietConn) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idleTime)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *quietConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(idleTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// hopByHop are the headers that are between a client and its proxy only.
func hopByHop(h http.Header) []string {
	names := []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te",
		"Trailer", "Transfer-Encoding", "Upgrade"}
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

func strip(h http.Header) {
	for _, name := range hopByHop(h) {
		h.Del(name)
	}
}

// pass carries out a plain HTTP request.
func (p *Proxy) pass(ctx context.Context, w http.ResponseWriter, r *http.Request, t target, e entry) {
	out := r.Clone(ctx)
	out.RequestURI = ""
	out.URL.Host, out.Host = t.String(), r.URL.Host // the host that was judged, whatever the Host line said
	strip(out.Header)
	if _, given := r.Header["User-Agent"]; !given {
		out.Header["User-Agent"] = nil // else the library would add its own
	}
	out.Close = false
	rc := http.NewResponseController(w)
	if out.ContentLength == 0 {
		out.Body = http.NoBody
	} else {
		out.Body = &patientBody{ReadCloser: r.Body, rc: rc}
	}
	resp, err := p.towards(t, e).RoundTrip(out)
	if err != nil {
		unreachable(w, t, err)
		return
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	strip(resp.Header)
	h := w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	if _, given := h["Content-Type"]; !given {
		h["Content-Type"] = nil // else the server would guess one
	}
	w.WriteHeader(resp.StatusCode)
	defer rc.SetWriteDeadline(time.Time{}) //nolint:errcheck // the next request on this connection has its own
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			_ = rc.SetWriteDeadline(time.Now().Add(idleTime))
			if _, werr := w.Write(buf[:n]); werr != nil {
				return
			}
			_ = rc.Flush() // streams arrive as they are sent
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			panic(http.ErrAbortHandler) // the client must not take a part for the whole
		}
	}
}

// patientBody gives up on a client that stops in the middle of what it sends.
type patientBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *patientBody) Read(buf []byte) (int, error) {
	if err := b.rc.SetReadDeadline(time.Now().Add(idleTime)); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(buf)
}
