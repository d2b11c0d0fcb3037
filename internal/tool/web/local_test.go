package web

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
)

// TestClientNamesTheSetting: what cannot be reached because it is nearby says what would let it.
func TestClientNamesTheSetting(t *testing.T) {
	t.Parallel()
	c, err := Client(Options{})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Get("http://127.0.0.1:9/")
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "fetch.local_hosts") {
		t.Errorf("got %v", err)
	}
}

// What the user named nearby is read; what was not named, on the same machine, is not.
func TestLocalHosts(t *testing.T) {
	t.Parallel()
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<h1>The dev server</h1>"))
		case "/on":
			http.Redirect(w, r, "/page", http.StatusFound)
		default:
			http.Redirect(w, r, s.URL+"/page", http.StatusFound)
		}
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resolver := names(t, map[string][][]string{"localhost": {{"127.0.0.1"}}, "wiki.corp": {{"127.0.0.1"}}})
	r := runner(t, Options{Local: []string{"LocalHost:" + port, "wiki.corp:" + port}, Resolver: resolver})
	for _, c := range []struct {
		url, says string
		isError   bool
	}{
		{"http://localhost:" + port + "/page", "# The dev server", false},
		{"http://localhost:" + port + "/on", "# The dev server", false},
		{"http://localhost:" + port + "/off", "call WebFetch with this url:\nhttp://127.0.0.1:" + port + "/page",
			false},
		{"https://localhost:" + port + "/page", "does not speak https", true},
		{"http://localhost/page", "may not be reached", true},
		// whoever answers for the name may not point it here
		{"http://wiki.corp:" + port + "/page", "not an address for that", true},
	} {
		text, isError := fetch(t, r, tool.Env{}, c.url)
		if isError != c.isError || !strings.Contains(text, c.says) {
			t.Errorf("%s: error %v, %s", c.url, isError, text)
		}
	}
	if _, err := r.Prepare(tool.Env{}, input(t, "http://127.0.0.1:"+port+"/page", "x")); err == nil ||
		!strings.Contains(err.Error(), "fetch.local_hosts") {
		t.Errorf("an address that nobody named: %v", err)
	}
	for _, bad := range []string{"", "a b", "http://x", "x/y", "x/", "user@x", "x:0", "x:99999", "0x7f.1"} {
		if _, err := New(Options{Local: []string{bad}}); err == nil {
			t.Errorf("%q was taken for a host", bad)
		}
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host, addr string
		ok         bool
	}{
		{"wiki.corp", "10.0.0.1", true},
		{"wiki.corp", "fd00::1", true},
		{"wiki.corp", "93.184.215.14", true},
		{"wiki.corp", "127.0.0.1", false},
		{"wiki.corp", "::1", false},
		{"wiki.corp", "::ffff:127.0.0.1", false},
		{"wiki.corp", "169.254.169.254", false},
		{"wiki.corp", "fe80::1", false},
		{"wiki.corp", "fd00::1%eth0", false},
		{"wiki.corp", "0.0.0.0", false},
		{"wiki.corp", "224.0.0.1", false},
		{"localhost", "127.0.0.1", true},
		{"localhost", "::1", true},
		{"app.localhost", "127.0.0.1", true},
		{"localhost", "10.0.0.1", false},
		{"notlocalhost", "127.0.0.1", false},
		{"10.0.0.5", "10.0.0.5", true},
		{"10.0.0.5", "10.0.0.6", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"::1", "::1", true},
		{"169.254.169.254", "169.254.169.254", false},
	} {
		if err := near(c.host, netip.AddrPortFrom(netip.MustParseAddr(c.addr), 80)); (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.host, c.addr, err)
		}
	}
}
