package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var errOther = errors.New("it is another folder by now")

// maxLedger bounds what is remembered of protected files.
const maxLedger = 64 << 20

// A ledger remembers what the kernel cannot keep as it is: protected paths where there are no
// mount namespaces, and everywhere those that do not exist, are symbolic links, or have
// another name. In the end it compares and puts back. What it finds in their place is set
// aside under another name and never deleted: another program may have written it meanwhile.
//
// Should this process die before that, the next one puts back what is kept (see keep).
type ledger struct {
	entries []entry
	kept    *written // nil: it is in memory alone
}

// entry is a path as it was.
type entry struct {
	path string
	top  string // the folder that may be written and that it lies in
	was  []node // parents first; none: it did not exist
	// number is the top's own, 0 if it is not known: another folder of that name is left alone.
	number uint64
}

// node is a file, folder or link at or below an entry's path.
type node struct {
	rel  string
	mode fs.FileMode
	data []byte // of a link, what it says
}

// newLedger looks at the paths that are guarded. Below maps each to the folder that may be written.
func newLedger(guarded []string, top func(path string) string) (*ledger, error) {
	l := &ledger{}
	room := int64(maxLedger)
	for _, path := range guarded {
		was, err := remember(path, &room)
		if err != nil {
			return nil, err
		}
		e := entry{path: path, top: top(path), was: was}
		if info, err := os.Lstat(e.folder()); err == nil {
			e.number = numberOf(info)
		}
		l.entries = append(l.entries, e)
	}
	return l, nil
}

// remember reads what there is at a path and below it. What cannot be read can only be
// compared by what it is.
func remember(path string, room *int64) ([]node, error) {
	var nodes []node
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		n := node{rel: strings.TrimPrefix(p, path), mode: info.Mode()}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return nil //nolint:nilerr // it is gone
			}
			n.data = []byte(target)
		case info.Mode().IsRegular():
			if *room -= info.Size(); *room < 0 {
				return fmt.Errorf("the protected path %s holds too much to be guarded on this kernel, which has no "+
					"mount namespaces", path)
			}
			if n.data, err = os.ReadFile(p); err != nil && !errors.Is(err, fs.ErrPermission) &&
				!errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remember a protected file: %w", err)
			}
		}
		nodes = append(nodes, n)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return nodes, nil
}

// settle puts back what changed and says what that was.
func (l *ledger) settle() []string {
	var restored []string
	for _, e := range l.entries {
		changed, err := e.restore()
		switch {
		case err != nil:
			restored = append(restored, fmt.Sprintf("%s (could not be put back: %v)", e.path, err))
		case changed:
			restored = append(restored, e.path)
		}
	}
	l.kept.drop()
	return restored
}

// folder is the one that all changes of an entry stay in.
func (e *entry) folder() string {
	if e.path == e.top {
		return filepath.Dir(e.top)
	}
	return e.top
}

// open opens that folder if it is the one that was looked at. What is done by way of it stays in it, whatever links
// come into being meanwhile.
func (e *entry) open() (root *os.Root, rel string, err error) {
	if rel, err = filepath.Rel(e.folder(), e.path); err != nil {
		return nil, "", err
	}
	if root, err = os.OpenRoot(e.folder()); err != nil {
		return nil, "", err
	}
	named, err := os.Lstat(e.folder())
	if err == nil {
		var info fs.FileInfo
		if info, err = root.Stat("."); err == nil && (!os.SameFile(named, info) ||
			e.number != 0 && numberOf(info) != e.number) {
			err = fmt.Errorf("%s: %w", e.folder(), errOther)
		}
	}
	if err != nil {
		return nil, "", errors.Join(err, root.Close())
	}
	return root, rel, nil
}

func (e *entry) restore() (changed bool, err error) {
	root, rel, err := e.open()
	if errors.Is(err, fs.ErrNotExist) && len(e.was) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer root.Close() //nolint:errcheck // it was opened to be read
	room := int64(maxLedger)
	is, err := remember(e.path, &room)
	same := err == nil && slices.EqualFunc(e.was, is, func(a, b node) bool {
		return a.rel == b.rel && a.mode == b.mode && bytes.Equal(a.data, b.data)
	})
	detour, err := detour(root, rel)
	if err != nil {
		return false, err
	}
	if same && detour == "" {
		return false, nil
	}
	if detour != "" { // a link on the way leads to something else of that name
		if len(is) == 0 && len(e.was) == 0 {
			if _, err := os.Stat(e.path); err != nil {
				return false, nil //nolint:nilerr // it leads to nothing
			}
		}
		if err := setAside(root, detour); err != nil {
			return true, err
		}
	} else if len(is) > 0 {
		if err := setAside(root, rel); err != nil {
			return true, err
		}
	}
	return true, e.write(root, rel)
}

// detour is a symbolic link on the way to the path; there was none.
func detour(root *os.Root, rel string) (string, error) {
	dir := ""
	for name := range strings.SplitSeq(filepath.Dir(rel), string(filepath.Separator)) {
		dir = filepath.Join(dir, name)
		info, err := root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return dir, nil
		}
	}
	return "", nil
}

// setAside renames something so that no program takes it for what it was.
func setAside(root *os.Root, path string) error {
	for i := range 1000 {
		aside := path + ".set-aside"
		if i > 0 {
			aside += fmt.Sprintf("-%d", i)
		}
		if _, err := root.Lstat(aside); err == nil {
			continue
		}
		return root.Rename(path, aside)
	}
	return fmt.Errorf("set %s aside: there are too many already", path)
}

// write makes what was there. It opens nothing that is there already.
func (e *entry) write(root *os.Root, rel string) error {
	if len(e.was) > 0 {
		if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
			return err
		}
	}
	for _, n := range e.was {
		path := rel + n.rel
		var err error
		switch {
		case n.mode.IsDir():
			if err = root.Mkdir(path, 0o700); err == nil {
				defer root.Chmod(path, n.mode.Perm()) //nolint:errcheck // what matters is what is in it
			}
		case n.mode&fs.ModeSymlink != 0:
			err = root.Symlink(string(n.data), path)
		case n.mode.IsRegular():
			err = n.writeTo(root, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *node) writeTo(root *os.Root, path string) error {
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, n.mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(n.data)
	return errors.Join(err, f.Chmod(n.mode.Perm()), f.Close())
}
