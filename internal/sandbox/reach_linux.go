//go:build amd64 || arm64

package sandbox

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// reach judges the calls by which others are reached, and makes those that are let.
type reach struct {
	calls  *callers
	plan   *plan
	seen   *sightings
	lookup lookup
	files  *files // a socket can lie among them
}

// judge decides about a call. It is now unless the answer comes from elsewhere.
func (r *reach) judge(q *asked) (a answer, now bool) {
	switch q.op {
	case opSocket:
		return r.socket(q), true
	case opConnect:
		return r.connect(q)
	case opListen:
		return r.await(q), true
	default:
		return r.address(q), true
	}
}

// socket decides which sockets there are, by the numbers of the call alone.
func (r *reach) socket(q *asked) answer {
	domain, kind, protocol := int32(q.args[0]), uint32(q.args[1])&sockTypes, int32(q.args[2])
	p := r.plan.policy
	switch domain {
	case unix.AF_UNIX:
		// Where nobody is reached each connection is refused, and shows what was wanted.
		// Where some may be reached there must be none: see network.
		if p.net == netNone && (kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET) {
			return proceed()
		}
		return fail(unix.EACCES)
	case unix.AF_INET, unix.AF_INET6:
		return r.inet(kind, protocol)
	case unix.AF_NETLINK:
		// Asking which interfaces and sockets there are; changing them needs what nobody has.
		if protocol == unix.NETLINK_ROUTE || protocol == unix.NETLINK_SOCK_DIAG {
			return proceed()
		}
		return fail(unix.EPROTONOSUPPORT)
	default:
		return fail(unix.EAFNOSUPPORT)
	}
}

func (r *reach) inet(kind uint32, protocol int32) answer {
	p := r.plan.policy
	switch {
	case p.net == netAll:
		return proceed()
	case kind == unix.SOCK_STREAM && (protocol == 0 || protocol == unix.IPPROTO_TCP):
		return proceed()
	case kind == unix.SOCK_STREAM:
		return fail(unix.EPROTONOSUPPORT) // Landlock knows TCP only
	case kind == unix.SOCK_DGRAM && (protocol == 0 || protocol == unix.IPPROTO_UDP):
		r.seen.record(troupe.OpConnect, troupe.NetUDP) // to whom is never said: there is no socket to say it to
		return fail(unix.EACCES)
	case protocol == unix.IPPROTO_ICMP || protocol == unix.IPPROTO_ICMPV6:
		r.seen.record(troupe.OpConnect, troupe.NetICMP)
		return fail(unix.EACCES)
	default:
		return fail(unix.EPERM)
	}
}

// sockaddr reads whom a call is about. What it says is for people, and decides only where any
// answer would do.
func (r *reach) sockaddr(q *asked, at, size uint64) (family uint16, raw []byte, ok bool) {
	if size < 2 || size > 128 {
		return 0, nil, false
	}
	raw = make([]byte, size)
	n, err := peek(q.pid, at, raw)
	if err != nil || n < 2 {
		r.files.unreadable(err, at)
		return 0, nil, false
	}
	raw = raw[:n]
	return uint16(raw[0]) | uint16(raw[1])<<8, raw, true
}

func addrPort(family uint16, raw []byte) (netip.AddrPort, bool) {
	if family == unix.AF_INET && len(raw) >= 8 {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(raw[4:8])), uint16(raw[2])<<8|uint16(raw[3])), true
	}
	if family == unix.AF_INET6 && len(raw) >= 24 {
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(raw[8:24])).Unmap(), uint16(raw[2])<<8|uint16(raw[3])), true
	}
	return netip.AddrPort{}, false
}

