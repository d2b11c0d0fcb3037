package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// fdDir is a folder by its handle. The handle gives no access to the folder's content, so
// that no more permissions are needed than for going through it.
type fdDir struct {
	fd   int
	path string
}

const dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openDir has the kernel refuse links on the whole way. Kernels before 5.6, and sandboxes
// that do not know the call, have it go part by part.
func openDir(path string) (dir, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
			Flags:   dirFlags,
			Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
	})
	switch {
	case err == nil:
		return &fdDir{fd: fd, path: path}, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOTDIR):
		return walkFD(path) // which also says what exactly is no folder
	case errors.Is(err, unix.ELOOP):
		return nil, ErrMoved
	default:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
}

func walkFD(path string) (dir, error) {
	top, names := parts(path)
	fd, err := again(func() (int, error) { return unix.Open(top, dirFlags, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: top, Err: err}
	}
	return walkDir(&fdDir{fd: fd, path: top}, names)
}

// again repeats a call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func (d *fdDir) wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(d.path, name), Err: err}
}

func (d *fdDir) lstat(name string) (os.FileInfo, error) {
	f, err := d.open(name, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return info, errors.Join(err, f.Close())
}

func (d *fdDir) sub(name string) (dir, error) {
	fd, err := again(func() (int, error) { return unix.Openat(d.fd, name, dirFlags, 0) })
	if err != nil {
		return nil, subError(d, d.path, name, err)
	}
	return &fdDir{fd: fd, path: filepath.Join(d.path, name)}, nil
}

func (d *fdDir) open(name string, flag int, perm os.FileMode) (*os.File, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(d.fd, name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC,
			uint32(perm.Perm()))
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, ErrMoved
	}
	if err != nil {
		return nil, d.wrap("open", name, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

// reader keeps a file out of Go's poller, which would ask the system twice more about each, for
// nothing: files on a disk are always ready. Others are read without waiting.
func (d *fdDir) reader(name string) (io.ReadCloser, int64, error) {
	fd, err := again(func() (int, error) { return unix.Openat(d.fd, name, readFlags, 0) })
	if errors.Is(err, unix.ELOOP) {
		return nil, 0, ErrMoved
	}
	if err != nil {
		return nil, 0, d.wrap("open", name, err)
	}
	r := &fdReader{fd: fd}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrSpecial
	}
	if err != nil {
		return nil, 0, errors.Join(err, r.Close())
	}
	return r, st.Size, nil
}

const readFlags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// fdReader reads a file by its handle.
type fdReader struct{ fd int }

func (r *fdReader) Read(p []byte) (int, error) {
	n, err := again(func() (int, error) { return unix.Read(r.fd, p) })
	switch {
	case err != nil:
		return 0, fmt.Errorf("read: %w", err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func (r *fdReader) Close() error { return unix.Close(r.fd) }

func (d *fdDir) unnamed(perm os.FileMode) (*os.File, error) {
	return d.open(".", unix.O_TMPFILE|unix.O_WRONLY, perm)
}

// give goes by the path under /proc: to link a handle itself takes a right that few have.
func (d *fdDir) give(f *os.File, name string) error {
	from := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	return d.wrap("link", name, unix.Linkat(unix.AT_FDCWD, from, d.fd, name, unix.AT_SYMLINK_FOLLOW))
}

func (d *fdDir) mkdir(name string) error {
	return d.wrap("mkdir", name, unix.Mkdirat(d.fd, name, 0o777))
}

func (d *fdDir) put(from, to string, replace bool) error {
	if replace {
		return d.wrap("rename", to, unix.Renameat(d.fd, from, d.fd, to))
	}
	err := unix.Renameat2(d.fd, from, d.fd, to, unix.RENAME_NOREPLACE)
	if err == nil || errors.Is(err, unix.EEXIST) {
		return d.wrap("rename", to, err)
	}
	// Not every file system knows how to.
	if err = unix.Linkat(d.fd, from, d.fd, to, 0); err == nil || errors.Is(err, unix.EEXIST) {
		if err == nil {
			_ = d.remove(from) // the file is there; a second name for it is only untidy
		}
		return d.wrap("link", to, err)
	}
	return putUnlinked(d, from, to)
}

// linkMost is more than any system lets a link hold.
const linkMost = 64 << 10

func (d *fdDir) readlink(name string) (string, error) {
	buf := make([]byte, linkMost)
	n, err := again(func() (int, error) { return unix.Readlinkat(d.fd, name, buf) })
	if err != nil {
		return "", d.wrap("readlink", name, err)
	}
	return string(buf[:n]), nil
}

func (d *fdDir) symlink(to, name string) error {
	return d.wrap("symlink", name, unix.Symlinkat(to, d.fd, name))
}

func (d *fdDir) rmdir(name string) error {
	return d.wrap("remove", name, unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR))
}

func (d *fdDir) remove(name string) error {
	return d.wrap("remove", name, unix.Unlinkat(d.fd, name, 0))
}

// handle is for a child between fork and exec: it has our handles then, and is its own self.
func (d *fdDir) handle() string { return "/proc/self/fd/" + strconv.Itoa(d.fd) }

func (d *fdDir) Close() error { return unix.Close(d.fd) }
