//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// text is a string as the kernel takes it. It lives as long as the birth.
func (b *birth) text(s string) uintptr {
	p := append([]byte(s), 0)
	b.keep = append(b.keep, p)
	return uintptr(unsafe.Pointer(&p[0]))
}

// held is the address of something that lives as long as the birth.
func held[T any](b *birth, v *T) uintptr {
	b.keep = append(b.keep, v)
	return uintptr(unsafe.Pointer(v))
}

const atCwd = ^uintptr(99) // AT_FDCWD

// filter puts a seccomp filter in place. The flags say whether there is a listener.
func (b *birth) filter(prog []unix.SockFilter, flags uintptr) {
	b.keep = append(b.keep, prog)
	fprog := held(b, &unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]})
	b.add("put the filter in place", step{
		nr: unix.SYS_SECCOMP, use: -1, args: [6]uintptr{unix.SECCOMP_SET_MODE_FILTER, flags, fprog},
		listener: flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER != 0,
	})
}

// capabilities, as the kernel numbers them, that a confined root keeps: what root's ordinary
// work with files and processes of others needs. Without the rest it cannot mount, trace,
// load, configure the network or the machine, whatever the filter lets pass.
const keptCapabilities = 0xff | 1<<10 // CAP_CHOWN … CAP_SETUID, CAP_NET_BIND_SERVICE

const capSysAdmin = 21

// ownCapabilities are those of this process.
func ownCapabilities() (data [2]unix.CapUserData) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	_ = unix.Capget(&head, &data[0]) // a kernel without them has none
	return data
}

func privileged() bool { return ownCapabilities()[0].Effective&(1<<capSysAdmin) != 0 }

// giveUp leaves the capabilities in keep.
func (b *birth) giveUp(keep uint32) {
	data := ownCapabilities()
	data[0].Effective &= keep
	data[0].Permitted &= keep
	data[0].Inheritable &= keep
	data[1] = unix.CapUserData{}
	head := held(b, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3})
	b.call("give up capabilities", unix.SYS_CAPSET, head, held(b, &data))
}

// namespaces returns the flags that give a child its own mounts, and adds the steps with
// which it begins there. Who may not mount makes a user namespace as well, in which it is the
// same user and group as outside, and all others are nobody.
func (b *birth) namespaces() (flags uintptr) {
	flags = unix.CLONE_NEWNS
	if !privileged() {
		flags |= unix.CLONE_NEWUSER
		b.mapped(os.Geteuid(), os.Getegid())
	}
	// What is mounted outside later shows inside; never the other way round.
	b.call("keep mounts to itself", unix.SYS_MOUNT, b.text("none"), b.text("/"), 0, unix.MS_REC|unix.MS_SLAVE, 0)
	return flags
}

// mapped has a child that is in a new user namespace be a user and group there. Whatever the
// numbers are, outside it is what we are.
func (b *birth) mapped(user, group int) {
	b.write("/proc/self/setgroups", "deny")
	b.write("/proc/self/gid_map", fmt.Sprintf("%d %d 1", group, os.Getegid()))
	b.write("/proc/self/uid_map", fmt.Sprintf("%d %d 1", user, os.Geteuid()))
}

// keptBy are the capabilities that a command keeps in its namespaces.
func keptBy(namespaces uintptr) uint32 {
	if namespaces&unix.CLONE_NEWUSER != 0 {
		return 0
	}
	return keptCapabilities
}

// write writes a file whole.
func (b *birth) write(path, content string) {
	name := "write " + path
	b.add(name, step{nr: unix.SYS_OPENAT, use: -1, save: true,
		args: [6]uintptr{atCwd, b.text(path), unix.O_WRONLY | unix.O_CLOEXEC}})
	b.add(name, step{nr: unix.SYS_WRITE, use: 0, args: [6]uintptr{0, b.text(content), uintptr(len(content))}})
	b.add(name, step{nr: unix.SYS_CLOSE, use: 0})
}

