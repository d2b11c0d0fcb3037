package web

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// maxURL is the longest address that is read, in bytes. A longer one carries something away.
const maxURL = 2000

// readURL reads an address strictly and writes it in its one canonical form, which is what
// rules are compared with and what is fetched. Whatever two readers could take for different
// hosts is refused. The error is the end of a sentence about the address.
func readURL(raw string) (*url.URL, error) { return readAddress(raw, nil) }

// readAddress is readURL for somebody who may read local hosts, without encryption where they have none.
func readAddress(raw string, local localHosts) (*url.URL, error) {
	switch {
	case len(raw) > maxURL:
		return nil, errors.New("is longer than 2000 bytes")
	case strings.ContainsFunc(raw, func(r rune) bool {
		return r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r) ||
			invisible(r)
	}):
		return nil, errors.New("holds a space, a backslash or a character that cannot be seen; write it " +
			"percent-encoded")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("is not a valid URL")
	}
	switch u.Scheme {
	case "http", "https":
	case "":
		return nil, errors.New("has no scheme; write https://…")
	default:
		return nil, errors.New("is not http or https")
	}
	if u.Opaque != "" || u.Host == "" {
		return nil, errors.New("names no host; write https://host/path")
	}
	if u.User != nil || strings.Contains(authority(raw), "@") {
		return nil, errors.New("holds a user name in front of the host, which is never sent; leave out what ends " +
			"with @")
	}
	if strings.Contains(authority(raw), "%") {
		return nil, errors.New("has a host with % in it; write the host plainly")
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port, err := canonicalPort(u.Port(), u.Scheme)
	if err != nil {
		return nil, err
	}
	if !isLoopback(host) && !local.names(host, portOf(u)) {
		u.Scheme = "https" // nobody on the way shall read or change the page
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Host = host; port != "" {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = canonicalQuery(u.RawQuery)
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// canonicalQuery percent-encodes what the library leaves as it is. An address is shown, and
// must not look like anything else there.
func canonicalQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c < '!' || c > '~' || strings.IndexByte("<>\"`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// authority is the part of a URL between // and the path, as it was written.
func authority(raw string) string {
	_, rest, _ := strings.Cut(raw, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// canonicalPort is the port if it has to be written. Port 80 of http is the port of https
// once the scheme has been changed.
func canonicalPort(port, scheme string) (string, error) {
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return "", nil
	}
	n := 0
	for _, c := range port {
		if c < '0' || c > '9' || n > 65535 {
			return "", errors.New("has a port that is not a number from 1 to 65535")
		}
		n = n*10 + int(c-'0')
	}
	if n < 1 || n > 65535 || port[0] == '0' {
		return "", errors.New("has a port that is not a number from 1 to 65535")
	}
	return port, nil
}

// canonicalHost writes a host in its one form: a name in lower case, in ASCII and without a
// dot at its end, or an IP address as it is usually written.
func canonicalHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.Zone() != "" {
			return "", errors.New("has an IPv6 address that cannot be read")
		}
		return ip.Unmap().String(), nil
	}
	// What people's eyes and keyboards take for a letter, a digit or a dot becomes that first;
	// only then it shows whether this is a number.
	if ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, ".")); err == nil {
		host = ascii
	} // else it may still be a name with an underscore; checkLabel says
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(host) > 253 {
		return "", errors.New("has a host that is no valid name")
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if err := checkLabel(l); err != nil {
			return "", err
		}
	}
	if last := labels[len(labels)-1]; isNumber(last) {
		ip, err := netip.ParseAddr(host)
		if err != nil || !ip.Is4() {
			return "", errors.New("has a host that is a number in an unusual notation; write an IPv4 address as four " +
				"decimal numbers")
		}
		return ip.String(), nil
	}
	return host, nil
}

func checkLabel(l string) error {
	if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
		return errors.New("has a host that is no valid name")
	}
	for _, r := range l {
		if r != '_' && r != '-' && !isAlnum(r) {
			return errors.New("has a host that is no valid name")
		}
	}
	if strings.HasPrefix(l, "xn--") {
		if _, err := idna.Lookup.ToUnicode(l); err != nil {
			return errors.New("has a host that is no valid name")
		}
	}
	return nil
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// isNumber reports whether a resolver somewhere would read a label as a number.
func isNumber(l string) bool {
	if rest, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(l, "0123456789") == ""
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