// connect. Where nobody is reached it is never let pass, whatever the address says.
func (r *reach) connect(q *asked) (a answer, now bool) {
	family, raw, ok := r.sockaddr(q, q.arg(q.path), q.arg(q.flags))
	if !ok {
		return fail(unix.EACCES), true
	}
	p := r.plan.policy
	switch family {
	case unix.AF_UNSPEC:
		if p.net == netNone {
			return value(0), true // there is nothing to let go of
		}
		return proceed(), true
	case unix.AF_UNIX:
		return r.local(q, raw)
	case unix.AF_INET, unix.AF_INET6:
		to, ok := addrPort(family, raw)
		if !ok {
			return fail(unix.EINVAL), true
		}
		if p.proxy > 0 && int(to.Port()) == p.proxy && to.Addr().IsLoopback() {
			r.calls.helpers.Go(func() { r.calls.send(q.id, connectFor(q.notification, raw)) })
			return answer{}, false
		}
		if r.granted(to.String()) {
			r.calls.helpers.Go(func() { r.calls.send(q.id, connectFor(q.notification, raw)) })
			return answer{}, false
		}
		if p.net == netPorts && (slices.Contains(r.plan.network.Ports, int(to.Port())) || to.Port() == 0) {
			return proceed(), true // Landlock knows the ports
		}
		if to.Port() != 0 { // else it only asks which way packets would go
			r.seen.record(troupe.OpConnect, to.String())
		}
		return fail(unix.EACCES), true
	default:
		return fail(unix.EACCES), true
	}
}

// granted reports whether an address may be reached by a leave of its own. The listener sees to it: Landlock
// knows ports, and no addresses.
func (r *reach) granted(to string) bool { return slices.Contains(r.plan.network.Addresses, to) }

// connectFor connects a command's socket. Landlock knows ports and no hosts, so that this one
// goes to loopback only we can see to.
func connectFor(n *notification, raw []byte) answer {
	fd, err := socketOf(n)
	if err != nil {
		return fail(unix.EACCES)
	}
	defer unix.Close(fd) //nolint:errcheck // the command has its own
	if to := sockaddrOf(raw); to != nil && isTCP(fd) {
		return answered(unix.Connect(fd, to))
	}
	return fail(unix.EACCES)
}

// socketOf is a descriptor of our own of the socket that a call is about.
func socketOf(n *notification) (int, error) {
	leader, err := strconv.Atoi(field(int(n.pid), "Tgid"))
	if err != nil {
		return -1, err
	}
	pidfd, err := unix.PidfdOpen(leader, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pidfd) //nolint:errcheck // nothing was written
	return unix.PidfdGetfd(pidfd, int(int32(n.args[0])), 0)
}

func isTCP(fd int) bool {
	protocol, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	return err == nil && protocol == unix.IPPROTO_TCP
}

// sockaddrOf is an address as we pass it on, nil if it is none of the internet.
func sockaddrOf(raw []byte) unix.Sockaddr {
	family := uint16(raw[0]) | uint16(raw[1])<<8
	to, ok := addrPort(family, raw)
	switch {
	case !ok:
		return nil
	case family == unix.AF_INET:
		return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	default:
		in6 := &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
		if len(raw) >= 28 {
			in6.ZoneId = uint32(word(raw[20:28], 0) >> 32)
		}
		return in6
	}
}

// local connects to a socket in the file system that was granted, and refuses others. That names are
// looked up is nobody's attempt: every second program does it, and does without.
func (r *reach) local(q *asked, raw []byte) (a answer, now bool) {
	name := string(raw[2:])
	if len(name) > 0 && name[0] == 0 {
		r.seen.record(troupe.OpConnect, "@"+strings.TrimRight(name[1:], "\x00"))
		return fail(unix.EACCES), true
	}
	name, _, _ = strings.Cut(name, "\x00")
	p, err := r.lookup.locate(q, unix.AT_FDCWD, name, true)
	if err != nil {
		return answered(err), true
	}
	defer p.close()
	switch {
	case !p.exists:
		return fail(unix.ENOENT), true
	case p.kind() != unix.S_IFSOCK:
		return fail(unix.ECONNREFUSED), true
	case !p.may(p.name, unix.W_OK):
		return fail(unix.EACCES), true
	case r.granted(p.path):
		return r.connectLocal(q, p)
	}
	if !isNameService(p.path) {
		r.seen.record(troupe.OpConnect, p.path)
	}
	return fail(unix.EACCES), true
}

// connectLocal connects to the socket that was looked at: it is held first, for whatever has its name a
// moment later may be another.
func (r *reach) connectLocal(q *asked, p place) (a answer, now bool) {
	h, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return answered(err), true
	}
	var st unix.Stat_t
	path, err := readlink(unix.AT_FDCWD, link(h))
	if err != nil || unix.Fstat(h, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK || !r.granted(path) ||
		troupe.WithinAny(path, r.plan.hidden) {
		_ = unix.Close(h) // nothing was written
		return fail(unix.EACCES), true
	}
	id, n := q.id, q.notification
	r.calls.helpers.Go(func() { // it can have to wait
		defer unix.Close(h) //nolint:errcheck // nothing was written
		fd, err := socketOf(n)
		if err == nil {
			err = q.as(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: link(h)}) })
			_ = unix.Close(fd) // the command has its own
		}
		r.calls.send(id, answered(err))
	})
	return answer{}, false
}

