// Package scratch makes temporary folders that do not outlive their process for long: a process that is
// killed cannot remove its own, so the next one does. A folder is known by a file in it that its process
// keeps locked; the kernel lets go of the lock with the process, however that ends. Folders without such a
// file, or of another user, are not touched.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe/internal/disk"
)

// prefix is what the names of all our folders begin with, owner the file that is locked.
const (
	prefix = "troupe-"
	owner  = ".troupe-owner"
)

// Folder is a temporary folder of this process.
type Folder struct {
	Path string // without a link in it
	lock *os.File
}

// Make makes a folder for what its name says.
func Make(what string) (*Folder, error) {
	path, err := os.MkdirTemp("", prefix+what)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	f := &Folder{Path: path}
	// It gets its name when it is locked: found unlocked, its process is gone.
	draft := filepath.Join(path, owner+".new")
	if f.lock, err = os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		if err = lock(f.lock); err == nil {
			err = os.Rename(draft, filepath.Join(path, owner))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for temporary files: %w", err), f.Remove())
	}
	return f, nil
}

// Below makes folders in each other and in this one, unless they are there. It is an error if one of them, or this
// one, is not a folder of this user's: what a link leads to is not looked at.
func (f *Folder) Below(names ...string) (string, error) {
	path := f.Path
	err := ours(path)
	for _, name := range names {
		if err != nil {
			break
		}
		path = filepath.Join(path, name)
		if err = os.Mkdir(path, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = ours(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	return path, nil
}

// ours is an error if a path is not a folder of this user's. It is made to be nobody else's: a command may have
// opened its own to all.
func ours(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !mine(info):
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode() != fs.ModeDir|0o700:
		return f.Chmod(0o700)
	}
	return nil
}

// Remove removes the folder and all in it.
func (f *Folder) Remove() error {
	err := remove(f.Path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// remove removes a folder, and last the file by which it is known: what could not be removed is still known by it.
func remove(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Name() != owner {
			err = errors.Join(err, disk.RemoveTree(filepath.Join(path, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return disk.RemoveTree(path)
}

// Keep leaves the folder to whoever wants it: no process removes it.
func (f *Folder) Keep() error {
	return errors.Join(os.Remove(filepath.Join(f.Path, owner)), f.lock.Close())
}

// Others are the folders for no purpose in particular (Make("")) that other processes of this user have. Each
// command asks for them, in a folder that may have many thousand names.
func Others(own string) []string {
	all, err := os.Open(filepath.Dir(own))
	if err != nil {
		return nil
	}
	names, err := all.Readdirnames(-1) // in no order
	if err = errors.Join(err, all.Close()); err != nil {
		return nil
	}
	var out []string
	for _, name := range names {
		number, ours := strings.CutPrefix(name, prefix)
		if !ours || strings.Trim(number, "0123456789") != "" || name == filepath.Base(own) {
			continue
		}
		path := filepath.Join(filepath.Dir(own), name)
		if info, err := os.Lstat(path); err == nil && info.IsDir() && mine(info) {
			out = append(out, path)
		}
	}
	return out
}

// Sweep removes the folders of processes that are gone. What cannot be removed stays for the next one.
func Sweep() {
	folders, err := filepath.Glob(disk.Pattern(filepath.Join(os.TempDir(), prefix)) + "*")
	if err != nil {
		return
	}
	for _, path := range folders {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !mine(info) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(path, owner), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if lock(f) == nil {
			_ = remove(path)
		}
		_ = f.Close() // only a lock
	}
}
