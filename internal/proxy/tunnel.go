package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// tunnel answers CONNECT: it connects the client with its host, and lets bytes through once
// the client's first message names the same host.
func (p *Proxy) tunnel(ctx context.Context, w http.ResponseWriter, t target, e entry) {
	up, err := p.dial(ctx, t.host(), t.port, e)
	if err != nil {
		unreachable(w, t, err)
		return
	}
	defer up.Close() //nolint:errcheck // nothing can be done about it
	down, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The tunnel could not be opened.")
		return
	}
	defer down.Close() //nolint:errcheck // nothing can be done about it
	end := func() { _ = down.Close(); _ = up.Close() }
	defer context.AfterFunc(ctx, end)()
	if err := down.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return
	}
	if _, err := io.WriteString(down, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	hello, name, err := peek(ctx, buffered.Reader)
	if err != nil || !names(name, t) {
		p.log(sniOf(name, err)+" inside a tunnel to "+t.String(), false)
		_, _ = down.Write(unrecognizedName())
		return
	}
	if err := down.SetDeadline(time.Time{}); err != nil {
		return
	}
	if _, err := up.Write(hello); err != nil {
		return
	}
	splice(down, buffered.Reader, up, end)
}

func sniOf(name string, err error) string {
	switch {
	case err != nil:
		return "what is not TLS"
	case name == "":
		return "no name"
	}
	if shown, addr, ok := parseHost(name); ok && !addr.IsValid() {
		return shown
	}
	return "an odd name"
}

// unrecognizedName is the alert by which TLS itself refuses a name (RFC 8446, 6).
func unrecognizedName() []byte { return []byte{21, 3, 3, 0, 2, 2, 112} }

// splice copies both ways until both have ended, or neither said anything for idleTime. The
// end of one way is passed on, and leaves the other open.
func splice(down net.Conn, fromDown io.Reader, up net.Conn, end func()) {
	idle := time.AfterFunc(idleTime, end)
	defer idle.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		move(up, fromDown, idle)
	}()
	move(down, up, idle)
	<-done
}

// move copies one way. An error ends both, for half of a conversation is none.
func move(to net.Conn, from io.Reader, idle *time.Timer) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			idle.Reset(idleTime)
			if _, werr := to.Write(buf[:n]); werr != nil {
				idle.Reset(0)
				return
			}
		}
		if err == nil {
			continue
		}
		half, ok := to.(interface{ CloseWrite() error })
		if !errors.Is(err, io.EOF) || !ok || half.CloseWrite() != nil {
			idle.Reset(0)
		}
		return
	}
}

// names reports whether the name in a client's first message is the host it asked the proxy
// for. Towards an address there is none.
func names(sni string, t target) bool {
	if t.addr.IsValid() {
		return sni == ""
	}
	return strings.EqualFold(strings.TrimSuffix(sni, "."), t.name)
}

var (
	errPeeked = errors.New("the first message was read")
	errNoTLS  = errors.New("this is not the beginning of TLS")
)

// maxHello is the most that a client's first message may take, its frame included.
const maxHello = 64 << 10

// peek reads a client's first message of TLS and returns its bytes, all that were taken from
// r, and the name in it. Nothing is answered: whoever the bytes are passed on to does that.
func peek(ctx context.Context, r io.Reader) (taken []byte, name string, err error) {
	var seen bytes.Buffer
	var hello *tls.ClientHelloInfo
	conn := &deafConn{r: io.TeeReader(io.LimitReader(r, maxHello), &seen)}
	err = tls.Server(conn, &tls.Config{ //nolint:gosec // no connection comes of it
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = h
			return nil, errPeeked
		},
	}).HandshakeContext(ctx)
	if hello == nil {
		return seen.Bytes(), "", errors.Join(errNoTLS, err)
	}
	return seen.Bytes(), hello.ServerName, nil
}

// deafConn lets a TLS server read, and nobody hear what it says.
type deafConn struct{ r io.Reader }

func (c *deafConn) Read(b []byte) (int, error)       { return c.r.Read(b) }
func (c *deafConn) Write(b []byte) (int, error)      { return len(b), nil }
func (c *deafConn) Close() error                     { return nil }
func (c *deafConn) LocalAddr() net.Addr              { return nil }
func (c *deafConn) RemoteAddr() net.Addr             { return nil }
func (c *deafConn) SetDeadline(time.Time) error      { return nil }
func (c *deafConn) SetReadDeadline(time.Time) error  { return nil }
func (c *deafConn) SetWriteDeadline(time.Time) error { return nil }
