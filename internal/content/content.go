// Package content keeps what files held, by the hash of it: the past that a change can be
// undone to. A content that is put twice is kept once, and is never changed.
//
// A Store holds nothing in memory but the name of its folder; any number of goroutines and
// processes may use one folder at the same time. A content is written to a file of its own
// and synced before that gets its name, in one step, so what is found under a name is whole,
// whenever a process died. At worst a file whose name begins with a dot stays behind; it
// goes with the folder. When Put has returned, the content survives a loss of power.
//
// What is returned is checked against its hash: a file that was damaged is an error, never
// another content, and the next Put of what it held mends it.
package content

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/disk"
)

// ErrDamaged is a content that is kept but is not what its hash says.
var ErrDamaged = errors.New("the kept content is damaged")

// maxSize bounds one content. It is more than any tool writes; a damaged file must not
// unpack to more than the machine has.
const maxSize = 256 << 20

// Store is one folder of contents.
type Store struct{ dir string }

// In is the store in a folder, which the first Put makes if it is not there.
func In(dir string) *Store { return &Store{dir} }

// isHash keeps what is only said to be a hash from being the path of something else.
func isHash(s string) bool {
	if len(s) != 32 {
		return false
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

func (s *Store) name(hash string) string { return filepath.Join(s.dir, hash+".gz") }

// Put keeps a content and returns its hash. It does not hold on to the slice.
func (s *Store) Put(content []byte) (string, error) {
	hash := troupe.ContentHash(content)
	err := s.put(hash, content)
	if err != nil {
		return "", fmt.Errorf("keep a content of %d bytes: %w", len(content), err)
	}
	return hash, nil
}

func (s *Store) put(hash string, content []byte) error {
	if len(content) > maxSize {
		return fmt.Errorf("it is larger than %d bytes", maxSize)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if kept, err := s.Get(hash); err == nil && bytes.Equal(kept, content) {
		return syncDir(s.dir) // whoever put it first may not have come as far
	}
	temp, err := disk.Draft(s.name(hash), 0o600, func(w io.Writer) error { return pack(w, content) })
	if err == nil {
		err = disk.Settle(temp, s.name(hash))
	}
	if err != nil {
		return err
	}
	return syncDir(s.dir)
}

// pack writes at the fastest level: sources shrink to less than half, and the disk stays slower.
func pack(w io.Writer, content []byte) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = z.Write(content)
	return errors.Join(err, z.Close())
}

// Get returns the content with this hash. One that was never kept is troupe.ErrNotFound.
func (s *Store) Get(hash string) ([]byte, error) {
	if !isHash(hash) {
		return nil, fmt.Errorf("content %q: no such hash is possible: %w", hash, troupe.ErrNotFound)
	}
	f, err := os.OpenFile(s.name(hash), disk.Flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("content %s: %w", hash, troupe.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("content %s: %w", hash, err)
	}
	defer f.Close() //nolint:errcheck // only read from
	content, err := unpack(f)
	switch {
	case err != nil:
		return nil, fmt.Errorf("content %s: %w", hash, err)
	case troupe.ContentHash(content) != hash:
		return nil, fmt.Errorf("content %s: %w", hash, ErrDamaged)
	}
	return content, nil
}

func unpack(f *os.File) ([]byte, error) {
	z, err := gzip.NewReader(f)
	if err == nil {
		var content []byte
		if content, err = io.ReadAll(io.LimitReader(z, maxSize+1)); err == nil {
			return content, nil
		}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return nil, err // the disk's fault, not the content's
	}
	return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
}
