//go:build amd64 || arm64

package sandbox

import (
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// What follows is done in a command's place, as the same user, on folders and files that are
// held open: whatever the command does to its memory or to links meanwhile, it happens to
// what was looked at.

// openFor opens a granted file and gives it to the command.
func (w *watch) openFor(q *asked, p place) answer {
	if p.kind() == unix.S_IFIFO {
		return proceed() // we would wait for who reads it
	}
	const kept = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_APPEND |
		unix.O_NONBLOCK | unix.O_SYNC | unix.O_DSYNC | unix.O_NOATIME
	fd, err := unix.Openat(p.dir, p.name, int(q.openFlags&kept)|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY,
		q.openMode&0o7777&^umask(q.pid))
	if err != nil {
		return answered(err)
	}
	defer unix.Close(fd) //nolint:errcheck // the command has its own and writes by that
	return w.give(q.id, fd, q.openFlags)
}

func (w *watch) truncate(q *asked, p place) answer {
	fd, err := unix.Openat(p.dir, p.name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return answered(err)
	}
	defer unix.Close(fd) //nolint:errcheck // truncating tells of itself
	return answered(unix.Ftruncate(fd, int64(q.arg(q.mode))))
}

// make makes a granted folder, link or file.
func (w *watch) make(q *asked, p place) answer {
	mode := uint32(q.arg(q.mode)) &^ umask(q.pid)
	switch q.op {
	case opMkdir:
		return answered(unix.Mkdirat(p.dir, p.name, mode&0o7777))
	case opSymlink:
		target, err := text(q.pid, q.arg(q.path2))
		if err != nil {
			return answered(err)
		}
		return answered(unix.Symlinkat(target, p.dir, p.name))
	default:
		if kind := mode & unix.S_IFMT; kind != 0 && kind != unix.S_IFREG && kind != unix.S_IFIFO {
			return fail(unix.EPERM)
		}
		return answered(unix.Mknodat(p.dir, p.name, mode, 0))
	}
}

// move renames or links between places of which at least one was granted by name.
func (w *watch) move(q *asked, from, to place, flags uint32) answer {
	if q.op == opLink {
		return answered(unix.Linkat(from.dir, from.name, to.dir, to.name, 0))
	}
	return answered(unix.Renameat2(from.dir, from.name, to.dir, to.name, uint(flags&^unix.RENAME_WHITEOUT)))
}

// attribute answers calls that change modes, owners, times and extended attributes.
func (w *watch) attribute(q *asked) answer {
	h, err := w.hold(q)
	if err != nil {
		return answered(err)
	}
	defer unix.Close(h) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(h, &st); err != nil {
		return answered(err)
	}
	path, err := readlink(unix.AT_FDCWD, link(h))
	if err != nil {
		return answered(err)
	}
	if path[0] != '/' || st.Nlink == 0 { // a pipe, or a file without a name: nothing that lasts
		return w.apply(q, h, &st)
	}
	switch w.zone(path) {
	case zoneFree:
		if st.Mode&unix.S_IFMT == unix.S_IFCHR {
			return fail(unix.EPERM) // a device is everybody's
		}
		return w.apply(q, h, &st)
	case zoneWritable, zoneGranted:
		w.touch()
		return w.apply(q, h, &st)
	default:
		if euid := uint32(unix.Geteuid()); (euid == 0 || euid == st.Uid) && path != w.plan.temp && !isProcess(path) &&
			!readOnly(h) && !isChore(q.pid, troupe.OpWrite, path) {
			w.record(troupe.OpWrite, path)
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
func (w *watch) hold(q *asked) (int, error) {
	if q.path == none || q.op == opUtimens && q.arg(q.path) == 0 {
		return holdOpen(q)
	}
	name, err := text(q.pid, q.arg(q.path))
	if err != nil {
		w.unreadable(err)
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
	p, err := w.locate(q.pid, folderOf(q.arg(q.dir), q.dir), name, !q.nofollow && flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	if err == errOdd { //nolint:errorlint // it is ours and never wrapped
		return unix.Open(itself(q.pid, name), unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return -1, err
	}
	defer p.close()
	return unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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

// apply makes the call on what is held.
func (w *watch) apply(q *asked, h int, st *unix.Stat_t) answer {
	if !w.alive(q.id) {
		return fail(unix.ESRCH)
	}
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
		return w.times(q, h, st)
	default:
		return w.xattr(q, h, st)
	}
}

// times reads what the call says in its own unit, and sets it.
func (w *watch) times(q *asked, h int, st *unix.Stat_t) answer {
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

// xattr sets or removes an attribute of the user's own kind. Others are about what a file may
// do.
func (w *watch) xattr(q *asked, h int, st *unix.Stat_t) answer {
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
