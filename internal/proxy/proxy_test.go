package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal collects what the proxy logs.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) log(host string, allowed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%s %v", host, allowed))
}

func (j *journal) has(line string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.lines, line)
}

// start runs a proxy that reaches every allowed name at a server on this machine.
func start(t *testing.T, names string, allow ...string) (*Proxy, *journal) {
	t.Helper()
	list, err := parseList(allow)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{}
	p := newProxy(Options{Log: j.log}, list)
	if names != "" {
		p.dial = func(ctx context.Context, _ string, _ int, _ entry) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", names)
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.serve(t.Context(), l)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, j
}

// client goes out as a command's program would, by the environment it is given.
func client(t *testing.T, p *Proxy, roots *x509.CertPool) *http.Client {
	t.Helper()
	through, ok := strings.CutPrefix(p.Environ()[0], "HTTP_PROXY=")
	if !ok {
		t.Fatal(p.Environ())
	}
	u, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // a test's
	tr := &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, address string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func address(s *httptest.Server) string { return s.Listener.Addr().String() }

func TestPlain(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %q %v", r.Method, r.Host, r.URL, b, r.Header["Proxy-Authorization"])
	}))
	defer s.Close()
	p, j := start(t, address(s), "example.com", "*.example.org:8080")
	c := client(t, p, nil)
	for _, tt := range []struct {
		url    string
		status int
		body   string
	}{
		{"http://example.com/a?b=c", 200, `GET example.com /a?b=c "" []`},
		{"http://EXAMPLE.com./", 200, "GET EXAMPLE.com. /"},
		{"http://example.com:443/", 200, "GET example.com:443 /"},
		{"http://a.example.org:8080/", 200, "GET a.example.org:8080 /"},
		{"http://example.com:81/", 403, "example.com:81 may not be reached from here: no rule names it"},
		{"http://a.example.org/", 403, "no rule"},
		{"http://example.org:8080/", 403, "no rule"},
		{"http://example.com.evil.com/", 403, "no rule"},
		{"http://evilexample.com/", 403, "no rule"},
		{"http://127.0.0.1/", 403, "no rule"},
		{"http://0x7f.1/", 400, "cannot be read"},
		{"http://2130706433/", 400, "cannot be read"},
	} {
		status, body, err := get(t, c, tt.url)
		if err != nil || status != tt.status || !strings.Contains(body, tt.body) {
			t.Errorf("%s: %d %q %v, want %d %q", tt.url, status, body, err, tt.status, tt.body)
		}
	}
	resp, err := c.Post("http://example.com/", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), `"hello"`) {
		t.Errorf("%s %v", b, err)
	}
	if !j.has("example.com:80 true") || !j.has("127.0.0.1:80 false") {
		t.Errorf("logged: %q", j.lines)
	}
}

func TestTunnel(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, "secret of ", r.Host)
	}))
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	p, j := start(t, address(s), "example.com", "other.org:8443")
	c := client(t, p, roots)
	if status, body, err := get(t, c, "https://example.com/"); err != nil || status != 200 ||
		body != "secret of example.com" {
		t.Errorf("%d %q %v", status, body, err)
	}
	for _, refused := range []string{"https://other.org/", "https://example.com:8443/", "https://sub.example.com/"} {
		if _, _, err := get(t, c, refused); err == nil || !strings.Contains(err.Error(), "Forbidden") {
			t.Errorf("%s: %v", refused, err)
		}
	}
	if !j.has("example.com:443 true") || !j.has("other.org:443 false") {
		t.Errorf("logged: %q", j.lines)
	}
}

// connect opens a tunnel by hand.
func connect(t *testing.T, p *Proxy, host, word string) (net.Conn, *bufio.Reader, string) {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", p.Port()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	auth := base64.StdEncoding.EncodeToString([]byte("x:" + word))
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: somewhere.else\r\nProxy-Authorization: Basic %s\r\n\r\n",
		host, auth); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return c, r, strings.TrimSpace(line)
}

