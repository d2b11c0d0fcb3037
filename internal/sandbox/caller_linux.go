//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// who is the process that asked for a change, as far as what is made for it depends on it.
type who struct {
	umask    uint32
	user     uint32 // for access to files
	group    uint32
	groups   []uint32
	powers   uint64 // capabilities that are in effect
	known    bool
	stranger bool // it is another user than this process
}

// umask is that of this process, which nothing here changes. The system applies it to what is made here too. It is read
// of the thread that asks: the first one, by whose number the process goes, may be one that has a umask of its own
// (binding.alone), and that one runs nothing else then.
func umask() uint32 { return whoAt("thread-self").umask }

// whoIs reads it. Of a process of which nothing can be read, nothing is known.
func whoIs(pid int) who { return whoAt(strconv.Itoa(pid)) }

func whoAt(name string) who {
	w := who{umask: 0o77}
	var buf [4096]byte
	fd, err := unix.Open("/proc/"+name+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return w
	}
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd) // nothing was written
	if err != nil {
		return w
	}
	found := 0
	for line := range bytes.Lines(buf[:n]) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "Umask":
			v, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 8, 32)
			if err == nil {
				w.umask = uint32(v)
			}
		case "Uid", "Gid": // real, effective, saved, for files
			ids := numbers32(value)
			if len(ids) != 4 {
				return w
			}
			found++
			if string(name) == "Uid" {
				w.user = ids[3]
			} else {
				w.group = ids[3]
			}
		case "Groups":
			w.groups = numbers32(value)
			found++
		case "CapEff":
			v, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
			if err != nil {
				return w
			}
			w.powers = v
			found++
		}
	}
	w.known = found == 4
	w.stranger = w.user != uint32(unix.Geteuid()) || w.group != uint32(unix.Getegid())
	return w
}

func numbers32(text []byte) []uint32 {
	var out []uint32
	for f := range bytes.FieldsSeq(text) {
		n, err := strconv.ParseUint(string(f), 10, 32)
		if err != nil {
			return nil
		}
		out = append(out, uint32(n))
	}
	return out
}

// powersOverFiles are CAP_CHOWN to CAP_FSETID.
const powersOverFiles = 0x1f

// as does something as the user that asked, with no power over files that it lacks. A command of root can become
// anybody, and can give up what root may; what is done in its place must not be done with more than it has left.
// Nobody else can become another.
func (w *who) as(do func() error) error {
	if unix.Geteuid() != 0 {
		return do()
	}
	if !w.known {
		return unix.EACCES
	}
	lacks := uint32(powersOverFiles &^ w.powers)
	if !w.stranger && lacks == 0 {
		return do()
	}
	runtime.LockOSThread()
	own, powers := ownGroups(), ownCapabilities()
	var err error
	if w.stranger {
		err = becomes(w.user, w.group, w.groups)
	}
	if err == nil {
		fewer := ownCapabilities() // without those that went with the user
		fewer[0].Effective &^= lacks
		err = takesEffect(fewer)
	}
	if err == nil {
		err = do()
	}
	if (!w.stranger || becomes(0, uint32(unix.Getegid()), own) == nil) && takesEffect(powers) == nil {
		runtime.UnlockOSThread() // else the thread ends with its goroutine, and nobody gets it
	}
	return err
}

// takesEffect settles which of its powers this thread uses.
func takesEffect(data [2]unix.CapUserData) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capset(&head, &data[0])
}

// becomes changes this thread alone, which the runtime's own functions do not.
func becomes(user, group uint32, groups []uint32) error {
	// The user last on the way down, first on the way up: groups are changed with its powers.
	if user == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0) // it tells the one before, not whether it went well
	}
	var at unsafe.Pointer
	if len(groups) > 0 {
		at = unsafe.Pointer(&groups[0])
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(at), 0); errno != 0 {
		return errno
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(group), 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(user), 0, 0)
	is, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)
	if uint32(is) != user {
		return unix.EPERM
	}
	return nil
}

func ownGroups() []uint32 {
	list, err := unix.Getgroups()
	if err != nil {
		return nil
	}
	out := make([]uint32, 0, len(list))
	for _, g := range list {
		out = append(out, uint32(g))
	}
	return slices.Clip(out)
}
