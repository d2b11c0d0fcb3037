package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/troupe-dev/troupe/internal/tool"
)

func TestReadURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"https://example.com", "https://example.com/"},
		{"HTTPS://EXAMPLE.COM.:443/A?b=C#frag", "https://example.com/A?b=C"},
		{"http://example.com/a", "https://example.com/a"},
		{"http://example.com:80/a", "https://example.com/a"},
		{"http://example.com:443/a", "https://example.com:443/a"},
		{"http://example.com:8080/a", "https://example.com:8080/a"},
		{"http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"},
		{"https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"},
		{"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"},
		{"https://a_b.example.com/", "https://a_b.example.com/"},
		{"https://ｅｘａｍｐｌｅ。ｃｏｍ/", "https://example.com/"},
		{"https://аpple.com/", "https://xn--pple-43d.com/"}, // the first letter is Cyrillic
		{"https://[2606:4700:0::1111]/", "https://[2606:4700::1111]/"},
		{"https://[::ffff:7f00:1]/", "https://127.0.0.1/"},
		{"https://１２７.0.0.1/", "https://127.0.0.1/"},
		{"https://modelcontextprotocol.io.evil.com/", "https://modelcontextprotocol.io.evil.com/"},
		{"https://evil.com/allowed.com", "https://evil.com/allowed.com"},
		{"https://example.com/<b>?q=<system-reminder>&r=\"é`{}|",
			"https://example.com/%3Cb%3E?q=%3Csystem-reminder%3E&r=%22%C3%A9%60{}|"},
		{"https://example.com/x@y", "https://example.com/x@y"},
	} {
		u, err := readURL(c.in)
		if err != nil || u.String() != c.want {
			t.Errorf("%s: %v %v, want %s", c.in, u, err, c.want)
		}
		if u != nil {
			if again, err := readURL(u.String()); err != nil || again.String() != u.String() && u.Port() != "443" {
				t.Errorf("%s is read as %s the second time: %v", u, again, err)
			}
		}
	}
	for _, c := range []struct{ in, want string }{
		{"", "no scheme"},
		{"example.com", "no scheme"},
		{"//example.com/", "no scheme"},
		{"ftp://example.com/", "not http"},
		{"file:///etc/passwd", "not http"},
		{"gopher://example.com/", "not http"},
		{"javascript:alert(1)", "not http"},
		{"https:example.com", "no host"},
		{"https:///path", "no host"},
		{"https://", "no host"},
		{"https://allowed.com@evil.com/", "user name"},
		{"https://@evil.com/", "user name"},
		{"https://a:b@evil.com/", "user name"},
		{"https://evil.com\\@allowed.com/", "backslash"},
		{"https://allowed.com\t.evil.com/", "space"},
		{"https://allowed.com /", "space"},
		{"https://exam\u200bple.com/", "seen"},
		{"https://example.com/\u202egnp", "seen"},
		{"https://example.com/\x00", "seen"},
		{"https://%31%32%37.0.0.1/", "valid"},
		{"https://ex%C3%A4mple.com/", "%"},
		{"https://2130706433/", "unusual notation"},
		{"https://0x7f.1/", "unusual notation"},
		{"https://0x7f000001/", "unusual notation"},
		{"https://0177.0.0.1/", "unusual notation"},
		{"https://127.1/", "unusual notation"},
		{"https://0/", "unusual notation"},
		{"https://0x/", "unusual notation"},
		{"https://1.2.3.4.5/", "unusual notation"},
		{"https://127.0.0.1.:80/", ""},
		{"https://①②⑦.1/", "unusual notation"},
		{"https://[fe80::1%25eth0]/", "%"},
		{"https://[::1/", "valid"},
		{"https://exa..mple.com/", "valid name"},
		{"https://.example.com/", "valid name"},
		{"https://-a.com/", "valid name"},
		{"https://a*b.com/", "valid name"},
		{"https://xn--0.com/", "valid name"},
		{"https://example.com:0/", "port"},
		{"https://example.com:99999/", "port"},
		{"https://example.com:0443/", "port"},
		{"https://example.com:8o/", "valid"},
		{"https://example.com/" + strings.Repeat("x", maxURL), "longer"},
	} {
		if c.want == "" {
			continue
		}
		if u, err := readURL(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v %v, want %q", c.in, u, err, c.want)
		}
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	public := publicOnly()
	for _, good := range []string{"93.184.216.34:443", "1.1.1.1:80", "8.8.8.8:8443", "[2606:4700::1111]:443",
		"[::ffff:93.184.216.34]:443"} {
		if err := public(netip.MustParseAddrPort(good)); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		"127.0.0.1:443", "127.255.255.254:443", "0.0.0.0:443", "0.1.2.3:443", "10.0.0.1:443", "172.16.0.1:443",
		"172.31.255.255:443", "192.168.1.1:443",
		"169.254.169.254:80", "169.254.0.1:80", "100.64.0.1:443", "100.100.100.200:80", "100.127.255.255:443",
		"198.18.0.1:443", "198.19.255.255:443",
		"192.0.0.192:80", "192.0.2.1:443", "198.51.100.1:443", "203.0.113.1:443", "192.88.99.1:443", "224.0.0.1:443",
		"239.255.255.250:1900", "240.0.0.1:443",
		"255.255.255.255:443", "168.63.129.16:80",
		"[::]:443", "[::1]:443", "[::127.0.0.1]:443", "[::ffff:127.0.0.1]:443", "[::ffff:7f00:1]:443",
		"[::ffff:169.254.169.254]:80", "[::ffff:10.0.0.1]:443",
		"[64:ff9b::7f00:1]:443", "[64:ff9b::a00:1]:443", "[64:ff9b:1::7f00:1]:443", "[2002:7f00:1::]:443",
		"[2002:a00:1::1]:443", "[2001:0:4136:e378::]:443",
		"[2001:db8::1]:443", "[fe80::1]:443", "[fe80::1%eth0]:443", "[2606:4700::1111%eth0]:443", "[fec0::1]:443",
		"[fd00::1]:443", "[fd00:ec2::254]:80",
		"[fc00::1]:443", "[ff02::1]:443", "[100::1]:443", "[5f00::1]:443", "[3fff::1]:443",
		"93.184.216.34:22", "93.184.216.34:25", "93.184.216.34:0",
	} {
		err := public(netip.MustParseAddrPort(bad))
		var refused *refusedError
		if !errors.As(err, &refused) || refused.why == "" {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if public(netip.AddrPort{}) == nil {
		t.Error("no address at all is allowed")
	}
}

// names answers what it is told: each question for a name takes the next line, and the last
// one stays.
func names(t *testing.T, answers map[string][][]string) *net.Resolver {
	t.Helper()
	var asked atomic.Int64
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			var size [2]byte
			for {
				if _, err := far.Read(size[:1]); err != nil {
					return
				}
				if _, err := far.Read(size[1:]); err != nil {
					return
				}
				b := make([]byte, int(size[0])<<8|int(size[1]))
				for n := 0; n < len(b); {
					k, err := far.Read(b[n:])
					if err != nil {
						return
					}
					n += k
				}
				out := answer(b, answers, &asked)
				if _, err := far.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...)); err != nil {
					return
				}
			}
		}()
		return near, nil
	}}
}