// bindLocal makes a socket in the file system. Its name is what is guarded, so we make it where we looked.
func (r *reach) bindLocal(q *asked, p place) answer {
	return answered(r.files.make(q, func(*who) error {
		fd, err := socketOf(q.notification)
		if err != nil {
			return err
		}
		defer unix.Close(fd) //nolint:errcheck // the command has its own
		return unix.Bind(fd, &unix.SockaddrUnix{Name: link(p.dir) + "/" + p.name})
	}))
}

// isNameService reports whether a socket is one by which the C library asks for users, groups
// and hosts.
func isNameService(path string) bool {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/var"), "/run/")
	for _, s := range []string{"nscd", "systemd/userdb", "systemd/resolve", "systemd/io.systemd.", "avahi-daemon",
		"dbus/system_bus_socket", "/lib/sss", "sssd", "samba/winbindd", "nslcd"} {
		if strings.HasPrefix(path, s) {
			return true
		}
	}
	return false
}

// address answers bind and sendto. Neither reaches anybody: there is no socket that could,
// and nothing can listen. A port of the command's own choice is refused: it could be that of
// somebody who comes later.
func (r *reach) address(q *asked) answer {
	family, raw, ok := r.sockaddr(q, q.arg(q.path), q.arg(q.flags))
	if !ok {
		return proceed()
	}
	if to, inet := addrPort(family, raw); inet {
		if r.plan.policy.net == netAll {
			return proceed()
		}
		if q.op == opBind && (to.Port() == 0 || r.granted(to.String())) {
			if a, ok := bindFor(q.notification, raw); ok {
				return a
			}
		}
		r.seen.record(troupe.OpConnect, to.String())
		return fail(unix.EACCES)
	}
	if family != unix.AF_UNIX || q.op != opBind || len(raw) < 3 || raw[2] == 0 {
		return proceed()
	}
	name, _, _ := strings.Cut(string(raw[2:]), "\x00")
	p, err := r.lookup.locate(q, unix.AT_FDCWD, name, false)
	if err != nil {
		return answered(err)
	}
	defer p.close()
	if p.free || p.exists {
		return proceed()
	}
	a, _ := r.files.change(troupe.OpCreate, p, func() (answer, bool) { return r.bindLocal(q, p), true })
	return a
}

// bindFor gives a TCP socket a port that the kernel picks, which most that ask for one do only
// to see whether there is IPv6, or to connect next. Nobody is reached by that, and nothing comes
// of it: listening is refused, and tells what the port was for. The kernel would have to believe
// what memory says, so we do it.
func bindFor(n *notification, raw []byte) (a answer, ok bool) {
	fd, err := socketOf(n)
	if err != nil {
		return a, false
	}
	defer unix.Close(fd) //nolint:errcheck // the command has its own
	at := sockaddrOf(raw)
	if at == nil || !isTCP(fd) {
		return a, false
	}
	return answered(unix.Bind(fd, at)), true
}

// await refuses to listen. Its port was picked by the kernel, for any other was refused when
// it was asked for; so the number would be another one each time and is left out. Of sockets in
// the file system their making was judged.
func (r *reach) await(q *asked) answer {
	fd, err := socketOf(q.notification)
	if err != nil {
		return fail(unix.EACCES)
	}
	defer unix.Close(fd) //nolint:errcheck // the command has its own
	name, err := unix.Getsockname(fd)
	if err != nil {
		return fail(unix.EACCES)
	}
	var at netip.AddrPort
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		at = netip.AddrPortFrom(netip.AddrFrom4(name.Addr), uint16(name.Port))
	case *unix.SockaddrInet6:
		at = netip.AddrPortFrom(netip.AddrFrom16(name.Addr).Unmap(), uint16(name.Port))
	default:
		return fail(unix.EACCES)
	}
	any := netip.AddrPortFrom(at.Addr(), 0).String()
	if r.granted(any) || r.granted(at.String()) {
		return answered(unix.Listen(fd, int(int32(q.args[1]))))
	}
	r.seen.record(troupe.OpConnect, any)
	return fail(unix.EACCES)
}
