//go:build amd64 || arm64

package sandbox

import (
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// maxSockets is how many sockets one command may have in the file system at a time.
const maxSockets = 1024

// sockets are those that one command and what it started have made in the file system. Without leave it connects
// to no other: whatever else has a socket there answers with more than the command may do.
type sockets struct {
	files map[inode]int   // each held open, so that no other file gets its number
	bound map[uint64]bool // the sockets themselves, by their number: they may be listened on
}

func newSockets() *sockets { return &sockets{files: map[inode]int{}, bound: map[uint64]bool{}} }

// keep takes what holds a file. It is false if there are too many.
func (s *sockets) keep(id inode, h int) bool {
	if len(s.files) >= maxSockets {
		for other, held := range s.files {
			var st unix.Stat_t
			if unix.Fstat(held, &st) == nil && st.Nlink == 0 { // nobody finds it any more
				_ = unix.Close(held) // nothing was written
				delete(s.files, other)
			}
		}
	}
	if len(s.files) >= maxSockets {
		return false
	}
	s.files[id] = h
	return true
}

func (s *sockets) has(st *unix.Stat_t) bool {
	_, ok := s.files[inode{uint64(st.Dev), st.Ino}]
	return ok
}

func (s *sockets) close() {
	for _, h := range s.files {
		_ = unix.Close(h) // nothing was written
	}
}

// isLocal reports whether a socket is one of the file system or of abstract names.
func isLocal(fd int) bool {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	return err == nil && domain == unix.AF_UNIX
}

// isOther reports whether it is a socket of any other kind.
func isOther(fd int) bool {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	return err == nil && domain != unix.AF_UNIX
}

// localName is what an address says: a path, or "@" and an abstract name. It is empty for an address that asks
// the kernel for a name.
func localName(raw []byte) (name string, abstract bool) {
	switch {
	case len(raw) < 3:
		return "", true
	case raw[2] == 0:
		return "@" + string(raw[3:]), true
	default:
		name, _, _ = strings.Cut(string(raw[2:]), "\x00")
		return name, false
	}
}

// local connects to a socket that the command has made, or that was granted, and refuses others. That names are
// looked up is nobody's attempt: every second program does it, and does without.
func (r *reach) local(q *asked, raw []byte) (a answer, now bool) {
	name, abstract := localName(raw)
	if abstract {
		if shown := strings.TrimRight(name, "\x00"); !r.granted(shown) {
			r.seen.record(troupe.OpConnect, shown)
			return fail(unix.EACCES), true
		}
		r.dial(q, isLocal, func(fd int) error { return connectRaw(fd, raw) })
		return answer{}, false
	}
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
	}
	if a, now, ok := r.connectLocal(q, p); ok {
		return a, now
	}
	if !isNameService(p.path) {
		r.seen.record(troupe.OpConnect, p.path)
	}
	return fail(unix.EACCES), true
}

// connectLocal connects to the socket that was looked at: it is held first, for whatever has its name a
// moment later may be another. It is not ok if that socket is not to be reached.
func (r *reach) connectLocal(q *asked, p place) (a answer, now, ok bool) {
	h, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return answered(err), true, true
	}
	var st unix.Stat_t
	path, err := readlink(unix.AT_FDCWD, link(h))
	if err != nil || unix.Fstat(h, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK ||
		!r.granted(path) && !r.own.has(&st) || r.plan.isHidden(path) {
		_ = unix.Close(h) // nothing was written
		return a, true, false
	}
	r.dial(q, isLocal, func(fd int) error {
		return q.as(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: link(h)}) })
	}, h)
	return answer{}, false, true
}

// bind names a socket in the file system. The listener makes it, and keeps which file it is: that the command may
// connect to.
func (r *reach) bind(q *asked, raw []byte) answer {
	name, abstract := localName(raw)
	if abstract {
		// Nothing can listen under a name that was not granted, see await. The kernel's choice of one is harmless.
		if name = strings.TrimRight(name, "\x00"); name == "" || r.listens(name) {
			return proceed()
		}
		r.seen.record(troupe.OpListen, name)
		return fail(unix.EACCES)
	}
	p, err := r.lookup.locate(q, unix.AT_FDCWD, name, false)
	if err != nil {
		return answered(err)
	}
	defer p.close()
	switch {
	case p.free:
		r.seen.note(q.makes(p))
		return fail(unix.EACCES)
	case p.exists:
		return fail(unix.EADDRINUSE)
	}
	switch r.files.zoneOf(q.makes(p), p) {
	case zoneGranted, zoneOpen:
		r.seen.touch()
		return r.bindLocal(q, p, name)
	case zoneFree:
		return r.bindLocal(q, p, name)
	default:
		r.files.attempt(q.makes(p), p)
		return fail(unix.EACCES)
	}
}

