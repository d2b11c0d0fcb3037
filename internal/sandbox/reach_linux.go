//go:build amd64 || arm64

package sandbox

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

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
	own    *sockets
}

// judge decides about a call. It is now unless the answer comes from elsewhere.
func (r *reach) judge(q *asked) (a answer, now bool) {
	switch q.op {
	case opSocket:
		if a = r.socket(q); a.proceeds() && r.plan.apart {
			a = r.outside(q)
		}
		return a, true
	case opConnect:
		return r.connect(q)
	case opListen:
		return r.withSocket(q, func(fd int) answer { return r.await(q, fd) }), true
	default:
		return r.address(q), true
	}
}

// socket decides which sockets there are, by the numbers of the call alone.
func (r *reach) socket(q *asked) answer {
	domain, kind, protocol := int32(q.args[0]), uint32(q.args[1])&sockTypes, int32(q.args[2])
	switch domain {
	case unix.AF_UNIX:
		// Each connection is judged, and shows what was wanted. Whom a datagram goes to is never said.
		if kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET {
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

// connect is never let pass, whatever the address says: by the time the kernel looked it could be that of a
// socket in the file system, and so could the socket.
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
	case unix.AF_UNIX:
		return r.local(q, raw)
	case unix.AF_INET, unix.AF_INET6:
		to, ok := addrPort(family, raw)
		if !ok {
			return fail(unix.EINVAL), true
		}
		if !r.reaches(to) {
			if p.net != netAll && to.Port() != 0 { // else it only asks which way packets would go
				r.seen.record(troupe.OpConnect, to.String())
			}
			return fail(unix.EACCES), true
		}
	default:
		if p.net != netAll {
			return fail(unix.EACCES), true
		}
	}
	may := isTCP
	if p.net == netAll {
		may = isOther
	}
	r.dial(q, may, func(fd int) error { return connectRaw(fd, raw) })
	return answer{}, false
}

// reaches reports whether an address of the internet may be connected to.
func (r *reach) reaches(to netip.AddrPort) bool {
	p := r.plan.policy
	return p.net == netAll || r.granted(to.String()) ||
		p.proxy > 0 && int(to.Port()) == p.proxy && to.Addr().IsLoopback() ||
		p.net == netPorts && slices.Contains(r.plan.network.Ports, int(to.Port()))
}

// granted reports whether an address may be reached by a leave of its own. The listener sees to it: Landlock
// knows ports, and no addresses.
func (r *reach) granted(to string) bool {
	return slices.Contains(r.plan.network.Addresses, to) || r.listens(to)
}

// listens reports whether an address may be listened at by a leave of its own.
func (r *reach) listens(at string) bool { return slices.Contains(r.plan.network.Listens, at) }

// dial connects a command's socket in its place, beside the other calls, and then closes what was held for it.
func (r *reach) dial(q *asked, may func(fd int) bool, connect func(fd int) error, held ...int) {
	fd, err := r.socketOf(q)
	id := q.id
	r.calls.helpers.Go(func() {
		defer func() {
			for _, h := range held {
				_ = unix.Close(h) // nothing was written
			}
		}()
		if err != nil {
			r.calls.send(id, fail(unix.EACCES))
			return
		}
		a := fail(unix.EACCES)
		if may(fd) {
			a = answered(r.connected(id, fd, connect))
		}
		_ = unix.Close(fd) // before the answer: what the command closes next is closed
		r.calls.send(id, a)
	})
}

// connected waits as long as who asked does, and no longer: not for a host that never answers, once the command
// has ended. Nothing but a socket that does not wait can be left at any time.
func (r *reach) connected(id uint64, fd int, connect func(fd int) error) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		return connect(fd)
	}
	var end time.Time
	if limit, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO); err == nil && limit.Nano() > 0 {
		end = time.Now().Add(time.Duration(limit.Nano()))
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 4*pipeLook) {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_NONBLOCK)
		err := connect(fd)
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		//nolint:errorlint // the system's own
		if err != unix.EINPROGRESS && err != unix.EALREADY && err != unix.EAGAIN && err != unix.EINTR {
			return err
		}
		if !end.IsZero() && time.Now().After(end) {
			return unix.EINPROGRESS // as the kernel says when the time of a socket is up
		}
		if !r.calls.alive(id) {
			return unix.EINTR
		}
		select {
		case <-r.calls.over:
			return unix.EINTR
		case <-time.After(pause):
		}
	}
}

