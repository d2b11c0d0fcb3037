//go:build amd64 || arm64

package sandbox

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A hidden file is covered by an empty one that looks like it: as long (it is one hole), as
// old and as executable, so that git, make and test -f find the file that they know. Nobody
// may read it, and nobody can change that, for where it lies nothing can be changed. It lies in
// a file system that each command has of its own, to which the covers are the only way.
//
// A root that keeps its powers over files reads also what nobody may. Its covers are mounted so
// that their owner is nobody it knows: powers reach no further than the users one knows.
//
// Where that cannot be had, the cover is a device that cannot be opened. It hides as well; but
// git takes a file that it knows for one that has changed.

// backstage is where the covers are made. A file system of the command's own is mounted over
// it afterwards: that costs nothing, and to unmount costs a tenth of a start.
const backstage = sharedMemory

// emptyFolder covers folders.
const emptyFolder = backstage + "/none"

// coverStep is how the names of steps begin that cover something.
const coverStep = "cover "

func coverName(i int) string { return backstage + "/" + strconv.Itoa(i) }

// likeness is what a cover has of the file beneath it.
type likeness struct {
	size  int64
	mode  uint32 // leave to execute, without which nothing may be done with it
	times [2]unix.Timespec
}

// likenessOf is nil for what is no file: its cover is a device.
func likenessOf(info os.FileInfo) *likeness {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return nil
	}
	return &likeness{st.Size, st.Mode & 0o111, [2]unix.Timespec{unix.Timespec(st.Atim), unix.Timespec(st.Mtim)}}
}

// coverage is how files can be covered on this machine.
type coverage struct {
	alike bool
	// strangers is a user namespace that does not know who owns the covers; nil where the
	// command has no powers over files.
	strangers *os.File
}

// tryCoverage covers a file and tries to read it. Mounts that change owners are younger than
// all else that is needed here, and some systems forbid one or the other mount.
func tryCoverage() coverage {
	c := coverage{alike: true}
	if privileged() {
		if c.strangers = strangers(); c.strangers == nil {
			return coverage{}
		}
	}
	b := newBirth()
	flags := b.namespaces()
	b.coverAlike([]mountPoint{{path: os.DevNull, like: &likeness{size: 1}}}, c.strangers)
	b.giveUp(keptBy(flags))
	read := int32(-1)
	b.try("read what is covered", unix.SYS_OPENAT, atCwd, b.text(os.DevNull), unix.O_RDONLY|unix.O_CLOEXEC)
	b.steps[len(b.steps)-1].into = &read
	err := tried(b, flags)
	if read >= 0 {
		_ = unix.Close(int(read)) // the child opened it for us
	}
	if err == nil && read < 0 {
		return c
	}
	if c.strangers != nil {
		_ = c.strangers.Close() // nothing was written
	}
	return coverage{}
}

// strangers makes a user namespace that knows us under another number, and nobody under ours.
// Its descriptor keeps it.
func strangers() *os.File {
	b := newBirth()
	fd := int32(-1)
	b.mapped(os.Geteuid()+1, os.Getegid()+1)
	b.add("hold the namespace", step{nr: unix.SYS_OPENAT, use: -1, into: &fd,
		args: [6]uintptr{atCwd, b.text("/proc/self/ns/user"), unix.O_RDONLY | unix.O_CLOEXEC}})
	err := tried(b, unix.CLONE_NEWUSER)
	if fd < 0 {
		return nil
	}
	f := os.NewFile(uintptr(fd), "user namespace") // the child opened it for us
	if err != nil {
		_ = f.Close() // nothing was written
		return nil
	}
	return f
}

// coverAlike covers files with what looks like them, and folders with an empty one. Until
// something is mounted there, the covers can be seen backstage.
func (b *birth) coverAlike(covers []mountPoint, strangers *os.File) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	fs, stage, empty := b.text("tmpfs"), b.text(backstage), uintptr(0)
	b.call("mount covers", unix.SYS_MOUNT, fs, stage, fs, flags, b.text("mode=711,size=4k"))
	for i, m := range covers {
		switch {
		case m.like != nil:
			b.makeAlike(coverName(i), m.like)
		case empty == 0:
			empty = b.text(emptyFolder)
			b.call("make covers", unix.SYS_MKDIRAT, atCwd, empty, 0)
		}
	}
	b.call("keep covers as they are", unix.SYS_MOUNT, fs, stage, fs, unix.MS_REMOUNT|unix.MS_RDONLY|flags, 0)
	for _, m := range covers {
		if m.like == nil {
			b.call(coverStep+m.path, unix.SYS_MOUNT, empty, b.text(m.path), 0, unix.MS_BIND, 0)
		}
	}
	if strangers != nil {
		b.disown(stage, strangers)
	}
	for i, m := range covers {
		if m.like != nil {
			b.call(coverStep+m.path, unix.SYS_MOUNT, b.text(coverName(i)), b.text(m.path), 0, unix.MS_BIND, 0)
		}
	}
}

