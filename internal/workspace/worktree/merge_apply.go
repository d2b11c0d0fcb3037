package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// ErrMoved: a file is not what it was when it was looked at.
var ErrMoved = errors.New("it was changed meanwhile")

// Apply writes the changes to the folder they are for, if every file is what it was. Each is made only while its file
// still is, in one step; the first that is not by then ends it, and what was written until then is said.
func Apply(top string, changes []Change) (written []string, err error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	names, all := make([]string, len(changes)), map[string]int{}
	for i, c := range changes {
		name := strings.TrimPrefix(c.Path, strings.TrimSuffix(top, "/")+"/")
		if name == c.Path || !filepath.IsLocal(name) || slices.ContainsFunc(strings.Split(name, "/"), ofGit) {
			return nil, fmt.Errorf("write %s: it is not a file of %s", c.Path, top)
		}
		names[i] = name
		all[strings.ToLower(name)]++
	}
	for i, c := range changes {
		if err := ready(root, names[i], c, all); err != nil {
			return nil, fmt.Errorf("write %s: %w", c.Path, err)
		}
	}
	for i, c := range changes {
		if err := apply(root, names[i], c); err != nil {
			return written, fmt.Errorf("write %s: %w", c.Path, err)
		}
		written = append(written, c.Path)
	}
	return written, nil
}

// ready makes sure that a file is what it was, before the first one is written. What is below a file that another of
// the changes makes a folder cannot be looked at yet, nor what differs from one in case alone.
func ready(root *os.Root, name string, c Change, all map[string]int) error {
	lower := strings.ToLower(name)
	for at := filepath.Dir(lower); at != "."; at = filepath.Dir(at) {
		if all[at] > 0 {
			return nil
		}
	}
	if all[lower] > 1 {
		return nil
	}
	folder, err := folderOf(root, filepath.Dir(name), false)
	if errors.Is(err, fs.ErrNotExist) && c.Was == "" {
		return nil // it will be made
	}
	if err != nil {
		return err
	}
	_, err = stillWas(folder, filepath.Base(name), c)
	return errors.Join(err, folder.Close())
}

// ofGit reports whether a name is that of a repository's own folder, also where case makes no difference.
func ofGit(name string) bool { return strings.EqualFold(name, ".git") }

// apply makes one change. A link is never gone through: the folder is opened part by part.
func apply(root *os.Root, name string, c Change) (err error) {
	folder, err := folderOf(root, filepath.Dir(name), !c.Gone)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	base := filepath.Base(name)
	info, err := stillWas(folder, base, c)
	if err != nil {
		return err
	}
	if c.Gone {
		if err := folder.Remove(base); err != nil {
			return err
		}
		return emptied(root, filepath.Dir(name))
	}
	temp, err := tempIn(folder, c, info)
	if err != nil {
		return err
	}
	if err := replace(folder, temp, base, c); err != nil {
		return errors.Join(err, folder.Remove(temp))
	}
	return nil
}

// replace gives a file its new content, unless it was changed while that was written beside it.
func replace(folder *os.Root, temp, base string, c Change) error {
	if _, err := stillWas(folder, base, c); err != nil {
		return err
	}
	if info, err := folder.Lstat(base); err == nil && info.IsDir() {
		// All that was in it has gone, or this fails.
		if err := emptyFolder(folder, base); err != nil {
			return err
		}
	}
	return folder.Rename(temp, base)
}

// folderOf opens a folder, and makes it if it is to be there.
func folderOf(root *os.Root, name string, make bool) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "." {
			continue
		}
		if make {
			if err := at.Mkdir(part, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, errors.Join(err, at.Close())
			}
		}
		info, err := at.Lstat(part)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no folder: %w", part, ErrMoved)
		}
		var next *os.Root
		if err == nil {
			next, err = at.OpenRoot(part)
		}
		if err == nil {
			// What was opened is what was looked at: a link that took its place meanwhile leads elsewhere.
			var opened fs.FileInfo
			if opened, err = next.Stat("."); err == nil && !os.SameFile(info, opened) {
				err = errors.Join(ErrMoved, next.Close())
			}
		}
		if err = errors.Join(err, at.Close()); err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// stillWas makes sure that a file is what it was.
func stillWas(folder *os.Root, base string, c Change) (fs.FileInfo, error) {
	info, err := folder.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Was == "":
		return nil, nil
	case err != nil:
		return nil, err
	case c.Was == "":
		if info.IsDir() && !c.Gone {
			return nil, nil
		}
		return nil, ErrMoved
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := folder.Readlink(base)
		if err == nil && (!c.WasLink || troupe.ContentHash([]byte(to)) != c.Was) {
			err = ErrMoved
		}
		return info, err
	case !info.Mode().IsRegular() || c.WasLink:
		return nil, ErrMoved
	}
	f, err := folder.OpenFile(base, readFlags, 0)
	if err != nil {
		return nil, err
	}
	data, _, err := disk.ReadFrom(f, 4<<30)
	if err == nil && troupe.ContentHash(data) != c.Was {
		err = ErrMoved
	}
	return info, err
}

// tempIn writes the new content beside the file. Of an old file it keeps who may read and write it.
func tempIn(folder *os.Root, c Change, info fs.FileInfo) (string, error) {
	const tries = 100
	mode := fs.FileMode(c.Mode)
	if info != nil && info.Mode().IsRegular() {
		const run = 0o111
		mode = info.Mode().Perm() &^ run
		if c.Mode&run != 0 {
			mode |= (mode & 0o444) >> 2 // those who may read it may run it
		}
	}
	for i := range tries {
		name := fmt.Sprintf(".troupe-%d-merge%d.tmp", os.Getpid(), i) // as files.Sweep looks for them
		if c.Link {
			err := folder.Symlink(string(c.Content), name)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return name, err
		}
		f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(c.Content)
		if info != nil && err == nil {
			err = f.Chmod(mode)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return "", errors.Join(err, folder.Remove(name))
		}
		return name, nil
	}
	return "", errors.New("there are too many files of merges that did not end")
}

// emptied removes the folders in which nothing is left.
func emptied(root *os.Root, name string) error {
	for ; name != "."; name = filepath.Dir(name) {
		err := root.Remove(name)
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// emptyFolder removes a folder that has only folders in it.
func emptyFolder(root *os.Root, name string) error {
	entries, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return ErrMoved
		}
		if err := emptyFolder(root, filepath.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return root.Remove(name)
}
