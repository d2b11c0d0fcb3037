package front

import (
	"encoding/binary"
	"os"
	"slices"
	"syscall"
)

// stamp tells a file as it is from every other one, and from itself before and after it was changed: the last time is
// when its content, rights or names changed, and no program can set that.
type stamp [6]int64

const (
	stampMode    = 2
	stampChanged = 5
)

func stampOf(st *syscall.Stat_t) stamp {
	return stamp{int64(st.Dev), int64(st.Ino), int64(st.Mode), st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

func (s stamp) regular() bool { return s[stampMode]&syscall.S_IFMT == syscall.S_IFREG }

// stampAt is that of what a path leads to.
func stampAt(path string) (stamp, bool) {
	var st syscall.Stat_t
	for {
		switch err := syscall.Stat(path, &st); err {
		case nil:
			return stampOf(&st), true
		case syscall.EINTR:
		default:
			return stamp{}, false
		}
	}
}

// stampOfOpen is that of an open file.
func stampOfOpen(info os.FileInfo) (stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stampOf(st), true
}

// holdsStill reports whether the times of files there are this machine's own, and tell of each change at once: not so
// on file systems of networks and of other programs.
func holdsStill(path string) bool {
	var st syscall.Statfs_t
	if syscall.Statfs(path, &st) != nil {
		return false
	}
	const ext, xfs, btrfs, tmpfs, zfs, f2fs, overlay, bcachefs = 0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x2fc12fc1,
		0xf2f52010, 0x794c7630, 0xca451a4e
	return slices.Contains([]uint32{ext, xfs, btrfs, tmpfs, zfs, f2fs, overlay, bcachefs}, uint32(st.Type))
}

// reader says by which program, and with whose rights, files are read: what another one has made of a file, or was
// allowed to read, counts for nothing.
func reader() (string, bool) {
	program, ok := stampAt("/proc/self/exe")
	groups, err := syscall.Getgroups()
	if !ok || err != nil {
		return "", false
	}
	out := make([]byte, 0, 8*(len(program)+len(groups)+2))
	for _, n := range program {
		out = binary.LittleEndian.AppendUint64(out, uint64(n))
	}
	for _, n := range append(groups, syscall.Geteuid(), syscall.Getegid()) {
		out = binary.LittleEndian.AppendUint64(out, uint64(n))
	}
	return string(out), true
}

// own reports whether nobody else can have written a file.
func own(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && info.Mode().Perm()&0o022 == 0 && int(st.Uid) == syscall.Geteuid()
}
