package gate

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

func fetch(url string) troupe.Access { return troupe.Access{Class: troupe.ClassRead, URL: url} }

func TestDomains(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule  string
		url   string
		allow bool
		deny  bool
	}{
		{"WebFetch", "https://a.example/x", true, true},
		{"WebFetch(*)", "https://a.example/x", true, true},
		{"WebFetch(domain:allowed.com)", "https://allowed.com/a?b", true, true},
		{"WebFetch(domain:allowed.com)", "http://ALLOWED.COM./", true, true},
		{"WebFetch(domain:allowed.com)", "https://allowed.com/a?d=" + strings.Repeat("x", rule.MaxQuery), false, true},
		{"WebFetch(domain:allowed.com)", "https://allowed.com/" + strings.Repeat("x", rule.MaxQuery), false, true},
		{"WebFetch(domain:Allowed.com.)", "https://allowed.com", true, true},
		{"WebFetch(domain:allowed.com)", "https://allowed.com:8443/", true, true},
		{"WebFetch(domain:allowed.com:8443)", "https://allowed.com:8443/", true, true},
		{"WebFetch(domain:allowed.com:8443)", "https://allowed.com/", false, false},
		{"WebFetch(domain:allowed.com)", "https://www.allowed.com/", false, false},
		{"WebFetch(domain:allowed.com)", "https://allowed.com.evil.com/", false, false},
		{"WebFetch(domain:allowed.com)", "https://evil.com/allowed.com", false, false},
		{"WebFetch(domain:allowed.com)", "https://evilallowed.com/", false, false},
		{"WebFetch(domain:allowed.com)", "https://allowed.com@evil.com/", false, false},
		{"WebFetch(domain:allowed.com)", "https://x@allowed.com/", false, true},
		{"WebFetch(domain:allowed.com)", "https://evil.com#@allowed.com/", false, false},
		{"WebFetch(domain:allowed.com)", `https://allowed.com\@evil.com/`, false, true},
		{"WebFetch(domain:allowed.com)", "https://allowed.com\t.evil.com/", false, true},
		{"WebFetch(domain:allowed.com)", "ftp://allowed.com/", false, true},
		{"WebFetch(domain:allowed.com)", "file:///etc/passwd", false, true},
		{"WebFetch(domain:allowed.com)", "allowed.com", false, true},
		{"WebFetch(domain:allowed.com)", "https://allоwed.com/", false, false}, // a Cyrillic o
		{"WebFetch(domain:allowed.com)", "https://ａllowed.com/", false, true},  // full width
		{"WebFetch(domain:allowed.com)", "https://allowed。com/", false, true},  // another dot
		{"WebFetch(domain:allowed.com)", "https://a\u00adllowed.com/", false, true},
		{"WebFetch(domain:allowed.com)", "https://%61llowed.com/", false, true},
		{"WebFetch(domain:*.allowed.com)", "https://a.b.allowed.com/", true, true},
		{"WebFetch(domain:*.allowed.com)", "https://allowed.com/", false, false},
		{"WebFetch(domain:*.allowed.com)", "https://evilallowed.com/", false, false},
		{"WebFetch(domain:münchen.de)", "https://xn--mnchen-3ya.de/", true, true},
		{"WebFetch(domain:xn--mnchen-3ya.de)", "https://MÜNCHEN.de/", true, true},
		{"WebFetch(domain:例え.jp)", "https://xn--r8jz45g.jp/", true, true},
		{"WebFetch(domain:127.0.0.1)", "http://127.0.0.1/", true, true},
		{"WebFetch(domain:127.0.0.1)", "http://2130706433/", false, true},
		{"WebFetch(domain:127.0.0.1)", "http://127.1/", false, true},
		{"WebFetch(domain:127.0.0.1)", "http://0x7f.1/", false, true},
		{"WebFetch(domain:[::1])", "http://[::1]:80/", true, true},
		{"WebFetch(domain:127.0.0.1)", "http://[::ffff:127.0.0.1]/", false, true},
	}
	for _, test := range tests {
		if d := Decide(query("WebFetch", fetch(test.url), parse(t, troupe.Allow,
			test.rule))); (d.Effect == troupe.Allow) != test.allow {
			t.Errorf("allow %s, %s: %+v", test.rule, test.url, d)
		}
		q := query("WebFetch", fetch(test.url), parse(t, troupe.Deny, test.rule))
		q.Chain[0].Mode = troupe.ModeBypass
		if d := Decide(q); (d.Effect == troupe.Deny) != test.deny {
			t.Errorf("deny %s, %s: %+v", test.rule, test.url, d)
		}
	}
	for mode, want := range map[troupe.Mode]troupe.Effect{
		troupe.ModeDefault: troupe.Ask, troupe.ModePlan: troupe.Deny, troupe.ModeDontAsk: troupe.Deny,
		troupe.ModeBypass: troupe.Allow,
	} {
		q := query("WebFetch", fetch("https://go.dev/doc"))
		q.Chain[0].Mode = mode
		d := Decide(q)
		if d.Effect != want {
			t.Errorf("%s: %+v", mode, d)
		}
		if d.Effect != troupe.Allow && d.Grant != "WebFetch(domain:go.dev)" {
			t.Errorf("%s: %+v", mode, d)
		}
	}
}
