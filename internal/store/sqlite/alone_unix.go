//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/troupe-dev/troupe"
)

// holdAlone keeps every other process from the database at path, by the locks that SQLite itself takes:
// each connection holds some as long as it is open. It fails if there is one. This process must have none
// either: the kernel lets go of its locks with the first file that it closes.
func holdAlone(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, unusable(path, "open the database", err)
	}
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &whole)
	if err == nil {
		return func() { _ = f.Close() }, nil // only a lock
	}
	if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
		return nil, errors.Join(unusable(path, "lock the database", err), f.Close())
	}
	who := "another process"
	e := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &whole)
	if e == nil && whole.Type != syscall.F_UNLCK && whole.Pid > 0 {
		who = fmt.Sprintf("process %d", whole.Pid)
	}
	return nil, errors.Join(&troupe.UserError{
		Problem: fmt.Sprintf("%s is using the database %s, so it was not repaired.", who, path),
		Hint:    "End that process (troupe stop, or Ctrl-C where it runs), then run `troupe doctor --repair` again.",
	}, f.Close())
}
