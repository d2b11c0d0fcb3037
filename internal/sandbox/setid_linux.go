//go:build amd64 || arm64

package sandbox

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// A program with the set-user-ID bit runs as its owner, which is the person, whoever of the machine starts it: all that
// confines a command would end there. So no confined command gives a file that bit, or that of the group, by no call
// and in no place, its own temporary folder included. The bits stand in the call's registers, which nothing changes
// after they were looked at. A folder may have both: there they say whose group new files have, and start nothing.

// setsID reports whether a file that is there has one of the bits.
func (p *place) setsID() bool { return p.exists && p.kind() == unix.S_IFREG && p.mode&setIDs != 0 }

// refuseID refuses to make a file with one of the bits. Where it would be is looked up to be told, and for nothing
// else.
func (f *files) refuseID(q *asked) answer {
	p, _, ok := f.find(q, q.dir, q.path, false)
	if ok {
		p.close()
	}
	if p.path != "" && !isProcess(p.path) {
		f.seen.record(troupe.OpSetID, p.path)
	}
	return fail(unix.EPERM)
}

// refuseID refuses to give one of the bits to a file. Of one whose mode only another user may change it is not told.
func (s *sightings) refuseID(path string, st *unix.Stat_t) answer {
	if euid := uint32(unix.Geteuid()); (euid == 0 || euid == st.Uid) && strings.HasPrefix(path, "/") &&
		!isProcess(path) {
		s.record(troupe.OpSetID, path)
	}
	return fail(unix.EPERM)
}
