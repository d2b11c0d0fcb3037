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
	return errors.Join(opened(path), os.RemoveAll(path))
}

// opened lets the owner write in a folder and in all below it. Links lead to nothing outside of it.
func opened(path string) error {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil // the removal says why
	}
	base := filepath.Base(path)
	info, err := parent.Lstat(base)
	if err != nil || !info.IsDir() {
		return parent.Close()
	}
	_ = parent.Chmod(base, 0o700)
	root, err := parent.OpenRoot(base)
	if err != nil {
		return parent.Close()
	}
	if now, err := root.Stat("."); err == nil && os.SameFile(info, now) {
		open(root, ".")
	}
	return errors.Join(root.Close(), parent.Close())
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
