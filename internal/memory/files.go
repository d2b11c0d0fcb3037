package memory

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

const (
	// headLines and headBytes are how much of a memory's first file is told.
	headLines = 200
	headBytes = 25 << 10

	maxFile  = 64 << 10 // of one file
	maxAll   = 1 << 20  // of all files of a memory
	maxFiles = 200
)

// Head is what is told of a memory: the beginning of its first file, and its name. It is "" if there is none.
func Head(folder string) (text, file string, err error) {
	file = filepath.Join(folder, troupe.MemoryFile)
	data, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", file, nil
	}
	if err != nil {
		return "", file, err
	}
	return cut(strings.ToValidUTF8(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "�")), file, nil
}

// cut leaves the beginning of a text, and says what is missing.
func cut(text string) string {
	text = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	kept, n := 0, 0
	for line := range strings.Lines(text) {
		if n == headLines || kept+len(line) > headBytes {
			break
		}
		n, kept = n+1, kept+len(line)
	}
	if kept == len(text) {
		return text
	}
	out := text[:kept]
	if n == 0 { // the first line alone is too long
		out = strings.ToValidUTF8(text[:headBytes], "")
	}
	return strings.TrimRight(out, "\n") + fmt.Sprintf("\n[%s has %d lines and %d KB; what is above is all that is "+
		"told "+
		"of it. Read shows the rest. Make it shorter.]", troupe.MemoryFile, 1+strings.Count(text, "\n"), len(text)>>10)
}

// read reads a file that is no link and lies behind none. Who puts one in its place meanwhile has nothing read.
func read(file string) (data []byte, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if real != file || !opened.Mode().IsRegular() || !os.SameFile(opened, named) {
		return nil, fmt.Errorf("%s is not a regular file, or lies behind a link", file)
	}
	return io.ReadAll(io.LimitReader(f, maxAll))
}

// Check says why a file of a memory may not hold a content; nil if it may. secret reports whether a text holds what
// looks like a credential.
func Check(folder, file string, content []byte, secret func(string) bool) error {
	switch {
	case len(content) > maxFile:
		return fmt.Errorf("it would have %d KB, and a file of a memory has at most %d", len(content)>>10, maxFile>>10)
	case bytes.IndexByte(content, 0) >= 0:
		return errors.New("a memory holds text alone")
	case secret(string(content)):
		return errors.New("it holds what looks like a credential, and a memory keeps none; leave it out, and say " +
			"where it is to be found")
	}
	files, size := 1, int64(len(content))
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == file {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files, size = files+1, size+info.Size()
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("its folder cannot be looked at: %w", err)
	}
	if files > maxFiles || size > maxAll {
		return fmt.Errorf("the memory would have %d files with %d KB together, and it has at most %d with %d KB; "+
			"remove "+
			"what is out of date", files, size>>10, maxFiles, maxAll>>10)
	}
	return nil
}

// Files are the names of the files of a memory, below its folder.
func Files(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, folder), "/"))
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// Text is what a file of a memory holds; "" if it is not there.
func Text(folder, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is no file of a memory", name)
	}
	data, err := read(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// Write makes a text what a file of a memory holds.
func Write(folder, name, text string, secret func(string) bool) (err error) {
	if err := Check(folder, filepath.Join(folder, name), []byte(text), secret); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return replace(root, name, text)
}

// replace writes a file in one step: an agent that begins meanwhile is told the old text or the new one, whole.
func replace(root *os.Root, name, text string) error {
	draft := filepath.Join(filepath.Dir(name), "."+rand.Text())
	f, err := root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(draft, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(draft))
	}
	return nil
}

// Forget removes a file of a memory; "" is all of it.
func Forget(folder, name string) (err error) {
	if name == "" {
		return disk.RemoveTree(folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return root.Remove(name)
}
