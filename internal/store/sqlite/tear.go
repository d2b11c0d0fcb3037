package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe/internal/store/sqlite/pages"
)

// keepTorn looks at the write-ahead log before SQLite does, for SQLite takes what stands behind a damaged place in it
// for never written, and removes the log when it closes. A damaged one is copied, and said to be in words for people.
// While another process has the database open the log is not looked at: SQLite has read it by then.
func keepTorn(path string) (string, error) {
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 || inUse(path) {
		return "", nil //nolint:nilerr // without a log nothing is lost; opening it says what else is wrong
	}
	t, err := pages.FindTear(path, pageBytes)
	if err != nil {
		return "", unusable(path+"-wal", "read the log", err)
	}
	if t.Commits == 0 {
		return "", nil
	}
	text := fmt.Sprintf("the log %s-wal was damaged at byte %d, and what stood behind it is lost: the last %d "+
		"changes of "+
		"the sessions, or as far as they go back.", path, t.At, t.Commits)
	kept, err := copyTorn(path)
	if err != nil {
		return "", unusable(path+"-wal", "keep a copy of the damaged log", err)
	}
	return fmt.Sprintf("%s What ran there runs again when a session goes on: look first at what it did. A copy of the "+
		"damaged log is %s; remove it when you do not need it any more.", text, kept), nil
}

// tornSuffix and a number are behind the database's name in that of a damaged log.
const tornSuffix = "-wal.damaged"

// copyTorn copies the log to a name that is free.
func copyTorn(path string) (kept string, err error) {
	data, err := os.ReadFile(path + "-wal") // some MB: it is moved into the database again and again
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s%s%d", path, tornSuffix, n)
		f, err := os.OpenFile(kept, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(kept)) // the next start would take half of it for the whole
		}
		return kept, err
	}
}

// TornLogs are the copies of damaged logs that are still there.
func (s *Store) TornLogs() (out []string, err error) {
	dir, base := filepath.Split(s.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unusable(dir, "list the folder", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+tornSuffix) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// Torn says what of the log was found lost when the database was opened; "" if nothing was.
func (s *Store) Torn() string { return s.torn }