// bind mounts a file or folder, with all that is mounted below it, onto itself; with readOnly
// so that nothing there can be changed.
func (b *birth) bind(path string, readOnly bool) {
	name := "bind " + path
	p := b.text(path)
	empty := b.text("")
	const follow = unix.AT_SYMLINK_NOFOLLOW
	b.add(name, step{nr: unix.SYS_OPEN_TREE, use: -1, save: true,
		args: [6]uintptr{atCwd, p, unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | follow}})
	if readOnly {
		attr := held(b, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		b.add(name, step{nr: unix.SYS_MOUNT_SETATTR, use: 0,
			args: [6]uintptr{0, empty, unix.AT_EMPTY_PATH | unix.AT_RECURSIVE, attr, unsafe.Sizeof(unix.MountAttr{})}})
	}
	b.add(name, step{nr: unix.SYS_MOVE_MOUNT, use: 0, args: [6]uintptr{0, empty, atCwd, p,
		unix.MOVE_MOUNT_F_EMPTY_PATH}})
	b.add(name, step{nr: unix.SYS_CLOSE, use: 0})
}

// room mounts an empty folder over one, with what is the command's own of it.
func (b *birth) room(r troupe.Room) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	name := coverStep + r.Folder
	fs, folder, own, empty := b.text("tmpfs"), b.text(r.Folder), b.text(r.Own), b.text("")
	b.add(name, step{nr: unix.SYS_OPEN_TREE, use: -1, save: true, args: [6]uintptr{atCwd, own,
		unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW}})
	b.call(name, unix.SYS_MOUNT, fs, folder, fs, flags, b.text("mode=700,size=4k"))
	b.call(name, unix.SYS_MKDIRAT, atCwd, own, 0o700)
	b.call(name, unix.SYS_MOUNT, fs, folder, fs, unix.MS_REMOUNT|unix.MS_RDONLY|flags, 0)
	b.add(name, step{nr: unix.SYS_MOVE_MOUNT, use: 0, args: [6]uintptr{0, empty, atCwd, own,
		unix.MOVE_MOUNT_F_EMPTY_PATH}})
	b.add(name, step{nr: unix.SYS_CLOSE, use: 0})
}

// private mounts an empty file system of the command's own. It is memory.
func (b *birth) private(path string) {
	fs := b.text("tmpfs")
	b.call("mount "+path, unix.SYS_MOUNT, fs, b.text(path), fs, unix.MS_NOSUID|unix.MS_NODEV,
		b.text("mode=1777,size=1g"))
}

// terminals mounts pseudo-terminals of the command's own, and what makes them.
func (b *birth) terminals() {
	fs, dir := b.text("devpts"), b.text(pseudoTerminals)
	b.call("mount "+pseudoTerminals, unix.SYS_MOUNT, fs, dir, fs, unix.MS_NOSUID|unix.MS_NOEXEC,
		b.text("newinstance,ptmxmode=0666,mode=620"))
	b.call("mount "+multiplexer, unix.SYS_MOUNT, b.text(pseudoTerminals+"/ptmx"), b.text(multiplexer), 0, unix.MS_BIND,
		0)
}

// ownProcesses mounts a view of processes in which there are those that the command may trace: by its Landlock domain
// none but its own.
func (b *birth) ownProcesses() {
	fs := b.text("proc")
	b.call("mount "+processes, unix.SYS_MOUNT, fs, b.text(processes), fs, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		b.text("hidepid=ptraceable"))
	// Which files others hold locks of, it tells nonetheless.
	b.try("cover locks", unix.SYS_MOUNT, b.text(os.DevNull), b.text(processes+"/locks"), 0, unix.MS_BIND, 0)
}

// tryProcesses reports whether a child can have that. In a user namespace it cannot.
func tryProcesses() bool {
	if !privileged() {
		return false
	}
	b := newBirth()
	flags := b.namespaces()
	b.ownProcesses()
	return tried(b, flags) == nil
}

// grant grants what only the child can see.
func (b *birth) grant(r *ruleset, path string, rights uint64) {
	attr := &unix.LandlockPathBeneathAttr{Allowed_access: rights}
	name := "grant " + path
	b.add(name, step{nr: unix.SYS_OPENAT, use: -1, save: true, into: &attr.Parent_fd,
		args: [6]uintptr{atCwd, b.text(path), unix.O_PATH | unix.O_CLOEXEC}})
	b.call(name, unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), rulePathBeneath, held(b, attr), 0)
	b.add(name, step{nr: unix.SYS_CLOSE, use: 0})
}

// limit sets a resource limit of the child itself.
func (b *birth) limit(resource int, l *unix.Rlimit) {
	b.try("set a limit", unix.SYS_PRLIMIT64, 0, uintptr(resource), held(b, l), 0)
}

// files puts the descriptors where the command expects them. The child has a table of its
// own by then; those of ours that it does not get close when it becomes the command.
func (b *birth) files(fds []int) {
	next := len(fds)
	for _, fd := range fds {
		next = max(next, fd+1)
	}
	from := make([]int, len(fds))
	for i, fd := range fds {
		from[i] = fd
		if fd >= 0 && fd < i { // its place is taken before it is its turn
			b.call("pass a file", unix.SYS_DUP3, uintptr(fd), uintptr(next), unix.O_CLOEXEC)
			from[i] = next
			next++
		}
	}
	for i, fd := range from {
		switch {
		case fd < 0:
			b.try("close", unix.SYS_CLOSE, uintptr(i))
		case fd == i:
			b.call("pass a file", unix.SYS_FCNTL, uintptr(fd), unix.F_SETFD, 0)
		default:
			b.call("pass a file", unix.SYS_DUP3, uintptr(fd), uintptr(i), 0)
		}
	}
	for i := len(fds); i < 3; i++ {
		b.try("close", unix.SYS_CLOSE, uintptr(i))
	}
	// Also what others left open for us.
	b.try("close the rest", unix.SYS_CLOSE_RANGE, uintptr(max(len(fds), 3)), uintptr(^uint32(0)), 0)
}