// TestInsideTheTunnel: the name in the first message is the host that was asked for, or
// nothing reaches that host.
func TestInsideTheTunnel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, sni string
		raw       string
		allow     bool
	}{
		{name: "same", sni: "example.com", allow: true},
		{name: "case", sni: "EXAMPLE.com", allow: true},
		{name: "another", sni: "evil.com"},
		{name: "below", sni: "a.example.com"},
		{name: "no name", sni: "10.0.0.1"}, // the library sends none for an address
		{name: "no TLS", raw: "GET / HTTP/1.1\r\nHost: evil.com\r\n\r\n"},
		{name: "SSH", raw: "SSH-2.0-x\r\n"},
		{name: "broken", raw: "\x16\x03\x01\x00\x05hello"},
		{name: "endless", raw: "\x16\x03\x01\x3f\xff\x01\xff\xff\xff" + strings.Repeat("x", maxHello)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan []byte, 1)
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				defer close(reached)
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				b := make([]byte, 5)
				n, _ := io.ReadFull(c, b)
				reached <- b[:n]
			}()
			p, j := start(t, l.Addr().String(), "example.com")
			c, r, line := connect(t, p, "example.com:443", p.token)
			if line != "HTTP/1.1 200 Connection established" {
				t.Fatal(line)
			}
			if _, err := r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if tt.raw != "" {
				_, _ = io.WriteString(c, tt.raw)
				if half, ok := c.(*net.TCPConn); ok && tt.name != "endless" {
					_ = half.CloseWrite()
				}
			} else {
				//nolint:gosec // a test's
				conn := tls.Client(&readerConn{c, r}, &tls.Config{ServerName: tt.sni, InsecureSkipVerify: true})
				err = conn.HandshakeContext(t.Context())
				if err == nil {
					t.Error("there is no server, and a handshake")
				}
			}
			_ = c.Close()
			got := <-reached
			_ = l.Close()
			if (len(got) > 0) != tt.allow {
				t.Errorf("%q reached the host", got)
			}
			if refused := err != nil && strings.Contains(err.Error(), "unrecognized name"); tt.raw == "" &&
				refused == tt.allow {
				t.Errorf("the client was told %v", err)
			}
			if tt.name == "another" && !j.has("evil.com inside a tunnel to example.com:443 false") {
				t.Errorf("logged: %q", j.lines)
			}
		})
	}
}

type readerConn struct {
	net.Conn
	r io.Reader
}

func (c *readerConn) Read(b []byte) (int, error) { return c.r.Read(b) }

func TestWord(t *testing.T) {
	t.Parallel()
	p, j := start(t, "127.0.0.1:1", "example.com")
	for _, word := range []string{"", "wrong", p.token + "x", p.token[:5]} {
		if _, _, line := connect(t, p, "example.com:443", word); !strings.Contains(line, " 407 ") {
			t.Errorf("%q: %s", word, line)
		}
	}
	for _, header := range []string{"", "Basic", "Basic !", "Bearer " + p.token, "Basic " + p.token} {
		if p.knows(header) {
			t.Errorf("%q is known", header)
		}
	}
	if len(j.lines) > 0 {
		t.Errorf("strangers are logged: %q", j.lines)
	}
}

// TestOddRequests: what is compared is what is dialled, whatever the request looks like.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "127.0.0.1:1", "example.com")
	for host, want := range map[string]string{
		"example.com":              "400",
		"example.com:":             "400",
		"example.com:0443":         "400",
		"example.com:+443":         "400",
		"example.com:70000":        "400",
		"user@example.com:443":     "400",
		"example.com@evil.com:443": "400",
		"example.com:443/x":        "400",
		"example.com%2eevil:443":   "400",
		"example.com\\.evil:443":   "400",
		"/x":                       "400",
		"evil.com:443":             "403",
		"[::1]:443":                "403",
		"[::ffff:127.0.0.1]:443":   "403",
		"[fe80::1%25eth0]:443":     "400",
		"::1:443":                  "400",
		"example.com:443":          "502",
	} {
		if _, _, line := connect(t, p, host, p.token); !strings.Contains(line, " "+want+" ") {
			t.Errorf("%s: %s, want %s", host, line, want)
		}
	}
}

// TestAddresses: a name leads to public addresses only; an address that is listed is meant.
func TestAddresses(t *testing.T) {
	t.Parallel()
	d := &dialer{public: newProxy(Options{}, nil).public}
	listed := entry{addr: netip.MustParseAddr("10.1.2.3")}
	for _, tt := range []struct {
		address string
		e       entry
		allow   bool
	}{
		{"93.184.216.34:443", entry{host: "example.com"}, true},
		{"[2606:4700::1111]:443", entry{host: "example.com"}, true},
		{"127.0.0.1:443", entry{host: "example.com"}, false},
		{"[::ffff:127.0.0.1]:443", entry{host: "example.com"}, false},
		{"[64:ff9b::7f00:1]:443", entry{host: "example.com"}, false},
		{"[2002:7f00:1::]:443", entry{host: "example.com"}, false},
		{"[fe80::1%lo]:443", entry{host: "example.com"}, false},
		{"10.1.2.3:443", entry{host: "example.com"}, false},
		{"100.64.0.1:443", entry{}, false},
		{"169.254.169.254:80", entry{}, false},
		{"168.63.129.16:80", entry{}, false},
		{"198.18.0.1:80", entry{}, false},
		{"0.0.0.0:80", entry{}, false},
		{"[::]:80", entry{}, false},
		{"10.1.2.3:443", listed, true},
		{"[::ffff:10.1.2.3]:443", listed, true},
		{"10.1.2.4:443", listed, false},
		{"127.0.0.1:80", entry{host: localhost}, true},
		{"[::1]:80", entry{host: localhost}, true},
		{"10.1.2.3:80", entry{host: localhost}, false},
	} {
		network := "tcp4"
		if strings.HasPrefix(tt.address, "[") {
			network = "tcp6"
		}
		if err := d.judge(network, tt.address, tt.e); (err == nil) != tt.allow {
			t.Errorf("%s for %+v: %v", tt.address, tt.e, err)
		}
	}
	if d.judge("udp4", "93.184.216.34:443", entry{}) == nil || d.judge("tcp4", "example.com:443", entry{}) == nil {
		t.Error("what is no address to connect to was allowed")
	}
}

