package rule

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Host is what a URL asks for, as far as that is certain.
type Host struct {
	Labels []string // lower case, in ASCII
	// Unsure: it could be read in two ways, or leads where its text does not say. Rules that
	// deny cover it, rules that allow do not.
	Unsure bool
	// User: there is a name before the host, which looks like one. Rules that allow do not
	// cover it.
	User bool
	Port string // "" if the URL names none
	// Tells: what is asked for is long enough to carry something away that was read here.
	Tells bool
}

// MaxQuery is how long what follows a host may be before a rule about the host does not cover
// it: honest addresses are shorter, and a key fits into less than what is left beyond.
const MaxQuery = 250

// HostOf finds the host of a URL.
func HostOf(text string) Host {
	if strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '\\' ||
			r == utf8.RuneError
	}) {
		return Host{Unsure: true}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return Host{Unsure: true}
	}
	h := Host{User: u.User != nil, Port: u.Port(), Tells: len(u.RequestURI()) > MaxQuery}
	h.Labels, h.Unsure = labelsOf(u.Hostname())
	if n := len(h.Labels); n > 0 && numberLike(h.Labels[n-1]) {
		if _, err := netip.ParseAddr(strings.Join(h.Labels, ".")); err != nil {
			h.Unsure = true // 127.1, 0x7f.1, 2130706433: an address in another dress
		}
	}
	return h
}

// labelsOf takes a host's name apart at its dots, as DNS would be asked for it.
func labelsOf(host string) (labels []string, unsure bool) {
	if strings.Contains(host, ":") { // an IPv6 address is one label
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return []string{strings.ToLower(host)}, true
		}
		return []string{addr.Unmap().String()}, addr.Is4In6()
	}
	host = strings.Map(func(r rune) rune {
		switch {
		case r == 0x3002 || r == 0xff0e || r == 0xff61:
			unsure = true
			return '.'
		case r >= 0xff01 && r <= 0xff5e:
			unsure = true
			return r - 0xff01 + '!'
		default:
			return unicode.ToLower(r)
		}
	}, host)
	host = strings.TrimSuffix(host, ".")
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.ContainsAny(label, "%/@[]*?#") {
			unsure = true
		}
		ascii, plain := toASCII(label)
		unsure = unsure || !plain
		labels = append(labels, ascii)
	}
	return labels, unsure
}

func numberLike(label string) bool {
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// toASCII writes a label as DNS knows it. plain is false where the rules for names in other
// scripts may make another label of it than this does.
func toASCII(label string) (ascii string, plain bool) {
	plain = true
	for _, r := range label {
		if r >= utf8.RuneSelf && !plainLetter(r) {
			plain = false
		}
	}
	if strings.IndexFunc(label, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return label, true
	}
	ascii, err := idna.Punycode.ToASCII(label)
	return ascii, plain && err == nil
}

// plainLetter: a letter that stands for itself in a name, whichever way it is written.
func plainLetter(r rune) bool {
	switch r {
	case 0xdf, 0xf7, 0x132, 0x133, 0x13f, 0x140, 0x149:
		return false
	}
	return r >= 0xe0 && r <= 0x17e || r >= 0x430 && r <= 0x45f || r >= 0x3ac && r <= 0x3ce && r != 0x3c2 ||
		r >= 0x4e00 && r <= 0x9fff || r >= 0x3041 && r <= 0x3096 || r >= 0x30a1 && r <= 0x30fa || r >= 0xac00 &&
		r <= 0xd7a3
}

// Domain is what a rule about fetching says: a host, or all below it.
type Domain struct {
	Labels []string
	below  bool   // "*." stands before it
	Port   string // "" is any
	Any    bool   // every host
}

// String is the domain as lists of hosts have it.
func (d *Domain) String() string {
	if d.Any {
		return "*"
	}
	text := strings.Join(d.Labels, ".")
	if strings.Contains(text, ":") {
		text = "[" + text + "]"
	}
	if d.below {
		text = "*." + text
	}
	if d.Port != "" {
		text += ":" + d.Port
	}
	return text
}

// parseDomain reads what stands in the parentheses of a rule about fetching. The problem, if
// not empty, completes the sentence "the rule …".
func parseDomain(spec string) (d Domain, problem string) {
	host, ok := strings.CutPrefix(spec, "domain:")
	if !ok {
		return d, "does not say domain: and a host"
	}
	host = strings.TrimSpace(host)
	if host == "*" {
		return Domain{Any: true}, ""
	}
	host, d.below = strings.CutPrefix(host, "*.")
	switch {
	case host == "":
		return d, "names no host"
	case strings.Contains(host, "*"):
		return d, "has a star in the host that is not *. at its beginning"
	case strings.ContainsAny(host, "/@ \t\\?#"):
		return d, "has more than a host after domain:"
	}
	if name, port, ok := strings.Cut(host, ":"); ok && port != "" && strings.Trim(port, "0123456789") == "" {
		host, d.Port = name, port
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	var unsure bool
	if d.Labels, unsure = labelsOf(host); unsure {
		return d, "names a host that can be read in two ways; write it as DNS knows it"
	}
	return d, ""
}

// Match reports whether the domain covers a host, by whole labels.
func (d *Domain) Match(h Host) bool {
	if d.Any {
		return true
	}
	more := len(h.Labels) - len(d.Labels)
	if more < 0 || d.below != (more > 0) || d.Port != "" && d.Port != h.Port {
		return false
	}
	for i, label := range d.Labels {
		if h.Labels[more+i] != label {
			return false
		}
	}
	return true
}
