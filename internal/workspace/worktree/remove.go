package worktree

import (
	"errors"
	"io/fs"
	"os"

	"github.com/troupe-dev/troupe/internal/disk"
)

// putBack looks after what a killed end left. A folder that was about to be removed, of which it is not known that
// all is kept, gets its place again.
func (p place) putBack() error {
	if err := disk.RemoveTree(p.gone); err != nil {
		return err
	}
	if _, err := os.Lstat(p.leave); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(p.ws.Top); err == nil {
		return nil // made anew meanwhile: both stay
	}
	return takePlace(p, p.leave)
}