// TestRealDialer: the same with real sockets, through Start.
func TestRealDialer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(address(s))
	p, err := Start(t.Context(), Options{Allow: []string{"127.0.0.1:" + port, "localhost:" + port, "*:" + port}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := client(t, p, nil)
	if status, body, err := get(t, c, s.URL); err != nil || status != 200 || body != "inside" {
		t.Errorf("listed address: %d %q %v", status, body, err)
	}
	if status, body, err := get(t, c, "http://localhost:"+port); err != nil || status != 200 || body != "inside" {
		t.Errorf("listed localhost: %d %q %v", status, body, err)
	}
	if status, body, err := get(t, c, "http://127.0.0.2:"+port); err != nil || status != 403 ||
		!strings.Contains(body, "rule has to name the address") {
		t.Errorf("any host: %d %q %v", status, body, err)
	}
}

func TestAllowlist(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", " ", "https://example.com", "example.com/x", "*.*.com", "*example.com", "ex*mple.com", "example..com",
		".example.com", "example.com:x",
		"example.com:0", "user@example.com", "0x7f.1", "127.1", "10.0.0.0/8", "*.127.0.0.1", "*.localhost", "[::1",
		"::1]", "fe80::1%eth0", "a b",
	} {
		_, err := parseList([]string{"example.com", bad})
		var ue *troupe.UserError
		if !errors.As(err, &ue) || ue.Hint == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, tt := range []struct {
		entry, target string
		want          bool
	}{
		{"bücher.example", "xn--bcher-kva.example:443", true},
		{"EXAMPLE.com.", "example.com:80", true},
		{"*.example.com", "a.b.example.com:443", true},
		{"*.example.com", "example.com:443", false},
		{"example.com:22", "example.com:22", true},
		{"example.com:22", "example.com:443", false},
		{"[::1]:8080", "[0:0::1]:8080", true},
		{"::1", "[::1]:80", true},
		{"10.0.0.1", "10.0.0.1:443", true},
		{"10.0.0.1", "[::ffff:10.0.0.1]:443", true},
		{"*", "anything.org:443", true},
		{"*", "anything.org:22", false},
		{"*:22", "anything.org:22", true},
	} {
		list, err := parseList([]string{tt.entry})
		if err != nil {
			t.Fatal(err)
		}
		to, ok := parseTarget(tt.target, 0)
		if !ok {
			t.Fatalf("%s cannot be read", tt.target)
		}
		if _, got := list.find(to); got != tt.want {
			t.Errorf("%s allows %s: %v", tt.entry, tt.target, got)
		}
	}
}

// TestCloseEndsTunnels: nobody is left talking through a proxy that was closed.
func TestCloseEndsTunnels(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	p, _ := start(t, address(s), "example.com")
	c, r, _ := connect(t, p, "example.com:443", p.token)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // a test's
	conn := tls.Client(&readerConn{c, r}, &tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting, _, _ := connect(t, p, "example.com:443", p.token) // says nothing
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{c, waiting} {
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) &&
			!strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error("closing twice:", err)
	}
}

// TestCurl: programs understand the environment.
func TestCurl(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, "plain ", r.Host)
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, "tls ", r.Host)
	}))
	defer secure.Close()
	for _, tt := range []struct {
		s         *httptest.Server
		url, want string
	}{
		{plain, "http://example.com/", "plain example.com"},
		{secure, "https://example.com/", "tls example.com"},
		{plain, "http://127.0.0.1/", "troupe: 127.0.0.1:80 may not be reached from here: no rule names it. Ask the " +
			"user to allow this host if it is needed.\n"},
	} {
		p, _ := start(t, address(tt.s), "example.com")
		cmd := exec.CommandContext(t.Context(), curl, "-sk", tt.url)
		cmd.Env = append(p.Environ(), "PATH="+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != tt.want {
			t.Errorf("%s: %q %v", tt.url, out, err)
		}
	}
}