// makeAlike makes one cover.
func (b *birth) makeAlike(path string, like *likeness) {
	const name = "make covers"
	b.add(name, step{nr: unix.SYS_OPENAT, use: -1, save: true,
		args: [6]uintptr{atCwd, b.text(path), unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_CLOEXEC,
			uintptr(like.mode)}})
	b.add(name, step{nr: unix.SYS_FTRUNCATE, use: 0, args: [6]uintptr{0, uintptr(like.size)}})
	b.add(name, step{nr: unix.SYS_UTIMENSAT, use: 0, args: [6]uintptr{0, 0, held(b, &like.times)}})
	b.add(name, step{nr: unix.SYS_CLOSE, use: 0})
}

// disown mounts what is mounted at a place once more there, so that its owner is a stranger.
func (b *birth) disown(at uintptr, strangers *os.File) {
	const name = "disown covers"
	b.keep = append(b.keep, strangers)
	empty := b.text("")
	attr := held(b, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(strangers.Fd())})
	b.add(name, step{nr: unix.SYS_OPEN_TREE, use: -1, save: true,
		args: [6]uintptr{atCwd, at, unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC}})
	b.add(name, step{nr: unix.SYS_MOUNT_SETATTR, use: 0, args: [6]uintptr{0, empty, unix.AT_EMPTY_PATH, attr,
		unsafe.Sizeof(unix.MountAttr{})}})
	b.add(name, step{nr: unix.SYS_MOVE_MOUNT, use: 0, args: [6]uintptr{0, empty, atCwd, at,
		unix.MOVE_MOUNT_F_EMPTY_PATH}})
	b.add(name, step{nr: unix.SYS_CLOSE, use: 0})
}

// coverFile puts in the place of a file a device that cannot be opened: neither by root, nor
// with other results than a refusal.
func (b *birth) coverFile(path string) {
	name := "cover " + path
	empty := b.text("")
	b.add(name, step{nr: unix.SYS_OPEN_TREE, use: -1, save: true,
		args: [6]uintptr{atCwd, b.text(os.DevNull), unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC}})
	attr := held(b, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV})
	b.add(name, step{nr: unix.SYS_MOUNT_SETATTR, use: 0, args: [6]uintptr{0, empty, unix.AT_EMPTY_PATH, attr,
		unsafe.Sizeof(unix.MountAttr{})}})
	b.add(name, step{nr: unix.SYS_MOVE_MOUNT, use: 0, args: [6]uintptr{0, empty, atCwd, b.text(path),
		unix.MOVE_MOUNT_F_EMPTY_PATH}})
	b.add(name, step{nr: unix.SYS_CLOSE, use: 0})
}

// coverFolder puts an empty one in the place of a folder.
func (b *birth) coverFolder(path string, like uintptr) uintptr {
	p := b.text(path)
	if like != 0 {
		b.call(coverStep+path, unix.SYS_MOUNT, like, p, 0, unix.MS_BIND, 0)
		return like
	}
	fs := b.text("tmpfs")
	b.call(coverStep+path, unix.SYS_MOUNT, fs, p, fs, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		b.text("mode=000,size=4k"))
	return p
}

// bySizeAndTime tells git in an environment to know a file by its size and time alone, and not by its number and owner,
// which a cover has of its own. It goes behind what git is told there already.
func bySizeAndTime(env []string) []string {
	const count = "GIT_CONFIG_COUNT"
	n := 0
	for _, entry := range env {
		value, ok := strings.CutPrefix(entry, count+"=")
		if !ok {
			continue
		}
		var err error
		if n, err = strconv.Atoi(value); value != "" && (err != nil || n < 0) {
			return env // git will not run with it, and says why
		}
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, count+"=") })
	for _, c := range [][2]string{{"core.checkStat", "minimal"}, {"core.trustctime", "false"}} {
		i := strconv.Itoa(n)
		env = append(env, "GIT_CONFIG_KEY_"+i+"="+c[0], "GIT_CONFIG_VALUE_"+i+"="+c[1])
		n++
	}
	return append(env, count+"="+strconv.Itoa(n))
}
