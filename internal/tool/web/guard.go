package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// refusedError says that an address may not be reached, and why.
type refusedError struct {
	addr netip.AddrPort
	why  string
}

func (e *refusedError) Error() string { return fmt.Sprintf("%s may not be reached: %s", e.addr, e.why) }

// lowestPort is the first port that a page may be served on besides 80 and 443: below it live
// services that could take a request for a command of their own.
const lowestPort = 1024

// publicOnly returns a guard that lets through public addresses only: none of this machine, of
// local networks, of clouds' own services, and none that stands for such an address in
// another notation or behind a tunnel.
func publicOnly() func(netip.AddrPort) error {
	guardian := ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(
		netip.MustParsePrefix("168.63.129.16/32"), // a public address in name only: Azure's host, from within
	))
	return func(ap netip.AddrPort) error {
		addr := ap.Addr().Unmap()
		if !addr.IsValid() || addr.Zone() != "" {
			return &refusedError{ap, "it is not an address on the internet"}
		}
		if err := guardian.SafeAddr(addr); err != nil {
			return &refusedError{ap, "it belongs to this machine, a local network or a reserved range, and only " +
				"public addresses are fetched"}
		}
		if p := ap.Port(); p < lowestPort && p != 80 && p != 443 {
			return &refusedError{ap, fmt.Sprintf("port %d is not one that pages are served on", p)}
		}
		return nil
	}
}

// localHosts are the hosts on this machine or in its network that the user wants read: "host:port".
type localHosts map[string]bool

// readLocal reads what a user wrote: a name or an address, with its port if that is neither 80 nor 443.
func readLocal(lines []string) (localHosts, error) {
	hosts := localHosts{}
	for _, line := range lines {
		text := line
		if ip, err := netip.ParseAddr(line); err == nil && ip.Is6() {
			text = "[" + line + "]"
		}
		u, err := readURL("http://" + text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q %w", line, err)
		case u.Path != "/" || u.RawQuery != "" || strings.HasSuffix(line, "/"):
			return nil, fmt.Errorf("%q is an address; write the name of the host alone, with :port if need be", line)
		case u.Port() != "":
			hosts[u.Host] = true
		default:
			hosts[net.JoinHostPort(u.Hostname(), "80")] = true
			hosts[net.JoinHostPort(u.Hostname(), "443")] = true
		}
	}
	return hosts, nil
}

func (h localHosts) names(host string, port uint16) bool {
	return h[net.JoinHostPort(host, strconv.Itoa(int(port)))]
}

// judge is what the addresses of a host are judged by.
func (d *guardedDialer) judge(host string, port uint16) func(netip.AddrPort) error {
	ip, err := netip.ParseAddr(host)
	self := host == "localhost" || err == nil && ip.IsLoopback()
	if d.local.names(host, port) || d.loopback && self {
		return func(ap netip.AddrPort) error { return near(host, ap) }
	}
	return d.allow
}

// near judges an address of a host that the user named as one nearby. The services that a cloud or a
// network keeps at link-local addresses are never meant, and this machine only where it was named as
// itself: whoever answers for a name could otherwise point it at whatever listens here.
func near(host string, ap netip.AddrPort) error {
	addr := ap.Addr().Unmap()
	named, err := netip.ParseAddr(host)
	switch {
	case !addr.IsValid(), addr.Zone() != "", addr.IsUnspecified(), addr.IsMulticast(), addr.IsLinkLocalUnicast():
	case err == nil:
		if addr == named.Unmap() {
			return nil
		}
	case (host == "localhost" || strings.HasSuffix(host, ".localhost")) == addr.IsLoopback():
		return nil
	}
	return &refusedError{ap, host + " may be read where it is nearby, but this is not an address for that"}
}

// guardedDialer dials what its guard allows.
type guardedDialer struct {
	allow    func(netip.AddrPort) error
	local    localHosts
	loopback bool // this machine may be reached under its own names
	resolver *net.Resolver
}

const connectTime = 10 * time.Second

// dial resolves once and judges every address: a name that leads outside and inside at once
// is somebody's trick, and is refused whole. The dialer asks again about what it dials.
func (d *guardedDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := d.resolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if ip, perr := netip.ParseAddr(host); perr == nil {
		addrs = []netip.Addr{ip}
	} else if addrs, err = d.resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	judge := d.judge(host, uint16(port)) //nolint:gosec // LookupPort returns 0 to 65535
	var targets []netip.AddrPort
	for _, a := range addrs {
		ap := netip.AddrPortFrom(a.Unmap(), uint16(port)) //nolint:gosec // LookupPort returns 0 to 65535
		if err := judge(ap); err != nil {
			return nil, err
		}
		targets = append(targets, ap)
	}
	dialer := net.Dialer{Timeout: connectTime, ControlContext: control(judge)}
	failed := error(&net.DNSError{Err: "no address", Name: host, IsNotFound: true})
	for _, ap := range targets {
		conn, err := dialer.DialContext(ctx, network, ap.String())
		if err == nil {
			return conn, nil
		}
		if failed = err; ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// control is asked by the dialer for every socket, with the address it is about to connect to.
func control(judge func(netip.AddrPort) error) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil || network != "tcp4" && network != "tcp6" {
			return errors.New("not an address to connect to: " + network + " " + address)
		}
		return judge(netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()))
	}
}
