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

// maxLedger bounds what is remembered of protected files.
const maxLedger = 64 << 20

// A ledger remembers what the kernel cannot keep as it is: protected paths where there are no
// mount namespaces, and everywhere those that do not exist, are symbolic links, or have
// another name. In the end it compares and puts back. What it finds in their place is set
// aside under another name and never deleted: somebody else may have written it meanwhile.
type ledger struct {
	entries []entry
}

// entry is a path as it was.
type entry struct {
	path string
	top  string // the folder that may be written and that it lies in
	was  []node // parents first; none: it did not exist
}

// node is a file, folder or link at or below an entry's path.
type node struct {
	rel  string
	mode fs.FileMode
	data []byte // of a link, what it says
}

// newLedger looks at the paths that are guarded. Below maps each to the folder that may be
// written.
func newLedger(guarded []string, top func(path string) string) (*ledger, error) {
	l := &ledger{}
	room := int64(maxLedger)
	for _, path := range guarded {
		was, err := remember(path, &room)
		if err != nil {
			return nil, err
		}
		l.entries = append(l.entries, entry{path: path, top: top(path), was: was})
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
	return restored
}

func (e *entry) restore() (changed bool, err error) {
	room := int64(maxLedger)
	is, err := remember(e.path, &room)
	same := err == nil && slices.EqualFunc(e.was, is, func(a, b node) bool {
		return a.rel == b.rel && a.mode == b.mode && bytes.Equal(a.data, b.data)
	})
	detour, err := e.detour()
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
		if err := setAside(detour); err != nil {
			return true, err
		}
	} else if len(is) > 0 {
		if err := setAside(e.path); err != nil {
			return true, err
		}
	}
	return true, e.write()
}

// detour is a symbolic link on the way to the path; there was none.
func (e *entry) detour() (string, error) {
	rel, err := filepath.Rel(e.top, filepath.Dir(e.path))
	if err != nil || rel == "." {
		return "", err
	}
	dir := e.top
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, name)
		info, err := os.Lstat(dir)
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

// setAside renames something so that nobody takes it for what it was.
func setAside(path string) error {
	for i := range 1000 {
		aside := path + ".set-aside"
		if i > 0 {
			aside += fmt.Sprintf("-%d", i)
		}
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		return os.Rename(path, aside)
	}
	return fmt.Errorf("set %s aside: there are too many already", path)
}

// write makes what was there.
func (e *entry) write() error {
	if len(e.was) > 0 {
		if err := os.MkdirAll(filepath.Dir(e.path), 0o755); err != nil {
			return err
		}
	}
	for _, n := range e.was {
		path := e.path + n.rel
		var err error
		switch {
		case n.mode.IsDir():
			if err = os.Mkdir(path, 0o700); err == nil {
				defer os.Chmod(path, n.mode.Perm()) //nolint:errcheck // what matters is what is in it
			}
		case n.mode&fs.ModeSymlink != 0:
			err = os.Symlink(string(n.data), path)
		case n.mode.IsRegular():
			if err = os.WriteFile(path, n.data, n.mode.Perm()); err == nil {
				err = os.Chmod(path, n.mode.Perm())
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
