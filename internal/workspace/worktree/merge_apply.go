package worktree

import (
	"crypto/rand"
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

// Apply writes the changes to the folder they are for, if every file is what it was. Whatever can fail is tried before
// the first of them has its new content: that lies beside it by then. Each is made only while its file still is what it
// was, in one step; the first that is not by then ends it, and what was written until then is said.
func Apply(top string, changes []Change) (written []string, err error) {
	w, err := writerOf(top, changes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end(len(written))) }()
	for _, step := range []func(i int) error{w.ready, w.lay} {
		for i, c := range changes {
			if err := step(i); err != nil {
				return nil, fmt.Errorf("write %s: %w", c.Path, err)
			}
		}
	}
	for i, c := range changes {
		if err := w.apply(i); err != nil {
			return written, fmt.Errorf("write %s: %w", c.Path, err)
		}
		written = append(written, c.Path)
	}
	return written, nil
}

// writer makes the changes of one merge.
type writer struct {
	root    *os.Root
	changes []Change
	names   []string
	all     map[string]int // how many of them have a name, where case makes no difference
	laid    []laid
	made    []string // folders
}

// laid is new content beside a file, and what that is: in another folder of that name another file may have its.
type laid struct {
	name string // "": it is not laid
	info fs.FileInfo
}

func writerOf(top string, changes []Change) (*writer, error) {
	w := &writer{changes: changes, names: make([]string, len(changes)), all: map[string]int{},
		laid: make([]laid, len(changes))}
	for i, c := range changes {
		name := strings.TrimPrefix(c.Path, strings.TrimSuffix(top, "/")+"/")
		if name == c.Path || !filepath.IsLocal(name) || slices.ContainsFunc(strings.Split(name, "/"), ofGit) {
			return nil, fmt.Errorf("write %s: it is not a file of %s", c.Path, top)
		}
		w.names[i] = name
		w.all[strings.ToLower(name)]++
	}
	var err error
	w.root, err = os.OpenRoot(top)
	return w, err
}

// end removes what was laid and made for changes that were not written.
func (w *writer) end(written int) error {
	var err error
	for i := written; i < len(w.changes); i++ {
		if w.laid[i].name == "" {
			continue
		}
		if folder, e := folderOf(w.root, filepath.Dir(w.names[i]), nil); e == nil {
			if w.lies(i, folder) {
				err = errors.Join(err, folder.Remove(w.laid[i].name))
			}
			err = errors.Join(err, folder.Close())
		}
	}
	if written < len(w.changes) {
		for _, name := range slices.Backward(w.made) {
			if info, err := w.root.Lstat(name); err == nil && info.IsDir() {
				_ = w.root.Remove(name) // what has come to lie in it stays with it
			}
		}
	}
	return errors.Join(err, w.root.Close())
}

// turns reports whether the place of a file is made by another of the changes, so that it cannot be looked at yet: a
// file above it becomes a folder, or one differs from it in case alone.
func (w *writer) turns(i int) bool {
	lower := strings.ToLower(w.names[i])
	for at := filepath.Dir(lower); at != "."; at = filepath.Dir(at) {
		if w.all[at] > 0 {
			return true
		}
	}
	return w.all[lower] > 1
}

// ready makes sure that a file is what it was.
func (w *writer) ready(i int) error {
	if w.turns(i) {
		return nil
	}
	folder, err := folderOf(w.root, filepath.Dir(w.names[i]), nil)
	if errors.Is(err, fs.ErrNotExist) && w.changes[i].Was == "" {
		return nil // it will be made
	}
	if err != nil {
		return err
	}
	_, err = stillWas(folder, filepath.Base(w.names[i]), w.changes[i])
	return errors.Join(err, folder.Close())
}

// lay writes the new content of a file beside it.
func (w *writer) lay(i int) (err error) {
	if w.changes[i].Gone || w.turns(i) {
		return nil
	}
	folder, err := folderOf(w.root, filepath.Dir(w.names[i]), w.making)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	info, err := stillWas(folder, filepath.Base(w.names[i]), w.changes[i])
	if err != nil {
		return err
	}
	w.laid[i].name, err = tempIn(folder, w.changes[i], info)
	if err == nil {
		w.laid[i].info, err = folder.Lstat(w.laid[i].name)
	}
	return err
}

// lies reports whether what was laid for a file is in its folder.
func (w *writer) lies(i int, folder *os.Root) bool {
	if w.laid[i].name == "" {
		return false
	}
	info, err := folder.Lstat(w.laid[i].name)
	return err == nil && os.SameFile(info, w.laid[i].info)
}

func (w *writer) making(name string) { w.made = append(w.made, name) }

// ofGit reports whether a name is that of a repository's own folder, also where case makes no difference.
func ofGit(name string) bool { return strings.EqualFold(name, ".git") }

// apply makes one change. A link is never gone through: the folder is opened part by part.
func (w *writer) apply(i int) (err error) {
	c, dir, base := w.changes[i], filepath.Dir(w.names[i]), filepath.Base(w.names[i])
	makes := w.making
	if c.Gone {
		makes = nil
	}
	folder, err := folderOf(w.root, dir, makes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	info, err := stillWas(folder, base, c)
	if err != nil {
		return err
	}
	if c.Gone {
		if err := folder.Remove(base); err != nil {
			return err
		}
		_ = emptied(w.root, dir) // the file is gone by now: a folder that stays is no failure
		return nil
	}
	temp := w.laid[i].name
	if !w.lies(i, folder) { // its place was made only now, or something has taken it away, as `git stash -u` does
		if temp, err = tempIn(folder, c, info); err != nil {
			return err
		}
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

// folderOf opens a folder. One that is not there is made, if its name is wanted, which is told then.
func folderOf(root *os.Root, name string, making func(name string)) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	above := ""
	for part := range strings.SplitSeq(name, "/") {
		if part == "." {
			continue
		}
		above = filepath.Join(above, part)
		if _, err := at.Lstat(part); making != nil && errors.Is(err, fs.ErrNotExist) {
			err := at.Mkdir(part, 0o755)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, errors.Join(err, at.Close())
			}
			if err == nil {
				making(above)
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
	const tries = 10
	mode := fs.FileMode(c.Mode)
	if info != nil && info.Mode().IsRegular() {
		const run = 0o111
		mode = info.Mode().Perm() &^ run
		if c.Mode&run != 0 {
			mode |= (mode & 0o444) >> 2 // those who may read it may run it
		}
	}
	for range tries {
		name := fmt.Sprintf(".troupe-%d-merge%s.tmp", os.Getpid(), rand.Text()) // as files.Sweep looks for them
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
		if _, err = f.Write(c.Content); info != nil && err == nil {
			keepOwner(f, info)
			err = f.Chmod(mode)
		}
		if err == nil {
			err = f.Sync() // else a power cut could leave the name with no content
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return "", errors.Join(err, folder.Remove(name))
		}
		return name, nil
	}
	return "", errors.New("no name is free for what is to be written")
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
