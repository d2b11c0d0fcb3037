//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// place is what a path of a watched call leads to, as the call's own process sees it.
type place struct {
	pid    int    // who named it
	path   string // absolute, without symbolic links as far as it exists
	dir    int    // the folder it lies in, opened; -1: none
	folder string // where that was when it was opened; "": nowhere
	name   string // in that folder
	exists bool
	mode   uint32 // what exists
	names  uint64 // how many it has
	id     inode
	// free: it lies where the command has a file system of its own, which nobody else sees. All
	// that is known is its path.
	free bool
	// unseen: the command's view has no such name, whatever lies there.
	unseen bool
	// bare: it has no name yet, and dir is the file itself.
	bare bool
}

// inode is what a file is, whatever it is called.
type inode struct{ dev, number uint64 }

// lookup follows paths as the process that named them would.
type lookup struct {
	own     int // our process
	private []string
	view    *view // what can be found; nil: everything
}

func (p *place) close() {
	if p.dir >= 0 {
		_ = unix.Close(p.dir) // nothing was written
		p.dir = -1
	}
}

// occupied reports whether something lies in a folder, so that nobody can remove it.
func (p *place) occupied(q *asked) bool {
	fd := -1
	err := q.as(func() (err error) {
		fd, err = openat(p.dir, p.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return false
	}
	dir := os.NewFile(uintptr(fd), p.path)
	defer dir.Close() //nolint:errcheck // nothing was written
	names, _ := dir.Readdirnames(1)
	return len(names) > 0
}

// isThere reports whether the folder of a place still is where it was: what was judged is the path.
func (p *place) isThere() bool {
	if p.folder == "" {
		return true
	}
	now, err := readlink(unix.AT_FDCWD, link(p.dir))
	return err == nil && now == p.folder
}

// isSame reports whether what lies at a place is what was judged, too.
func (p *place) isSame() bool {
	if p.name == "" || !p.isThere() {
		return p.name == "" && p.isThere() // it is open
	}
	if p.unseen {
		return true // to the command nothing is there
	}
	var st unix.Stat_t
	err := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if !p.exists {
		return err == unix.ENOENT
	}
	return err == nil && p.id == (inode{uint64(st.Dev), st.Ino}) && p.kind() == st.Mode&unix.S_IFMT &&
		p.names == uint64(st.Nlink)
}

func (p *place) kind() uint32 { return p.mode & unix.S_IFMT }

// may says whether who asks might do it without a sandbox: what could not be anyway is no
// attempt. That it lies on a read-only mount can be the sandbox.
func (p *place) may(name string, how uint32) bool {
	err := unix.Faccessat(p.dir, name, how, unix.AT_EACCESS)
	return err == nil || err == unix.EROFS && !readOnly(p.dir)
}

const maxPath = 4096

// text reads a string of a process. It reads to the ends of pages only: what follows may not
// be there.
func text(pid int, address uint64) (string, error) {
	buf := make([]byte, 0, 256)
	for len(buf) < maxPath {
		n := 256 - int(address%256)
		part := buf[len(buf) : len(buf)+min(n, cap(buf)-len(buf))]
		if len(part) == 0 {
			grown := make([]byte, len(buf), 2*cap(buf))
			copy(grown, buf)
			buf = grown
			continue
		}
		got, err := peek(pid, address, part)
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(part[:got], 0); i >= 0 {
			return string(buf[:len(buf)+i]), nil
		}
		buf = buf[:len(buf)+got]
		address += uint64(got)
	}
	return "", unix.ENAMETOOLONG
}

// peek reads memory of a process.
func peek(pid int, address uint64, into []byte) (int, error) {
	if address == 0 {
		return 0, unix.EFAULT
	}
	local := []unix.Iovec{{Base: &into[0], Len: uint64(len(into))}}
	remote := []unix.RemoteIovec{{Base: uintptr(address), Len: len(into)}}
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if err == nil && n == 0 {
		err = unix.EFAULT
	}
	return n, err
}

// errOdd: it is no file that has a place.
const errOdd = unix.EXDEV

const maxLinks = 40

// locate follows a path as the process that named it would, with its rights. The error is the one that it
// would get, as far as that can be known.
func (w *lookup) locate(q *asked, dir int, path string, follow bool) (p place, err error) {
	err = q.as(func() (err error) {
		p, err = w.follow(q.pid, dir, path, follow)
		return err
	})
	return p, err
}

func (w *lookup) follow(pid int, dir int, path string, follow bool) (place, error) {
	none := place{dir: -1}
	if path == "" {
		return none, unix.ENOENT
	}
	if path[0] != '/' {
		base, err := folder(pid, dir)
		if err != nil {
			return none, err
		}
		path = base + "/" + path
	}
	for range maxLinks {
		p, target, err := w.step(pid, path)
		if err != nil {
			return none, err
		}
		if target == "" || !follow {
			return p, nil
		}
		base := strings.TrimSuffix(p.path, p.name)
		p.close()
		if path = target; path[0] != '/' {
			path = base + target
		}
	}
	return none, unix.ELOOP
}

// folder is the folder that relative paths of a call begin in.
func folder(pid, dir int) (string, error) {
	link := "/proc/" + strconv.Itoa(pid) + "/cwd"
	if dir != unix.AT_FDCWD {
		link = "/proc/" + strconv.Itoa(pid) + "/fd/" + strconv.Itoa(dir)
	}
	base, err := readlink(unix.AT_FDCWD, link)
	if err != nil {
		return "", err
	}
	if base[0] != '/' || strings.HasSuffix(base, " (deleted)") {
		return "", unix.ENOENT
	}
	return base, nil
}

// step finds what the last name of a path is, and what it says if it is a symbolic link.
func (w *lookup) step(pid int, path string) (p place, target string, err error) {
	p.pid = pid
	path = itself(pid, path)
	parent, name := split(path)
	if troupe.WithinAny(filepath.Clean(parent), w.private) {
		p.path, p.dir, p.free = filepath.Join(parent, name), -1, true
		return p, "", nil
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if strings.HasPrefix(parent, "/proc/") {
		how.Resolve = 0 // by its links the process means its own folders
	}
	if p.dir, err = unix.Openat2(unix.AT_FDCWD, parent, &how); err != nil {
		if !w.view.reaches(parent) {
			err = unix.ENOENT
		}
		return p, "", err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	named := parent
	if parent, err = readlink(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(p.dir)); err != nil {
		return p, "", err
	}
	if w.view != nil && (named != parent || !w.view.shows(parent)) && !w.view.reaches(named) {
		return p, "", unix.ENOENT
	}
	own := "/proc/" + strconv.Itoa(w.own)
	if troupe.WithinAny(parent, w.private) {
		p.close()
		p.path, p.free = filepath.Join(parent, name), true
		return p, "", nil
	}
	if troupe.Within(parent, own) { // it came here by a link to itself, which to us means us
		p.close()
		return w.step(pid, "/proc/"+strconv.Itoa(pid)+strings.TrimPrefix(parent, own)+"/"+name)
	}
	if how.Resolve == 0 {
		if err = p.here(parent); err != nil {
			return p, "", err
		}
	}
	p.folder, p.name, p.path = parent, name, strings.TrimSuffix(parent, "/")+"/"+name
	if name == "." {
		p.path = parent
	}
	if w.view != nil && !w.view.shows(p.path) {
		p.unseen = true
		return p, "", nil
	}
	var st unix.Stat_t
	switch err := unix.Fstatat(p.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
	case unix.ENOENT:
		return p, "", nil
	default:
		return p, "", err
	}
	p.exists, p.mode, p.names, p.id = true, st.Mode, uint64(st.Nlink), inode{uint64(st.Dev), st.Ino}
	if p.kind() != unix.S_IFLNK {
		return p, "", nil
	}
	if target, err = readlink(p.dir, name); err != nil {
		return p, "", err
	}
	if strings.HasPrefix(parent, "/proc/") && isNumbers(name) &&
		(target[0] != '/' || strings.HasSuffix(target, " (deleted)")) {
		return p, "", errOdd // an open pipe, or a file that is no longer anywhere
	}
	return p, target, nil
}

// here has a folder that was found by the links of a process be the one that we find by its path. A process can have
// other mounts than we, where the same path is another folder; that one is refused, for what was judged is the path.
func (p *place) here(path string) error {
	h, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	if !same(h, p.dir) {
		_ = unix.Close(h) // nothing was written
		return unix.EACCES
	}
	p.close()
	p.dir = h
	return nil
}

// same reports whether two descriptors are of one file.
func same(a, b int) bool {
	var x, y unix.Stat_t
	return unix.Fstat(a, &x) == nil && unix.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// itself replaces what a process calls itself.
func itself(pid int, path string) string {
	me := "/proc/" + strconv.Itoa(pid)
	for _, name := range []string{"/proc/self", "/proc/thread-self"} {
		if troupe.Within(path, name) {
			return me + path[len(name):]
		}
	}
	if troupe.Within(path, "/dev/fd") {
		return me + "/fd" + path[len("/dev/fd"):]
	}
	return path
}

// split divides a path before its last name; "." is the name of what ends in a folder's own names.
func split(path string) (parent, name string) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "/", "."
	}
	parent, name = path[:i], path[i+1:]
	if name == "." || name == ".." {
		return path, "."
	}
	if parent == "" {
		parent = "/"
	}
	return parent, name
}

func isNumbers(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

func readlink(dir int, path string) (string, error) {
	var buf [maxPath]byte
	n, err := unix.Readlinkat(dir, path, buf[:])
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(buf[:n]), nil
}

// field reads a field of a process's status.
func field(pid int, name string) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
