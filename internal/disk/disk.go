// Package disk reads and replaces whole files: Troupe's own, and what people write for it.
//
// Reading never waits. A pipe or a device in the place of a file is an error that names it; it would else hold up the
// run that reads it for ever. A file is replaced in one step: a reader finds the old one whole, or the new one, also
// when the process that writes dies. At worst a file whose name begins with a dot stays behind.
package disk

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Flags open a file to be read, without waiting for a process that writes to it, should it be a pipe.
const Flags = os.O_RDONLY | syscall.O_NONBLOCK

// Most is far more than a file has that the program writes.
const Most = 64 << 20

var (
	// ErrNotRegular is a pipe, a folder or a device in the place of a file.
	ErrNotRegular = errors.New("it is not a regular file")
	// ErrTooLarge is a file that is larger than whoever reads it takes.
	ErrTooLarge = errors.New("it is too large")
)

// Read reads a regular file of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, Flags, 0)
	if err != nil {
		return nil, err
	}
	data, _, err := ReadFrom(f, most)
	return data, err
}

// ReadFrom is Read of a file that was opened with Flags; it closes it. With ErrTooLarge comes the beginning of the
// file, one byte longer than what is taken.
func ReadFrom(f *os.File, most int64) (data []byte, info fs.FileInfo, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, &fs.PathError{Op: "read", Path: f.Name(), Err: ErrNotRegular}
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: ErrTooLarge}
	}
	return data, info, err
}

// Replace puts a file in the place of another, or of none. A loss of power leaves the one or the other.
func Replace(path string, data []byte, mode fs.FileMode) error {
	temp, err := Draft(path, mode, func(w io.Writer) error { return write(w, data) })
	return settle(temp, path, err)
}

// Cache is Replace of what can be made anew, for its owner alone. The disk is not waited for: a loss of power may
// leave anything, which the reader has to find out.
func Cache(path string, data []byte) error {
	temp, err := draft(path, func(f *os.File) error { return write(f, data) })
	return settle(temp, path, err)
}

// Draft writes a file beside path that is to get that name, and waits until the disk has it.
func Draft(path string, mode fs.FileMode, write func(io.Writer) error) (temp string, err error) {
	return draft(path, func(f *os.File) error {
		if err := write(f); err != nil {
			return err
		}
		if mode != private {
			if err := f.Chmod(mode); err != nil {
				return err
			}
		}
		return f.Sync() // else a loss of power could leave the name with nothing in it
	})
}

// private is the mode of files that os.CreateTemp makes.
const private = 0o600

func draft(path string, write func(*os.File) error) (temp string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func write(w io.Writer, data []byte) error {
	_, err := io.Copy(w, bytes.NewReader(data))
	return err
}

func settle(temp, path string, err error) error {
	if err == nil {
		err = Settle(temp, path)
	}
	return err
}

// Settle gives a draft its name, or removes it.
func Settle(temp, path string) error {
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// Tidy removes the oldest files of a folder of files that can be made anew, down to so many.
func Tidy(folder string, most int) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) <= most {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, f := range files[:max(len(files)-most, 0)] {
		_ = os.Remove(filepath.Join(folder, f.Name())) // the next one to write tries again
	}
}

// Pattern is a path written so that as a glob it means itself.
func Pattern(p string) string {
	if !strings.ContainsAny(p, `*?[\`) {
		return p
	}
	var b strings.Builder
	for i := range len(p) {
		if strings.IndexByte(`*?[\`, p[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// mostPlain is how many patterns without braces one may stand for.
const mostPlain = 1000

// Bounded reports whether the braces of a pattern stand for few enough patterns: whoever matches it tries all of them.
func Bounded(pattern string) bool {
	n, open := 1, []int{}
	for i := 0; i < len(pattern); i++ {
		last := len(open) - 1
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, 1)
		case c == ',' && last >= 0:
			open[last]++
		case c == '}' && last >= 0:
			if n *= open[last]; n > mostPlain {
				return false
			}
			open = open[:last]
		}
	}
	return true
}
