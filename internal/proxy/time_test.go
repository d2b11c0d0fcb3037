package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener in memory, for tests in which no time passes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dialed is a client's end and a host's end of a proxy in memory.
func dialed(t *testing.T) (client net.Conn, host net.Conn, p *Proxy) {
	t.Helper()
	list, err := parseList([]string{"example.com"})
	if err != nil {
		t.Fatal(err)
	}
	p = newProxy(Options{}, list)
	near, far := net.Pipe()
	p.dial = func(context.Context, string, int, entry) (net.Conn, error) { return near, nil }
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	p.serve(t.Context(), l)
	mine, theirs := net.Pipe()
	l.conns <- theirs
	return mine, far, p
}

func say(t *testing.T, c net.Conn, p *Proxy, head string) {
	t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte("x:" + p.token))
	if _, err := fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: example.com\r\nProxy-Authorization: Basic %s\r\n\r\n", head,
		auth); err != nil {
		t.Fatal(err)
	}
}

// ends waits until the other side closes c, and says how long that took.
func ends(c net.Conn) time.Duration {
	begin := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(begin)
}

func TestSilenceEnds(t *testing.T) {
	t.Parallel()
	t.Run("nothing asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _, p := dialed(t)
			if took := ends(c); took != helloTime {
				t.Errorf("after %s, want %s", took, helloTime)
			}
			_ = p.Close()
		})
	})
	t.Run("a header byte by byte", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _, p := dialed(t)
			begin := time.Now()
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				_, _ = io.Copy(io.Discard, c)
			}()
			for {
				if _, err := io.WriteString(c, "G"); err != nil {
					break
				}
				<-time.After(time.Second)
			}
			<-answered
			if took := time.Since(begin); took > helloTime+time.Second {
				t.Errorf("after %s", took)
			}
			_ = p.Close()
		})
	})
	t.Run("a tunnel without a word", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, host, p := dialed(t)
			say(t, c, p, "CONNECT example.com:443")
			if took := ends(c); took != helloTime {
				t.Errorf("after %s, want %s", took, helloTime)
			}
			if n, err := host.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("the host was sent something: %v", err)
			}
			_ = p.Close()
		})
	})
	t.Run("a tunnel that falls silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, host, p := dialed(t)
			say(t, c, p, "CONNECT example.com:443")
			r := bufio.NewReader(c)
			for range 2 {
				if _, err := r.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			handshake := make(chan error, 1)
			go func() {
				handshake <- tls.Client(&readerConn{c, r}, &tls.Config{ServerName: "example.com",
					MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
			}()
			head := make([]byte, 5)
			if _, err := io.ReadFull(host, head); err != nil || head[0] != 22 {
				t.Fatalf("%x %v", head, err)
			}
			if took := ends(host); took != idleTime {
				t.Errorf("after %s, want %s", took, idleTime)
			}
			if err := <-handshake; err == nil {
				t.Error("nobody answered the client, and it is content")
			}
			_ = p.Close()
		})
	})
	t.Run("a host that does not answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, host, p := dialed(t)
			go func() { _, _ = io.Copy(io.Discard, host) }()
			say(t, c, p, "GET http://example.com/")
			line, err := bufio.NewReader(c).ReadString('\n')
			if err != nil || !strings.Contains(line, " 504 ") {
				t.Errorf("%q %v", line, err)
			}
			_ = p.Close()
		})
	})
}

// TestCloseWaits: when the proxy has ended, so has all that it did.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, p := dialed(t)
		ended := false
		p.dial = func(ctx context.Context, _ string, _ int, _ entry) (net.Conn, error) {
			<-ctx.Done()
			<-time.After(time.Second)
			ended = true
			return nil, ctx.Err()
		}
		say(t, c, p, "CONNECT example.com:443")
		synctest.Wait()
		if err := p.Close(); err != nil || !ended {
			t.Errorf("it was at work when Close returned: %v", err)
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"example.com:443", "[::1]:80", "127.0.0.1:80", "[::ffff:7f00:1]:443", "0x7f.1:80",
		"a_b.c.:1", "x:00", "[fe80::1%25x]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		to, ok := parseTarget(s, 80)
		if !ok {
			return
		}
		again, ok := parseTarget(to.String(), 0)
		if !ok || again != to {
			t.Fatalf("%q is %+v, and %q is %+v", s, to, to, again)
		}
		if to.port < 1 || to.port > 65535 || to.addr.IsValid() == (to.name != "") || to.addr.Zone() != "" ||
			to.addr.Is4In6() {
			t.Fatalf("%q is %+v", s, to)
		}
		if strings.ContainsAny(to.name, "/\\@:%[] \t\r\n") || strings.ToLower(to.name) != to.name ||
			strings.HasSuffix(to.name, ".") {
			t.Fatalf("%q has the name %q", s, to.name)
		}
	})
}

func FuzzPeek(f *testing.F) {
	f.Add([]byte("\x16\x03\x01\x00\x05hello"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(hello(f, "example.com"))
	f.Add(hello(f, "10.0.0.1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := strings.NewReader(string(b))
		taken, name, err := peek(t.Context(), r)
		rest, rerr := io.ReadAll(r)
		if rerr != nil || string(taken)+string(rest) != string(b) {
			t.Fatalf("bytes were lost: %d and %d of %d", len(taken), len(rest), len(b))
		}
		if err != nil && name != "" {
			t.Fatalf("an error and the name %q", name)
		}
		if err == nil && name != "" && !strings.Contains(string(b), name) {
			t.Fatalf("%q does not stand there", name)
		}
	})
}

// hello is a client's first message.
func hello(tb testing.TB, name string) []byte {
	tb.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		//nolint:gosec // a test's
		_ = tls.Client(far, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(near, head); err != nil {
		tb.Fatal(err)
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	if _, err := io.ReadFull(near, body); err != nil {
		tb.Fatal(err)
	}
	_ = near.Close()
	<-done
	return append(head, body...)
}

func TestPeek(t *testing.T) {
	t.Parallel()
	b := hello(t, "example.com")
	// In as many frames of TLS as it has bytes.
	var split []byte
	for _, c := range b[5:] {
		split = append(split, 22, 3, 1, 0, 1, c)
	}
	for _, in := range [][]byte{b, append(b, "more"...), split} {
		if taken, name, err := peek(t.Context(), strings.NewReader(string(in))); name != "example.com" || err != nil ||
			len(taken) < len(b) {
			t.Errorf("%d bytes: %d taken, %q %v", len(in), len(taken), name, err)
		}
	}
}