// connectRaw connects to what our own copy of an address says.
func connectRaw(fd int, raw []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	if errno != 0 {
		return errno
	}
	return nil
}

// withSocket answers a call on a descriptor of our own of the socket that it is about. No process of ours is made
// meanwhile: until it is another program it would hold the socket too, and one that listens would go on to be reached
// after the command has closed it.
func (r *reach) withSocket(q *asked, do func(fd int) answer) answer {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := r.socketOf(q)
	if err != nil {
		return fail(unix.EACCES)
	}
	defer unix.Close(fd) //nolint:errcheck // the command has its own
	return do(fd)
}

// socketOf is a descriptor of our own of the socket that a call is about.
func (r *reach) socketOf(q *asked) (int, error) {
	leader, err := strconv.Atoi(field(q.pid, "Tgid"))
	if err != nil {
		return -1, err
	}
	pidfd, err := unix.PidfdOpen(leader, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pidfd) //nolint:errcheck // nothing was written
	fd, err := unix.PidfdGetfd(pidfd, int(int32(q.args[0])), 0)
	if err == nil && !r.calls.alive(q.id) {
		_ = unix.Close(fd) // it is another process's
		return -1, unix.ESRCH
	}
	return fd, err
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

// address answers bind and sendto. Neither reaches anybody: there is no socket that could,
// and nothing listens but what await lets. Where the network is closed, a port of the command's own choice is refused:
// it could be that of a program that comes later.
func (r *reach) address(q *asked) answer {
	family, raw, ok := r.sockaddr(q, q.arg(q.path), q.arg(q.flags))
	if !ok {
		return proceed()
	}
	if to, inet := addrPort(family, raw); inet {
		if r.plan.policy.net == netAll {
			return proceed()
		}
		op := troupe.OpConnect
		if q.op == opBind {
			op = troupe.OpListen
			if to.Port() == 0 || r.listens(to.String()) {
				if a, ok := r.bindFor(q, raw); ok {
					return a
				}
			}
		}
		r.seen.record(op, to.String())
		return fail(unix.EACCES)
	}
	if family == unix.AF_UNIX && q.op == opBind {
		return r.bind(q, raw)
	}
	return proceed()
}

// bindFor gives a TCP socket a port that the kernel picks, which most that ask for one do only
// to see whether there is IPv6, or to connect next. Nobody is reached by that, and nothing comes
// of it: listening is refused, and tells what the port was for. The kernel would have to believe
// what memory says, so we do it.
func (r *reach) bindFor(q *asked, raw []byte) (a answer, ok bool) {
	r.withSocket(q, func(fd int) answer {
		if at := sockaddrOf(raw); at != nil && isTCP(fd) {
			a, ok = answered(unix.Bind(fd, at)), true
		}
		return a
	})
	return a, ok
}

// await listens in the command's place, at what it may. Where the network is closed its port was picked by the
// kernel, for any other was refused when it was asked for; so the number would be another one each time and is
// left out.
func (r *reach) await(q *asked, fd int) answer {
	listen := func() answer { return answered(unix.Listen(fd, int(int32(q.args[1])))) }
	if isLocal(fd) {
		if r.awaitsLocal(fd) {
			return listen()
		}
		return fail(unix.EACCES)
	}
	if r.plan.policy.net == netAll {
		return listen()
	}
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
	if r.listens(any) || r.listens(at.String()) {
		return listen()
	}
	r.seen.record(troupe.OpListen, any)
	return fail(unix.EACCES)
}

// awaitsLocal reports whether a socket has a name that it was let have.
func (r *reach) awaitsLocal(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && r.own.bound[st.Ino] {
		return true
	}
	name, err := unix.Getsockname(fd)
	at, ok := name.(*unix.SockaddrUnix)
	return err == nil && ok && strings.HasPrefix(at.Name, "@") && r.listens(at.Name)
}