func answer(query []byte, answers map[string][][]string, asked *atomic.Int64) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	lines := answers[strings.TrimSuffix(q.Name.String(), ".")]
	if lines == nil {
		m.RCode = dnsmessage.RCodeNameError
	} else {
		// A lookup asks for both families, so two questions are one lookup.
		i := int(asked.Add(1)-1) / 2
		for _, a := range lines[min(i, len(lines)-1)] {
			ip := netip.MustParseAddr(a)
			h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0}
			switch {
			case ip.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
			case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h,
					Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
			}
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// TestNamesThatLeadInside: what counts is where a name leads, and nothing is dialled.
func TestNamesThatLeadInside(t *testing.T) {
	t.Parallel()
	for name, leads := range map[string][]string{
		"localhost":                {"127.0.0.1"},
		"localtest.me":             {"127.0.0.1"},
		"metadata.google.internal": {"169.254.169.254"},
		"six.example":              {"::1"},
		"mapped.example":           {"::ffff:127.0.0.1"},
		"mixed.example":            {"93.184.216.34", "127.0.0.1"},
		"mixed6.example":           {"93.184.216.34", "fd00::1"},
		"unspecified.example":      {"0.0.0.0"},
	} {
		dialed := false
		public := publicOnly()
		d := &guardedDialer{resolver: names(t, map[string][][]string{name: {leads}}),
			allow: func(ap netip.AddrPort) error {
				err := public(ap)
				dialed = dialed || err == nil && len(leads) == 1
				return err
			}}
		_, err := d.dial(t.Context(), "tcp", name+":443")
		var refused *refusedError
		if !errors.As(err, &refused) || dialed {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := runner(t, Options{Resolver: names(t, map[string][][]string{"localtest.me": {{"127.0.0.1"}}})})
	if got, isError := fetch(t, r, tool.Env{}, "https://localtest.me./"); !isError ||
		!strings.Contains(got, "https://localtest.me/ was not fetched: 127.0.0.1:443 may not be reached: it belongs "+
			"to this machine") {
		t.Errorf("told: %s", got)
	}
	if got, isError := fetch(t, r, tool.Env{}, "https://nowhere.example/"); !isError ||
		!strings.Contains(got, "there is no host nowhere.example") {
		t.Errorf("told: %s", got)
	}
	d := &guardedDialer{resolver: names(t, nil), allow: publicOnly()}
	_, err := d.dial(t.Context(), "tcp", "nowhere.example:443")
	var dns *net.DNSError
	if !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("%v", err)
	}
}

// TestRebinding: a name that was judged at one address cannot be dialled at another.
func TestRebinding(t *testing.T) {
	t.Parallel()
	reached := atomic.Bool{}
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer s.Close()
	inside := netip.MustParseAddr("127.0.0.1")
	allow := func(ap netip.AddrPort) error {
		if ap.Addr() == inside {
			return &refusedError{ap, "it is inside"}
		}
		return nil
	}
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for range 3 {
		d := &guardedDialer{allow: allow, resolver: names(t,
			map[string][][]string{"two.example": {{"127.0.0.2"}, {"127.0.0.1"}}})}
		for range 3 {
			if c, err := d.dial(t.Context(), "tcp", "two.example:"+port); err == nil {
				_ = c.Close()
				t.Error("it was reached")
			}
		}
	}
	// The dialer asks about each socket, whoever chose the address.
	d := &guardedDialer{allow: allow}
	asked := control(d.judge("two.example", 80))
	if asked(t.Context(), "tcp4", "127.0.0.1:80", nil) == nil ||
		asked(t.Context(), "tcp6", "[::ffff:127.0.0.1]:80", nil) == nil ||
		asked(t.Context(), "udp4", "127.0.0.2:80", nil) == nil ||
		asked(t.Context(), "tcp4", "127.0.0.2:80", nil) != nil {
		t.Error("the socket's address is not what is judged")
	}
	if reached.Load() {
		t.Error("the server inside was reached")
	}
}

// What can never be fetched is refused before anybody is asked about it.
func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	r := runner(t, Options{})
	for _, url := range []string{"http://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest/meta-data",
		"https://0x7f.1/", "https://10.0.0.1/", "https://example.com@127.0.0.1/"} {
		_, err := r.Prepare(tool.Env{}, input(t, url, "x"))
		var ie *tool.InputError
		if !errors.As(err, &ie) || !strings.HasPrefix(ie.Problem, "`url` ") {
			t.Errorf("%s: %v", url, err)
		}
	}
	p, err := r.Prepare(tool.Env{}, input(t, " HTTP://Example.COM./a#b ", "x"))
	if err != nil || p.Access().URL != "https://example.com/a" {
		t.Errorf("%+v %v", p, err)
	}
}

func FuzzReadURL(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b#c", "http://127.0.0.1:80/", "https://[::ffff:7f00:1]:8443",
		"https://a@b", "https://ⅷ.example", "http:\\\\x", "https://0x7f.1", "https://１.１.１.１"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := readURL(s)
		if err != nil {
			if len(err.Error()) > 200 {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		text := u.String()
		again, err := readURL(text)
		if len(text) > maxURL {
			return // percent-encoding made it longer than is read
		}
		if err != nil || again.Host != u.Host && u.Port() != "443" {
			t.Fatalf("%q is %s, and that is %v: %v", s, text, again, err)
		}
		host := u.Hostname()
		if u.User != nil || host == "" || strings.ToLower(host) != host || strings.HasSuffix(host, ".") ||
			strings.ContainsAny(host, "@%/\\ []") {
			t.Fatalf("%q has the host %q", s, host)
		}
		if u.Scheme != "https" && !isLoopback(host) {
			t.Fatalf("%q is not encrypted: %s", s, text)
		}
		if last := host[strings.LastIndexByte(host, '.')+1:]; isNumber(last) {
			if _, err := netip.ParseAddr(host); err != nil {
				t.Fatalf("%q has a number for a host: %q", s, host)
			}
		}
	})
}
