package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// rootDir is a folder where the system has nothing better than os.Root. That follows links
// as long as they stay in the folder, so what was opened is compared with what stood under
// the name, links not followed.
type rootDir struct {
	root *os.Root
	path string
}

// openRoot opens a folder part by part.
func openRoot(path string) (dir, error) {
	top, names := parts(path)
	r, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	return walkDir(&rootDir{root: r, path: top}, names)
}

func (d *rootDir) lstat(name string) (os.FileInfo, error) { return d.root.Lstat(name) }

func (d *rootDir) sub(name string) (dir, error) {
	info, err := d.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = subError(d, d.path, name, syscall.ENOTDIR)
	}
	if err != nil {
		return nil, err
	}
	r, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, subError(d, d.path, name, err)
	}
	if now, err := r.Stat("."); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(ErrMoved, err, r.Close())
	}
	return &rootDir{root: r, path: filepath.Join(d.path, name)}, nil
}

func (d *rootDir) open(name string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := d.root.OpenFile(name, flag|nonblock, perm)
	if err != nil && flag&os.O_EXCL == 0 && meanwhile(err) {
		err = ErrMoved
	}
	if err != nil || flag&os.O_EXCL != 0 {
		return f, err
	}
	want, err := d.root.Lstat(name)
	if err == nil {
		var got os.FileInfo
		if got, err = f.Stat(); err == nil && !os.SameFile(want, got) {
			err = ErrMoved
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d *rootDir) mkdir(name string) error { return d.root.Mkdir(name, 0o777) }

func (d *rootDir) put(from, to string, replace bool) error {
	if replace {
		return d.root.Rename(from, to)
	}
	if err := d.root.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		if err == nil {
			_ = d.root.Remove(from) // the file is there; a second name for it is only untidy
		}
		return err
	}
	return putUnlinked(d, from, to)
}

// putUnlinked is for file systems without hard links: there another writer can slip in
// between looking and renaming.
func putUnlinked(d dir, from, to string) error {
	if _, err := d.lstat(to); err == nil {
		return fs.ErrExist
	}
	return d.put(from, to, true)
}

func (d *rootDir) readlink(name string) (string, error) { return d.root.Readlink(name) }

func (d *rootDir) symlink(to, name string) error { return d.root.Symlink(to, name) }

func (d *rootDir) remove(name string) error { return d.root.Remove(name) }

func (d *rootDir) rmdir(name string) error { return d.root.Remove(name) }

func (d *rootDir) Close() error { return d.root.Close() }
