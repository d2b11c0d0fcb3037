package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/troupe-dev/troupe"
)

const localhost = "localhost"

// entry is one line of what is allowed.
type entry struct {
	host string     // a name; what follows the *. of a pattern; "" for every public host
	addr netip.Addr // valid if an address is listed
	sub  bool       // all below host, without itself
	port int        // 0: 80 and 443
}

type allowlist []entry

func parseList(lines []string) (allowlist, error) {
	var list allowlist
	for _, line := range lines {
		e, err := parseEntry(strings.TrimSpace(line))
		if err != nil {
			return nil, &troupe.UserError{
				Problem: fmt.Sprintf("%q cannot be a host that commands may reach: it %v", line, err),
				Hint: "Write example.com, *.example.com, an IP address or localhost, each with :port at its end " +
					"if it is not 80 or 443.",
				Err: err,
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// Knows reports whether a host can stand in a list. What cannot is reached by nobody.
func Knows(host string) bool {
	_, err := parseEntry(host)
	return err == nil
}

func parseEntry(line string) (entry, error) {
	var e entry
	host := line
	// An IPv6 address without brackets has no port.
	if addr, err := netip.ParseAddr(line); err != nil || !addr.Is6() {
		if i := strings.LastIndexByte(line, ':'); i >= 0 && !strings.HasSuffix(line, "]") {
			var ok bool
			if e.port, ok = parsePort(line[i+1:]); !ok {
				return entry{}, errors.New("has a port that is not a number from 1 to 65535")
			}
			host = line[:i]
		}
	}
	if host == "*" {
		return e, nil
	}
	host, e.sub = strings.CutPrefix(host, "*.")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil && !strings.ContainsAny(host, "[:") {
		host = ascii
	}
	name, addr, ok := parseHost(host)
	switch {
	case !ok:
		return entry{}, errors.New("is neither a name nor an address")
	case e.sub && (addr.IsValid() || name == localhost):
		return entry{}, errors.New("has nothing below it")
	}
	e.host, e.addr = name, addr
	return e, nil
}

// parseHost reads a host in ASCII, as it stands in a request: a name in lower case and without
// a dot at its end, or an address. Numbers in another notation are neither.
func parseHost(host string) (name string, addr netip.Addr, ok bool) {
	if strings.Contains(host, ":") {
		if inner, ok := strings.CutPrefix(host, "["); ok {
			if host, ok = strings.CutSuffix(inner, "]"); !ok {
				return "", netip.Addr{}, false
			}
		}
		addr, err := netip.ParseAddr(host)
		return "", addr.Unmap(), err == nil && addr.Zone() == ""
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(host) > 253 {
		return "", netip.Addr{}, false
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", netip.Addr{}, false
		}
	}
	last := labels[len(labels)-1]
	if hex, is := strings.CutPrefix(last, "0x"); strings.Trim(last, "0123456789") == "" ||
		is && strings.Trim(hex, "0123456789abcdef") == "" {
		addr, err := netip.ParseAddr(host)
		return "", addr, err == nil
	}
	return host, netip.Addr{}, true
}

func parsePort(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil && n > 0 && s[0] != '+' && s[0] != '0'
}

// target is where a request wants to go.
type target struct {
	name string
	addr netip.Addr
	port int
}

// parseTarget reads the host of a request: of a CONNECT line, or of the address in another. It
// is strict, for what is compared here is what is dialled.
func parseTarget(hostport string, defaultPort int) (target, bool) {
	host, port := hostport, defaultPort
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && !strings.HasSuffix(hostport, "]") {
		var ok bool
		if port, ok = parsePort(hostport[i+1:]); !ok {
			return target{}, false
		}
		host = hostport[:i]
	}
	if port == 0 || strings.Contains(host, ":") != (strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]")) {
		return target{}, false
	}
	name, addr, ok := parseHost(host)
	return target{name, addr, port}, ok
}

func (t target) host() string {
	if t.addr.IsValid() {
		return t.addr.String()
	}
	return t.name
}

func (t target) String() string {
	if t.addr.Is6() {
		return "[" + t.addr.String() + "]:" + strconv.Itoa(t.port)
	}
	return t.host() + ":" + strconv.Itoa(t.port)
}

// find returns the entry that allows a target.
func (l allowlist) find(t target) (entry, bool) {
	for _, e := range l {
		if e.allows(t) {
			return e, true
		}
	}
	return entry{}, false
}

// denies reads the list as one of hosts to refuse: without a port, an entry is for all.
func (l allowlist) denies(t target) bool {
	for _, e := range l {
		if e.port == 0 {
			e.port = t.port
		}
		if e.allows(t) {
			return true
		}
	}
	return false
}

// Lists reports whether the rules name an address itself, and do not refuse it. What host it is of cannot be told.
func (o Options) Lists(at netip.AddrPort) bool {
	allow, err := parseList(o.Allow)
	if err != nil {
		return false
	}
	deny, err := parseList(o.Deny)
	if err != nil {
		return false
	}
	t := target{addr: at.Addr().Unmap(), port: int(at.Port())}
	here := target{name: localhost, port: t.port}
	named := func(e entry) bool {
		return e.addr.IsValid() && e.allows(t) || e.host == localhost && t.addr.IsLoopback() && e.allows(here)
	}
	return slices.ContainsFunc(allow, named) && !deny.denies(t) && !(t.addr.IsLoopback() && deny.denies(here))
}

// Admits reports whether the rules let a host pass, by its name alone: "example.com:443".
func (o Options) Admits(hostport string) bool {
	allow, err := parseList(o.Allow)
	if err != nil {
		return false
	}
	deny, err := parseList(o.Deny)
	t, ok := parseTarget(hostport, 0)
	if err != nil || !ok {
		return false
	}
	_, found := allow.find(t)
	return found && !deny.denies(t)
}

func (e entry) allows(t target) bool {
	if e.port != t.port && (e.port != 0 || t.port != 80 && t.port != 443) {
		return false
	}
	switch {
	case e.addr.IsValid():
		return e.addr == t.addr
	case e.host == "":
		return true // whether it is public is seen when it is dialled
	case t.addr.IsValid():
		return false
	case e.sub:
		return strings.HasSuffix(t.name, "."+e.host)
	default:
		return t.name == e.host
	}
}
