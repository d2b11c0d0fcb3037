package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"code.dny.dev/ssrf"
)

// dialer reaches the hosts that a list allows.
type dialer struct {
	public   *ssrf.Guardian
	resolver *net.Resolver
}

// dial connects to a host that e allows. The address is judged where it is dialled, so that a
// name cannot lead somewhere else than it did when it was looked at.
func (d *dialer) dial(ctx context.Context, host string, port int, e entry) (net.Conn, error) {
	nd := net.Dialer{Timeout: connectTime, Resolver: d.resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			return d.judge(network, address, e)
		}}
	return nd.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// metered has all connections together bring so many bytes and no more.
func metered(dial func(context.Context, string, int, entry) (net.Conn, error), most int64) func(context.Context, string,
	int, entry) (net.Conn, error) {
	left := &atomic.Int64{}
	left.Store(most)
	return func(ctx context.Context, host string, port int, e entry) (net.Conn, error) {
		c, err := dial(ctx, host, port, e)
		if tcp, ok := c.(*net.TCPConn); ok && err == nil {
			c = &meteredConn{tcp, left}
		}
		return c, err
	}
}

type meteredConn struct {
	*net.TCPConn
	left *atomic.Int64
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if c.left.Add(-int64(n)) < 0 {
		return 0, errMuch
	}
	return n, err
}

func (d *dialer) judge(network, address string, e entry) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%s %s: %w", network, address, errRefused)
	}
	addr := ap.Addr().Unmap()
	switch {
	case e.addr.IsValid():
		if addr == e.addr {
			return nil
		}
	case e.host == localhost:
		if addr.IsLoopback() {
			return nil
		}
	case d.public.SafeAddr(addr) == nil && addr.Zone() == "":
		return nil
	}
	return fmt.Errorf("%s: %w", addr, errRefused)
}

// limited lets no more than so many connections be open at once.
type limited struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func newLimited(l net.Listener, n int) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, n), done: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotConn{Conn: c, release: func() { <-l.slots }}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// slotConn gives its slot back when it is closed.
type slotConn struct {
	net.Conn
	once    sync.Once
	release func()
}

func (c *slotConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}

// CloseWrite passes on that nothing more comes, and leaves the other way open.
func (c *slotConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
