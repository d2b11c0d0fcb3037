package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// removeTree removes a folder and all in it. A link is removed, not followed; a folder that its owner may not write,
// as build caches make them, is opened for it.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	open(root, ".")
	return errors.Join(root.Close(), os.RemoveAll(path))
}

// open lets the owner write in a folder and in those below it. What it cannot is found out by the removal.
func open(root *os.Root, folder string) {
	_ = root.Chmod(folder, 0o700)
	f, err := root.Open(folder)
	if err != nil {
		return
	}
	entries, err := f.ReadDir(-1)
	if errors.Join(err, f.Close()) != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			open(root, filepath.Join(folder, e.Name()))
		}
	}
}

// putBack looks after what a killed end left. A folder that was about to be removed, of which it is not known that
// all is kept, gets its place again.
func (p place) putBack() error {
	if err := removeTree(p.gone); err != nil {
		return err
	}
	if _, err := os.Lstat(p.leave); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(p.ws.Top); err == nil {
		return nil // made anew meanwhile: both stay
	}
	return os.Rename(p.leave, p.ws.Top)
}
