//go:build amd64 || arm64

package sandbox

import (
	"crypto/rand"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// maxReplaced is the largest content that is judged.
const maxReplaced = 1 << 20

// replace answers a rename over a guarded file that is let for what the file is to hold. The file that the command
// has written stays its own: it may have it open and write to it later. So a new one gets the content that was
// judged, and the guarded name. ok is false if the rename is to be judged like any other.
func (f *files) replace(q *asked, from, to place) (a answer, ok bool) {
	plain := func(p place) bool { return p.exists && !p.bare && p.kind() == unix.S_IFREG && p.names == 1 }
	if f.plan.replaces == nil || !plain(from) || to.exists && !plain(to) ||
		f.zoneOf(at(troupe.OpWrite, to), to) != zoneProtected ||
		f.zoneOf(at(troupe.OpWrite, from), from) != zoneGranted {
		return a, false
	}
	var was []byte
	if to.exists {
		var err error
		if was, err = contentOf(q, to); err != nil {
			return a, false
		}
	} else {
		to.mode = from.mode
	}
	is, err := contentOf(q, from)
	if err != nil || !f.plan.replaces(to.path, was, is) {
		return a, false
	}
	err = f.makeAlone(q, func(*who) error {
		if err := put(to, is); err != nil {
			return err
		}
		return unix.Unlinkat(from.dir, from.name, 0)
	})
	f.seen.touch()
	return answered(err), true
}

// contentOf reads a file whole, if the caller may.
func contentOf(q *asked, p place) ([]byte, error) {
	fd := -1
	err := q.as(func() (err error) {
		fd, err = openat(p.dir, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), p.path)
	defer file.Close() //nolint:errcheck // nothing was written
	data := make([]byte, maxReplaced+1)
	switch n, err := file.ReadAt(data, 0); {
	case err == nil: // it is larger, or may be
		return nil, unix.EFBIG
	case !errors.Is(err, io.EOF):
		return nil, err // what was read is not all of it
	default:
		return data[:n], nil
	}
}

// put gives a file another content in one step. The new file has a name that nobody knows until it has the right
// one, and no folder is changed by others meanwhile.
func put(p place, data []byte) error {
	name := ".troupe-" + rand.Text() + ".tmp"
	fd, err := openat(p.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.Write(data)
	err = errors.Join(err, unix.Fchmod(fd, p.mode&0o1777), file.Sync(), file.Close())
	if err == nil {
		err = unix.Renameat(p.dir, name, p.dir, p.name)
	}
	if err != nil {
		_ = unix.Unlinkat(p.dir, name, 0) // what matters is why
	}
	return err
}
