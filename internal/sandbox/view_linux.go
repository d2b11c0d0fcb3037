//go:build amd64 || arm64

package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// view is what a command finds of the machine's files where it is said what it reads: that, and no other name. What
// Landlock refuses to open can be looked at all the same (its size and times), watched for changes, and asked where it
// leads if it is a link; what is not there cannot.
type view struct {
	whole   []string // is there as it is: what may be read, and what the machine says of itself
	folders map[string]bool
	links   map[string]string // what they say
	late    []string          // what may come to be
}

func newView(p *plan, c troupe.Confinement) *view {
	v := &view{folders: make(map[string]bool), links: make(map[string]string), late: slices.Clone(p.late)}
	for _, a := range c.Granted {
		v.late = append(v.late, a.Path)
	}
	machine := []string{processes, "/dev", "/sys"}
	v.whole = slices.Clone(machine)
	for _, path := range p.readable {
		if !troupe.WithinAny(path, machine) && !troupe.WithinAny(path, p.hidden) {
			v.whole = append(v.whole, path)
		}
	}
	for _, path := range v.whole {
		v.lead(path)
	}
	names := slices.Clone(c.Named)
	if top, err := os.ReadDir("/"); err == nil {
		for _, e := range top {
			if e.Type()&os.ModeSymlink != 0 { // "/bin", "/lib"
				names = append(names, "/"+e.Name())
			}
		}
	}
	for _, path := range names {
		v.lead(filepath.Clean(path))
	}
	return v
}

// lead has the folders and links be there by which a path is found.
func (v *view) lead(path string) {
	walk(path, func(at, target string, link bool) bool {
		inside := troupe.WithinAny(at, v.whole)
		if link {
			if !inside {
				v.links[at] = target
			}
			return true
		}
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() {
			return false
		}
		if !inside {
			v.folders[at] = true
		}
		return true
	})
}

// reaches reports whether a path leads nowhere but by names that a view shows.
func (v *view) reaches(path string) bool {
	ok := true
	if v != nil {
		walk(path, func(at, _ string, _ bool) bool {
			ok = v.shows(at)
			return ok
		})
	}
	return ok
}

// walk goes the way that a path leads, with each link that stands there, for as long as it is told to.
func walk(path string, step func(at, target string, link bool) bool) {
	at, rest := "/", pieces(path)
	for links := 0; len(rest) > 0 && links < maxLinks; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		at = filepath.Join(at, name)
		target, err := readlink(unix.AT_FDCWD, at)
		if !step(at, target, err == nil) {
			return
		}
		if err != nil {
			continue // it is no link, or not there
		}
		links++
		rest = append(pieces(target), rest...)
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at = "/"
		}
	}
}

// shows reports whether a path, resolved as far as it exists, is one that the command can find.
func (v *view) shows(path string) bool {
	_, link := v.links[path]
	return link || path == "/" || v.folders[path] || troupe.WithinAny(path, v.whole) || troupe.WithinAny(path, v.late)
}

// holds reports whether what lies at a path is shown as it is on the machine.
func (v *view) holds(path string) bool { return v == nil || troupe.WithinAny(path, v.whole) }

// enter puts a file system in the place of "/" that has what a view shows. What is mounted elsewhere is not told by
// /proc/self/mountinfo then.
func (b *birth) enter(v *view, umask uint32) {
	const name = "make a root"
	empty, here := b.text(""), b.text(".")
	b.root()
	b.call(name, unix.SYS_UMASK, 0)
	relative := func(path string) uintptr { return b.text(path[1:]) }
	for _, path := range slices.Sorted(maps.Keys(v.folders)) {
		b.call(name, unix.SYS_MKDIRAT, atCwd, relative(path), 0o755)
	}
	for _, path := range slices.Sorted(maps.Keys(v.links)) {
		b.call(name, unix.SYS_SYMLINKAT, b.text(v.links[path]), atCwd, relative(path))
	}
	for _, path := range v.whole {
		info, err := os.Lstat(path)
		if err != nil {
			continue // it was there a moment ago
		}
		at, gone := relative(path), coverStep+path
		if info.IsDir() {
			b.call(name, unix.SYS_MKDIRAT, atCwd, at, 0o755)
		} else {
			b.call(name, unix.SYS_MKNODAT, atCwd, at, unix.S_IFREG|0o644, 0)
		}
		b.add(gone, step{nr: unix.SYS_OPEN_TREE, use: -1, save: true, args: [6]uintptr{atCwd, b.text(path),
			unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW}})
		b.add(gone, step{nr: unix.SYS_MOVE_MOUNT, use: 0, args: [6]uintptr{0, empty, atCwd, at,
			unix.MOVE_MOUNT_F_EMPTY_PATH}})
		b.add(gone, step{nr: unix.SYS_CLOSE, use: 0})
	}
	attr := held(b, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	b.call(name, unix.SYS_MOUNT_SETATTR, atCwd, here, 0, attr, unsafe.Sizeof(unix.MountAttr{}))
	b.call(name, unix.SYS_CHROOT, here)
	b.call(name, unix.SYS_UMASK, uintptr(umask))
}

// root mounts an empty file system over "/" and goes there; until the child takes it as its root, "/" is the machine's.
func (b *birth) root() {
	const name = "make a root"
	fs := b.text("tmpfs")
	b.call(name, unix.SYS_MOUNT, fs, b.text("/"), fs, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		b.text("mode=755,size=1m"))
	b.call(name, unix.SYS_CHDIR, b.text("/..")) // what is above a root is what was mounted over it
}

// tryRoot reports whether a child can have that.
func tryRoot() bool {
	b := newBirth()
	flags := b.namespaces()
	b.root()
	fd := int32(-1)
	b.add("hold it", step{nr: unix.SYS_OPENAT, use: -1, into: &fd,
		args: [6]uintptr{atCwd, b.text("."), unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC}})
	b.call("enter it", unix.SYS_CHROOT, b.text("."))
	err := tried(b, flags)
	if fd < 0 {
		return false
	}
	defer unix.Close(int(fd)) //nolint:errcheck // the child opened it for us, and nothing was written
	var made, machine unix.Stat_t
	return err == nil && unix.Fstat(int(fd), &made) == nil && unix.Stat("/", &machine) == nil && made.Dev != machine.Dev
}
