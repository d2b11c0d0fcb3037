package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
)

// schemaVersion is the number of the newest file in schema/, and what user_version says of
// a database that has been through all of them.
const schemaVersion = 15

//go:embed schema/*.sql
var schema embed.FS

// applicationID marks the file as Troupe's ("Trou"), so that no other program's database
// is ever changed.
const applicationID = 0x54726f75

// Pages of 8 KB hold several events each, where 4 KB waste half. A write-ahead log is moved into the
// file at rest (see writer); one of 2000 pages (16 MB) was written without any rest, and is read back
// in 6 ms when a crash left it.
const (
	pageBytes     = 8192
	pageSize      = `PRAGMA page_size = 8192`
	withLog       = `PRAGMA journal_mode = WAL` // kept in the file: readers read while the writer writes
	writerPragmas = `PRAGMA synchronous = FULL; PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 2000`
	readerPragmas = `PRAGMA query_only = ON; PRAGMA cache_size = -1024`
)

// Open opens the database at path, and makes it, with its folder, if it is not there.
// Several processes may do so at once. A database of an older version is brought up to
// date; one of a newer version is troupe.ErrNewer.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the database: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(ctx, path); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, unusable(path, "look at the database", err)
	} else if err := checkEmptied(path, o.Beside); err != nil {
		return nil, err
	}
	torn, err := keepTorn(path)
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, path, writerPragmas)
	if err != nil {
		return nil, explain(path, "open the database", err)
	}
	if err := makeCurrent(ctx, c, path); err != nil {
		return nil, errors.Join(err, c.close())
	}
	s := newStore(path, c, o.withDefaults())
	s.torn = torn
	return s, nil
}

// checkEmptied refuses a database file that holds nothing where there were sessions: their log, or one of the
// files in beside, which sessions leave, is still there. A file without content alone is a new one.
func checkEmptied(path string, beside []string) error {
	if info, err := os.Stat(path); err != nil || info.Size() > 0 {
		return nil //nolint:nilerr // opening it says what is wrong
	}
	log := path + "-wal"
	if info, err := os.Stat(log); err == nil && info.Size() > 0 {
		beside = append([]string{log}, beside...)
	}
	for _, name := range beside {
		if entries, err := os.ReadDir(name); err == nil && len(entries) == 0 {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			continue
		}
		return &troupe.UserError{
			Problem: fmt.Sprintf("the database %s is empty, but %s shows that there were sessions; it was left as it "+
				"is", path, name),
			Hint: "Put a copy of the database in its place; or, to begin anew, move the empty file and what lies " +
				"beside it away.",
			Err: troupe.ErrDamaged,
		}
	}
	return nil
}

// create makes the file: whole, under another name, and then renamed, so that no process
// ever sees half of it and a crash leaves none.
func create(ctx context.Context, path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unusable(dir, "make the folder", err)
	}
	return locked(ctx, path, func() error {
		if _, err := os.Stat(path); err == nil {
			return nil // another process was faster
		}
		draft := path + ".new" // ours alone, under the lock; a crash may have left one
		for _, name := range []string{draft, draft + "-wal", draft + "-shm"} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return unusable(name, "remove an unfinished database", err)
			}
		}
		if err := makeDraft(ctx, draft, path); err != nil {
			_ = os.Remove(draft) // its room may be what is missing; the next start would remove it too
			return err
		}
		if err := os.Rename(draft, path); err != nil {
			return unusable(path, "make the database", err)
		}
		return syncDir(dir)
	})
}

// makeDraft makes the file whole and brings it to the disk. path is the name that it will have.
//
// Nobody uses the draft, so it need not be safe at each step: once before it gets its name is enough,
// and a first start is not kept waiting for the disk. It has no write-ahead log while it is made: what
// a full disk keeps a log from is only moved into the file when the connection closes, and a close
// does not tell what it could not move. So each page is written by a statement, which does.
func makeDraft(ctx context.Context, draft, path string) error {
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return unusable(draft, "make the database", err)
	}
	if err := f.Close(); err != nil {
		return unusable(draft, "make the database", err)
	}
	c, err := connect(ctx, draft, `PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY`)
	if err != nil {
		return explain(draft, "make the database", err)
	}
	err = migrate(c, path, 0)
	if err == nil {
		if err = c.script(withLog); err != nil {
			err = explain(path, "make the database", err)
		}
	}
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if err := syncFile(draft); err != nil {
		return unusable(draft, "make the database", err)
	}
	return nil
}

// syncFile waits until a file's content is on the disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// makeCurrent checks that the file is ours and of a version we know, and migrates it.
func makeCurrent(ctx context.Context, c *conn, path string) error {
	v, err := version(c, path)
	if err != nil {
		return err
	}
	if ro, ok := c.dc.(interface{ IsReadOnly(string) (bool, error) }); ok {
		// SQLite opens what it may not write for reading, and would only tell at the first write.
		if yes, err := ro.IsReadOnly("main"); err == nil && yes {
			return unusable(path, "write the database", fs.ErrPermission)
		}
	}
	if v == schemaVersion {
		return nil
	}
	return locked(ctx, path, func() error {
		v, err := version(c, path)
		if err != nil || v == schemaVersion {
			return err
		}
		if v == 0 { // an empty file
			if err := c.script(pageSize + "; " + withLog); err != nil {
				return explain(path, "make the database", err)
			}
		}
		return migrate(c, path, v)
	})
}

// migrate runs the schema's files after version from, each in a transaction that also
// moves user_version: a crash leaves the version before or after it.
func migrate(c *conn, path string, from int) error {
	if from == 0 {
		// Both are kept in the file.
		if err := c.script(fmt.Sprintf("%s; PRAGMA application_id = %d", pageSize, applicationID)); err != nil {
			return explain(path, "make the database", err)
		}
	}
	names, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return fmt.Errorf("list the schema: %w", err)
	}
	for v := from + 1; v <= schemaVersion; v++ {
		sql, err := schema.ReadFile(names[v-1])
		if err != nil {
			return fmt.Errorf("read the schema: %w", err)
		}
		err = c.script(fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA user_version = %d; COMMIT", sql, v))
		if err != nil {
			return explain(path, fmt.Sprintf("bring the database to version %d", v), err)
		}
	}
	return nil
}

// locked runs fn while no other process makes or migrates the database at path.
func locked(ctx context.Context, path string, fn func() error) (err error) {
	l, err := waitForLock(ctx, path+".lock")
	if err != nil {
		return unusable(path+".lock", "lock the database", err)
	}
	defer func() { err = errors.Join(err, l.close()) }()
	return fn()
}

// unusable explains an error of the file system about something of a home.
func unusable(path, doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s %s: %w", doing, path, err)
	}
	why := err
	var pe *fs.PathError
	if errors.As(err, &pe) {
		why = pe.Err // its path is named already
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("cannot %s %s: %v", doing, path, why),
		Hint:    "Make it readable and writable for you, or point TROUPE_HOME at a folder that is.",
		Err:     err,
	}
}
