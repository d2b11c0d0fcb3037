package front

import (
	"strings"

	"golang.org/x/sys/unix"
)

// place is a folder that is looked into many times: what lies below it is found without walking to it again, which is
// most of what a look at a file costs.
type place struct {
	path string
	fd   int // -1: it is not there, or cannot be opened
}

func placeAt(path string) place {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	return place{path, fd}
}

func (p place) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd) // nothing was written
	}
}

// stamp is that of what a path below the place leads to, or any other.
func (p place) stamp(path string) (stamp, bool) {
	below, ok := strings.CutPrefix(path, p.path+"/")
	if !ok || p.fd < 0 {
		return stampAt(path)
	}
	var st unix.Stat_t
	for {
		switch err := unix.Fstatat(p.fd, below, &st, 0); err {
		case nil:
			return stamp{int64(st.Dev), int64(st.Ino), int64(st.Mode), st.Size, st.Mtim.Nano(), st.Ctim.Nano()}, true
		case unix.EINTR:
		default:
			return stamp{}, false
		}
	}
}

// sign is what tells of a change of what a path leads to, and whether that is a folder.
func (p place) sign(path string) (numbers []int64, dir, ok bool) {
	s, ok := p.stamp(path)
	return s[:], s[stampMode]&unix.S_IFMT == unix.S_IFDIR, ok
}
