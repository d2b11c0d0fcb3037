package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// keptName is how the file of a ledger ends.
const keptName = ".ledger"

// maxKept bounds the file of a ledger, in which contents take a third more than they are.
const maxKept = 2 * maxLedger

// written is the file of a ledger. While its process lives it is locked; the kernel lets go of the lock with the
// process, however that ends. What lies there unlocked is to be settled.
type written struct {
	file *os.File
	path string
}

// page is a ledger as it is written down.
type page struct {
	Entries []line `json:"entries"`
}

type line struct {
	Path   string   `json:"path"`
	Top    string   `json:"top"`
	Number uint64   `json:"number,omitempty"`
	Was    []record `json:"was,omitempty"`
}

type record struct {
	Rel  string      `json:"rel"`
	Mode fs.FileMode `json:"mode"`
	Data []byte      `json:"data,omitempty"`
}

// keep writes the ledger down before its command starts, so that a process that is killed is no way to leave
// something in a protected place. Nothing of Troupe's own is in it: what holds the ledgers holds the sessions, which
// go on.
func (l *ledger) keep(dir string) error {
	entries := slices.DeleteFunc(slices.Clone(l.entries), func(e entry) bool {
		return dir == "" || troupe.Within(dir, e.path) || troupe.Within(e.path, filepath.Dir(dir))
	})
	if len(entries) == 0 {
		return nil
	}
	var err error
	if l.kept, err = writeDown(dir, entries, maxKept); err != nil {
		return fmt.Errorf("write down what is protected, which comes before a command on this kernel: %w", err)
	}
	return nil
}

func writeDown(dir string, entries []entry, most int) (k *written, err error) {
	var p page
	for _, e := range entries {
		l := line{Path: e.path, Top: e.top, Number: e.number}
		for _, n := range e.was {
			l.Was = append(l.Was, record{n.rel, n.mode, n.data})
		}
		p.Entries = append(p.Entries, l)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if len(data) > most { // what is not read whole is not put back
		return nil, fmt.Errorf("the protected paths, of which %s is one, hold too many files to be guarded on this "+
			"kernel, which has no seccomp notifications", entries[0].path)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// It gets its name when it is whole and locked.
	f, err := newLocked(dir)
	if err != nil {
		return nil, err
	}
	k = &written{file: f, path: filepath.Join(dir, strconv.FormatInt(time.Now().UnixNano(), 10)+
		strings.TrimPrefix(filepath.Base(f.Name()), ".new")+keptName)}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), k.path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return k, nil
}

// lockTries is how often a file is made anew that another process has settled.
const lockTries = 50

// newLocked makes a file that is locked. Before it is, another process may take it for one whose command never began,
// and remove it.
func newLocked(dir string) (*os.File, error) {
	for n := 1; ; n++ {
		f, err := os.CreateTemp(dir, ".new-*")
		if err != nil {
			return nil, err
		}
		if err = lockFile(f); err == nil {
			_, err = os.Lstat(f.Name())
		}
		if err == nil {
			return f, nil
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
		if n == lockTries {
			return nil, err
		}
	}
}

// drop removes what was kept.
func (k *written) drop() {
	if k == nil {
		return
	}
	_ = os.Remove(k.path) // what stays is compared once more by the next process
	_ = k.file.Close()    // only a lock
}

// Settle puts back what commands changed whose Troupe was killed before it could, and says what that was. Dir is
// that of Options.Ledgers. What cannot be put back is tried again at the next start.
func Settle(dir string) (restored []string, err error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// The last comes first: a command that began after another may have found what that one had left.
	slices.Reverse(names)
	var errs []error
	for _, n := range names {
		path := filepath.Join(dir, n.Name())
		if !n.Type().IsRegular() {
			continue
		}
		more, err := settleFile(path)
		restored = append(restored, more...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	slices.Sort(restored)
	return slices.Compact(restored), errors.Join(errs...)
}

func settleFile(path string) (restored []string, err error) {
	f, err := os.OpenFile(path, disk.Flags, 0)
	if err != nil {
		return nil, gone(err)
	}
	defer f.Close() //nolint:errcheck // only a lock
	if lockFile(f) != nil {
		return nil, nil // its process lives
	}
	open, err := f.Stat()
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(path)
	if err != nil || !os.SameFile(open, named) {
		return nil, gone(err) // another process has settled it
	}
	if !strings.HasSuffix(path, keptName) {
		if strings.HasPrefix(filepath.Base(path), ".new-") {
			return nil, gone(os.Remove(path)) // its command never began
		}
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKept))
	if err != nil {
		return nil, err
	}
	var p page
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, errors.Join(
			fmt.Errorf("what is kept of protected files cannot be read, and was set aside: %w", err),
			os.Rename(path, path+".damaged"))
	}
	restored, left, err := p.settle()
	if len(left) == 0 {
		return restored, errors.Join(err, os.Remove(path))
	}
	// What was put back is not put back again: it may be changed from now on.
	data, failed := json.Marshal(page{left})
	if failed == nil {
		failed = disk.Replace(path, data, 0o600)
	}
	return restored, errors.Join(err, failed)
}

func (p *page) settle() (restored []string, left []line, err error) {
	var errs []error
	for _, l := range p.Entries {
		e := entry{path: l.Path, top: l.Top, number: l.Number}
		for _, r := range l.Was {
			e.was = append(e.was, node{r.Rel, r.Mode, r.Data})
		}
		changed, err := e.restore()
		switch {
		case errors.Is(err, errOther), errors.Is(err, fs.ErrNotExist) && !isThere(e.folder()):
			// the folder is gone
		case err != nil:
			left, errs = append(left, l), append(errs, fmt.Errorf("put %s back: %w", l.Path, err))
		case changed:
			restored = append(restored, l.Path)
		}
	}
	return restored, left, errors.Join(errs...)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// gone is an error that says more than that another process was faster.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