// bindLocal makes a socket where we looked. Nothing in the folders that the listener guards moves meanwhile.
func (r *reach) bindLocal(q *asked, p place, said string) answer {
	return r.withSocket(q, func(fd int) answer { return r.bindSocket(q, p, said, fd) })
}

func (r *reach) bindSocket(q *asked, p place, said string, fd int) answer {
	if !isLocal(fd) {
		return fail(unix.EINVAL)
	}
	b := binding{fd: fd, dir: p.dir, address: p.path, umask: q.who().umask, as: q.as}
	if !r.calls.alive(q.id) { // what was read of it is of another process
		return fail(unix.ESRCH)
	}
	if base, err := folder(q.pid, unix.AT_FDCWD); err == nil {
		b.say(said, base, p)
	}
	r.files.changes.Lock()
	defer r.files.changes.Unlock()
	if !p.isThere() {
		return q.judgeAnew()
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		return answered(err)
	}
	if err := b.bound(); err != nil {
		return answered(err)
	}
	r.note(fd, p, now)
	r.plan.note(q.makes(p), p)
	return value(0)
}

// note keeps which socket and which file a bind has made. In a folder where the kernel lets names be changed,
// the name can be that of another socket by now; so the file must be as young as the call.
func (r *reach) note(fd int, p place, since unix.Timespec) {
	var socket, st unix.Stat_t
	if unix.Fstat(fd, &socket) == nil {
		r.own.bound[socket.Ino] = true
	}
	h, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var x unix.Statx_t
	err = unix.Statx(h, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x)
	young := err == nil && x.Mask&unix.STATX_BTIME != 0 &&
		(x.Btime.Sec > since.Sec || x.Btime.Sec == since.Sec && int64(x.Btime.Nsec) >= since.Nsec)
	if !young || unix.Fstat(h, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK ||
		!r.own.keep(inode{uint64(st.Dev), st.Ino}, h) {
		_ = unix.Close(h) // nothing was written
	}
}

// binding is a socket that is to get a name.
type binding struct {
	fd      int
	dir     int    // where it is to lie
	address string // what the socket says its name is; it leads to dir
	from    string // the folder that a relative address begins in
	umask   uint32
	as      func(func() error) error
}

// say has the socket say its name as the command did, for programs ask it for that and look it up or remove it.
// What led here by links could lead elsewhere when the kernel looks; then the name is where they led.
func (b *binding) say(said, base string, p place) {
	whole := said
	if !filepath.IsAbs(said) {
		whole = base + "/" + said
	}
	for part := range strings.SplitSeq(said, "/") {
		if part == ".." {
			return
		}
	}
	if filepath.Clean(whole) == p.path && !isProcess(p.path) {
		b.address, b.from = said, base
	}
}

// bound binds the socket on a thread that is thrown away, for it can make nothing but a socket, and that nowhere but
// in the folder that was looked at: a bind follows whatever links there are by then.
func (b *binding) bound() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never lets go: the thread ends with this function
		done <- b.alone()
	}()
	return <-done
}

func (b *binding) alone() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // a working folder and a umask of its own
		return err
	}
	unix.Umask(int(b.umask))
	if !filepath.IsAbs(b.address) {
		dir, err := unix.Openat2(unix.AT_FDCWD, b.from, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY |
			unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return err
		}
		defer unix.Close(dir) //nolint:errcheck // nothing was written
		if err := unix.Fchdir(dir); err != nil {
			return err
		}
	}
	if err := onlySockets(b.dir); err != nil {
		return err
	}
	return b.as(func() error { return unix.Bind(b.fd, &unix.SockaddrUnix{Name: b.address}) })
}

// onlySockets lets this thread make nothing from now on but sockets in a folder.
func onlySockets(dir int) error {
	rules := unix.LandlockRulesetAttr{Handled_access_fs: fileRights(1)}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)),
		unsafe.Sizeof(rules.Handled_access_fs), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd)) //nolint:errcheck // nothing was written
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_MAKE_SOCK, Parent_fd: int32(dir)}
	if _, _, errno = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, fd, rulePathBeneath,
		uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); errno != 0 {
		return errno
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
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
