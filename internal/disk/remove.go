package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a folder, or what else has its name, and all in it. It is how everything is removed that agents
// could write: a link is removed, not followed, and a folder that its owner may not read or write, as build caches make
// them and as a command may, is opened for it.
func RemoveTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	parent, oerr := os.OpenRoot(filepath.Dir(path))
	if oerr != nil {
		return err
	}
	if info, lerr := parent.Lstat(filepath.Base(path)); lerr == nil && info.IsDir() {
		open(parent, filepath.Base(path))
	}
	return errors.Join(parent.Close(), os.RemoveAll(path))
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
