package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/troupe-dev/troupe/internal/tool"
)

// Why a file cannot be given another content.
var (
	// ErrChanged: it does not hold what it is said to hold.
	ErrChanged = errors.New("something else has changed it")
	// ErrPlace: at exactly this path there is something else, or the path leads elsewhere.
	ErrPlace = errors.New("no regular file is there")
)

// Now reads what stands at an absolute path that was written before. Exists is false if
// nothing does. A path that leads elsewhere by now, or to anything but a regular file, is
// ErrPlace.
func Now(path string) (content []byte, exists bool, err error) {
	c, err := now(path)
	if err != nil {
		return nil, false, err
	}
	return c.old, c.info != nil, nil
}

func now(path string) (*change, error) {
	if real := tool.Resolve(path); real != path {
		return nil, fmt.Errorf("%w: the path leads to %s now", ErrPlace, real)
	}
	c := &change{name: path, path: path}
	var err error
	c.old, c.info, err = readAll(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case errors.Is(err, errFolder), errors.Is(err, errSpecial):
		return nil, fmt.Errorf("%w: it %w", ErrPlace, err)
	}
	return c, err
}

// CountLines says how many lines a change of content adds and removes.
func CountLines(before, after []byte) (added, removed int) {
	return countLines(string(before), string(after))
}

// Staged is a change of one file that is ready: what can fail has been tried, and the next
// content lies beside the file. Publish or Discard ends it.
type Staged struct {
	c    *change // without its old content
	was  string  // the hash of that
	temp string  // "": the file is to be removed
}

// Stage prepares to put content in the place of what stands at path, or to remove it if
// content is nil. The file must hold what has the hash was, or not exist if that is empty.
// An existing file keeps its mode and owner; one that comes back gets mode, or that of any
// new file if mode is 0.
func Stage(path, was string, content *[]byte, mode os.FileMode) (*Staged, error) {
	c, err := now(path)
	if err != nil {
		return nil, err
	}
	if c.hash() != was {
		return nil, ErrChanged
	}
	s := &Staged{c: c, was: was}
	if err := c.writable(); err != nil {
		return nil, err
	}
	c.old = nil
	if content == nil {
		return s, nil
	}
	if s.temp, err = c.writeTemp(*content); err != nil {
		return nil, c.failed(err)
	}
	if c.info == nil && mode != 0 {
		if err := os.Chmod(s.temp, mode.Perm()); err != nil {
			return nil, errors.Join(c.failed(err), s.Discard())
		}
	}
	return s, nil
}

// hash is that of what stands there, or "" for nothing.
func (c *change) hash() string {
	if c.info == nil {
		return ""
	}
	return tool.Hash(c.old)
}

// Mode is the file's, or 0 if there is none.
func (s *Staged) Mode() os.FileMode {
	if s.c.info == nil {
		return 0
	}
	return s.c.info.Mode().Perm()
}

// Publish makes the change, in one step, if the file still holds what it held.
func (s *Staged) Publish() error {
	again, err := now(s.c.path)
	if err == nil && again.hash() != s.was {
		err = ErrChanged
	}
	switch {
	case err != nil:
	case s.temp == "" && s.was == "":
		return nil
	case s.temp == "":
		err = os.Remove(s.c.path)
	case s.was == "":
		err = s.c.publishNew(s.temp)
	default:
		err = os.Rename(s.temp, s.c.path)
	}
	if err != nil {
		return errors.Join(err, s.Discard())
	}
	return nil
}

// Discard gives the change up.
func (s *Staged) Discard() error {
	if s.temp == "" {
		return nil
	}
	return ignoreMissing(os.Remove(s.temp))
}
