//go:build amd64 || arm64

package sandbox

import (
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// What follows is done in a command's place, as the same user, on folders and files that are
// held open: whatever the command does to its memory or to links meanwhile, it happens to
// what was looked at.

// passed are the flags of an open that are passed on. How the last name is followed is settled by
// then, and a descriptor becomes the command's by another call.
const passed = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK |
	unix.O_SYNC | unix.O_DSYNC | unix.O_NOATIME | unix.O_DIRECT | unix.O_TMPFILE

// openFor opens a file and gives it to the command.
func (f *files) openFor(q *asked, p place) (a answer, now bool) {
	if kind := p.kind(); kind == unix.S_IFCHR || kind == unix.S_IFBLK {
		return proceed(), true // a device is no file; nobody is granted any
	}
	// Whatever lies there by now, nobody waits for it here: what can only be had by waiting is waited for
	// beside the other calls.
	flags := int(q.openFlags&passed) | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK
	fd := -1
	if q.openFlags&unix.O_CREAT != 0 && !p.exists {
		flags |= unix.O_EXCL // leave to make a file is none to write one that is there by now
	}
	err := f.make(q, p.isThere, func(w *who) (err error) {
		mode := uint32(0)
		if q.creates() {
			mode = q.openMode & 0o1777 &^ w.umask
		}
		fd, err = openat(p.dir, p.name, flags, mode)
		switch {
		case err != nil:
		case !p.exists && mode&^f.umask() != mode:
			err = unix.Fchmod(fd, mode)
		case p.setsID() && flags&unix.O_ACCMODE != unix.O_RDONLY:
			// As a write would; but not one of root, nor one to what is mapped into memory.
			err = unix.Fchmod(fd, p.mode&0o1777)
		}
		return err
	})
	if err == nil && !p.exists {
		f.plan.note(at(troupe.OpCreate, p), p)
	}
	if fd >= 0 {
		defer unix.Close(fd) //nolint:errcheck // the command has its own and writes by that
	}
	switch {
	case err == unix.EEXIST && q.openFlags&unix.O_EXCL == 0: //nolint:errorlint // the system's own
		return q.judgeAnew(), true
	//nolint:errorlint // as above
	case (err == unix.EAGAIN || err == unix.ENXIO) && q.openFlags&unix.O_NONBLOCK == 0:
		return f.openPipe(q, p)
	case err != nil:
		return answered(err), true
	}
	if err := asAsked(fd, q.openFlags); err != nil {
		return answered(err), true
	}
	return f.calls.give(q.id, fd, q.openFlags), true
}

// asAsked takes back that nothing is waited for, unless that was asked for.
func asAsked(fd int, flags uint32) error {
	if flags&unix.O_NONBLOCK != 0 {
		return nil
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, int(flags&(unix.O_APPEND|unix.O_DIRECT|unix.O_NOATIME)))
	return err
}

// openat opens, however often a signal comes between.
func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// pipeLook is how often it is looked whether what has to be waited for is there by now: who reads a named
// pipe, or the end of another's lease of a file.
const pipeLook = 5 * time.Millisecond

// openPipe waits for it beside the other calls. It is held meanwhile: whatever gets its name is not opened.
func (f *files) openPipe(q *asked, p place) (a answer, now bool) {
	h, err := f.holdFor(q, p)
	if err != nil {
		return answered(err), true
	}
	id, flags := q.id, q.openFlags
	const makes = unix.O_CREAT | unix.O_EXCL | unix.O_TMPFILE
	how := int(flags&passed)&^makes | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	f.calls.helpers.Go(func() {
		defer unix.Close(h) //nolint:errcheck // nothing was written
		for {
			fd := -1
			err := f.make(q, nil, func(*who) (err error) {
				fd, err = openat(unix.AT_FDCWD, link(h), how, 0)
				return err
			})
			switch {
			case err == nil:
				if err = asAsked(fd, flags); err == nil {
					f.calls.send(id, f.calls.give(id, fd, flags))
				} else {
					f.calls.send(id, answered(err))
				}
				_ = unix.Close(fd) // the command has its own
				return
			case err != unix.ENXIO && err != unix.EAGAIN: //nolint:errorlint // it is the system's own
				f.calls.send(id, answered(err))
				return
			case !f.calls.alive(id):
				return
			}
			select {
			case <-f.calls.over:
				return
			case <-time.After(pipeLook):
			}
		}
	})
	return answer{}, false
}

// holdFor holds what was looked at, and nothing that has its name by now.
func (f *files) holdFor(q *asked, p place) (h int, err error) {
	err = f.make(q, p.isThere, func(*who) (err error) {
		h, err = openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(h, &st); err != nil || p.exists && p.id != (inode{uint64(st.Dev), st.Ino}) {
		_ = unix.Close(h) // nothing was written
		return -1, unix.EACCES
	}
	return h, nil
}

// make makes a change as the user that asked for it, while no folder is moved. The call still waits
// then, so that what was read of its memory is what it said. What was judged must still be so: until then another
// command could give a folder another name.
func (f *files) make(q *asked, still func() bool, do func(w *who) error) error {
	f.changes.RLock()
	defer f.changes.RUnlock()
	if still != nil && !still() {
		q.anew = true
		return unix.EBUSY
	}
	return f.makeAlone(q, do)
}

func (f *files) makeAlone(q *asked, do func(w *who) error) error {
	if q.creates() || unix.Geteuid() == 0 { // else nothing depends on it
		q.who()
	}
	if !f.calls.alive(q.id) {
		return unix.ESRCH
	}
	return q.as(func() error { return do(&q.by) })
}

func (f *files) truncate(q *asked, p place) answer {
	return answered(f.make(q, p.isThere, func(*who) error {
		fd, err := openat(p.dir, p.name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd) //nolint:errcheck // truncating tells of itself
		return unix.Ftruncate(fd, int64(q.arg(q.mode)))
	}))
}

func (f *files) remove(q *asked, p place, flags int) answer {
	return answered(f.make(q, p.isThere, func(*who) error { return unix.Unlinkat(p.dir, p.name, flags) }))
}

// create makes a folder, link or file without opening it.
func (f *files) create(q *asked, p place) answer {
	err := f.make(q, p.isThere, func(w *who) (err error) {
		mode := uint32(q.arg(q.mode)) &^ w.umask
		kind := mode & unix.S_IFMT
		switch {
		case q.op == opSymlink:
			return unix.Symlinkat(q.says, p.dir, p.name)
		case q.op == opMkdir:
			mode = f.plan.modeOf(p.path, mode)
			err = unix.Mkdirat(p.dir, p.name, mode)
		case kind != 0 && kind != unix.S_IFREG && kind != unix.S_IFIFO && kind != unix.S_IFSOCK:
			return unix.EPERM
		default:
			err = unix.Mknodat(p.dir, p.name, mode, 0)
		}
		if mode &= 0o1777; err == nil && mode&^f.umask() != mode {
			err = unix.Fchmodat(p.dir, p.name, mode, 0) // nobody but a listener can have put a link there
		}
		return err
	})
	if err == nil {
		f.plan.note(q.makes(p), p)
	}
	return answered(err)
}

// move renames or links. What the command could change before stays its own.
func (f *files) move(q *asked, from, to place, flags uint32) (err error) {
	_, own := f.plan.own(from)
	own = own || from.bare || f.plan.zone(from.path) != zoneOutside && f.plan.zone(from.path) != zoneProtected
	puts := q.puts(from, to)
	if q.op == opLink {
		err = f.make(q, func() bool { return from.isSame() && to.isSame() }, func(*who) error {
			if from.name == "" { // a file that is open
				return unix.Linkat(unix.AT_FDCWD, link(from.dir), to.dir, to.name, unix.AT_SYMLINK_FOLLOW)
			}
			return unix.Linkat(from.dir, from.name, to.dir, to.name, 0)
		})
	} else {
		err = f.makeAlone(q, func(*who) error {
			return unix.Renameat2(from.dir, from.name, to.dir, to.name, uint(flags&^unix.RENAME_WHITEOUT))
		})
	}
	if err == nil && own && !to.exists {
		f.plan.note(puts, to)
	}
	return err
}

// attribute answers calls that change modes, owners, times and extended attributes.
func (f *files) attribute(q *asked) answer {
	h := -1
	err := q.as(func() (err error) {
		h, err = f.hold(q)
		return err
	})
	if err != nil {
		return answered(err)
	}
	defer func() { _ = unix.Close(h) }() // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(h, &st); err != nil {
		return answered(err)
	}
	path, err := readlink(unix.AT_FDCWD, link(h))
	if err != nil {
		return answered(err)
	}
	if q.op == opChmod && q.arg(q.mode)&setIDs != 0 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return f.seen.refuseID(path, &st)
	}
	if path[0] != '/' || st.Nlink == 0 { // a pipe, or a file without a name: nothing that lasts
		return f.apply(q, h, &st)
	}
	p := place{path: path, exists: true, mode: st.Mode, names: uint64(st.Nlink), id: inode{uint64(st.Dev), st.Ino}}
	z := f.zoneOf(at(troupe.OpWrite, p), p)
	if z == zoneFree || z == zoneOpen || z == zoneGranted {
		if h, err = f.here(q, h, path); err != nil {
			return answered(err)
		}
	}
	switch z {
	case zoneFree:
		if st.Mode&unix.S_IFMT == unix.S_IFCHR && !troupe.WithinAny(path, f.lookup.private) {
			return fail(unix.EPERM) // a device is everybody's
		}
		return f.apply(q, h, &st)
	case zoneOpen, zoneGranted:
		f.seen.touch()
		return f.apply(q, h, &st)
	default:
		if euid := uint32(unix.Geteuid()); (euid == 0 || euid == st.Uid) && path != f.plan.temp && !isProcess(path) &&
			!readOnly(h) && !isChore(q.pid, troupe.OpWrite, path) {
			f.seen.record(troupe.OpWrite, path)
		}
		return fail(unix.EPERM)
	}
}

func link(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// readOnly reports whether a file lies where nobody can change anything, with or without a
// sandbox. That of a command's own mount says nothing.
func readOnly(fd int) bool {
	path, err := readlink(unix.AT_FDCWD, link(fd))
	if err != nil {
		return false
	}
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

// hold opens what a call is about, without using it.
func (f *files) hold(q *asked) (int, error) {
	if q.path == none || q.op == opUtimens && q.arg(q.path) == 0 {
		return holdOpen(q)
	}
	name, err := text(q.pid, q.arg(q.path))
	if err != nil {
		f.unreadable(err, q.arg(q.path))
		return -1, err
	}
	var flags uint32
	if q.flags != none {
		flags = q.flagBits()
	}
	if name == "" && flags&unix.AT_EMPTY_PATH != 0 {
		if q.dir != none && int32(q.arg(q.dir)) == unix.AT_FDCWD {
			name = "."
		} else {
			return holdOpen(q)
		}
	}
	p, err := f.lookup.follow(q.pid, folderOf(q.arg(q.dir), q.dir), name,
		!q.nofollow && flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	if err == errOdd { //nolint:errorlint // it is ours and never wrapped
		return unix.Open(itself(q.pid, name), unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return -1, err
	}
	defer p.close()
	if p.free {
		return holdPrivate(q.pid, p.path)
	}
	if p.unseen {
		return -1, unix.ENOENT
	}
	return unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// holdPrivate holds what lies in a file system that only the command sees. Nothing on the way
// leads out of what it sees.
func holdPrivate(pid int, path string) (int, error) {
	root, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/root", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root) //nolint:errcheck // nothing was written
	return unix.Openat2(root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
}

// holdOpen holds a file that the command has open.
func holdOpen(q *asked) (int, error) {
	h, err := unix.Open("/proc/"+strconv.Itoa(q.pid)+"/fd/"+strconv.Itoa(int(int32(q.arg(q.dir)))),
		unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		err = unix.EBADF
	}
	return h, err
}

// here is a file that is held as we find it by its path, or as the command does if only it sees what lies there. One
// that is another where we look was opened by way of other mounts, and is not what was judged. What was held is
// closed if it is another descriptor, and kept if it is an error.
func (f *files) here(q *asked, h int, path string) (found int, err error) {
	if troupe.WithinAny(path, f.lookup.private) {
		found, err = holdPrivate(q.pid, path)
	} else {
		found, err = unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	}
	if err != nil {
		return h, err
	}
	if !same(found, h) {
		_ = unix.Close(found) // nothing was written
		return h, unix.EACCES
	}
	_ = unix.Close(h) // as above
	return found, nil
}

// apply makes the call on what is held, as the user that asked.
func (f *files) apply(q *asked, h int, st *unix.Stat_t) (a answer) {
	if err := f.makeAlone(q, func(*who) error {
		a = f.applied(q, h, st)
		return nil
	}); err != nil {
		return answered(err)
	}
	return a
}

func (f *files) applied(q *asked, h int, st *unix.Stat_t) answer {
	switch q.op {
	case opChmod:
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return fail(unix.EOPNOTSUPP)
		}
		return answered(unix.Chmod(link(h), uint32(q.arg(q.mode))&0o7777))
	case opChown:
		return answered(unix.Fchownat(h, "", int(int32(q.arg(q.mode))), int(int32(q.arg(q.mode+1))),
			unix.AT_EMPTY_PATH))
	case opUtime, opUtimes, opUtimens:
		return f.times(q, h, st)
	default:
		return f.xattr(q, h, st)
	}
}

// times reads what the call says in its own unit, and sets it.
func (f *files) times(q *asked, h int, st *unix.Stat_t) answer {
	var ts *[2]unix.Timespec
	if at := q.arg(q.mode); at != 0 {
		var raw [32]byte
		size := 32
		if q.op == opUtime {
			size = 16
		}
		if _, err := peek(q.pid, at, raw[:size]); err != nil {
			return answered(err)
		}
		ts = &[2]unix.Timespec{}
		for i := range ts {
			switch q.op {
			case opUtime:
				ts[i].Sec = int64(word(raw[:], 8*i))
			case opUtimes:
				ts[i] = unix.Timespec{Sec: int64(word(raw[:], 16*i)), Nsec: 1000 * int64(word(raw[:], 16*i+8))}
			default:
				ts[i] = unix.Timespec{Sec: int64(word(raw[:], 16*i)), Nsec: int64(word(raw[:], 16*i+8))}
			}
		}
	}
	path, dir, flags := link(h), atCwd, uintptr(0)
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		path, dir, flags = "", uintptr(h), unix.AT_EMPTY_PATH
	}
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return answered(err)
	}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, dir, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(ts)),
		flags, 0, 0)
	if errno != 0 {
		return fail(errno)
	}
	return value(0)
}

const maxXattr = 64 << 10

// xattr sets or removes an attribute of the user's own kind. Others are about what a file may do.
func (f *files) xattr(q *asked, h int, st *unix.Stat_t) answer {
	name, err := text(q.pid, q.arg(q.mode))
	if err != nil {
		return answered(err)
	}
	if !strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "system.posix_acl_") {
		return fail(unix.EPERM)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return fail(unix.EPERM)
	}
	if q.op == opRemovexattr {
		return answered(unix.Removexattr(link(h), name))
	}
	size := q.arg(q.mode + 2)
	if size > maxXattr {
		return fail(unix.E2BIG)
	}
	data := make([]byte, size)
	if size > 0 {
		if n, err := peek(q.pid, q.arg(q.mode+1), data); err != nil || n < len(data) {
			return fail(unix.EFAULT)
		}
	}
	return answered(unix.Setxattr(link(h), name, data, int(q.arg(q.mode+3))))
}
