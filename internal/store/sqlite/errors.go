package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/troupe-dev/troupe"
)

// ErrClosed is returned by every method of a Store after Close.
var ErrClosed = errors.New("the database is closed")

// code is SQLite's primary result code in err, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain says what a failure of the database at path means for the person whose home it
// is. Errors that are nobody's surroundings but our own mistake only get their subject.
func explain(path, doing string, err error) error {
	var problem, hint string
	primary := code(err)
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == lib.SQLITE_IOERR_SHMSIZE {
		primary = lib.SQLITE_FULL // there was no room for the index of the write-ahead log
	}
	switch primary {
	case lib.SQLITE_FULL:
		problem = "the disk is full"
		hint = "Free some space and run again. What was saved before is intact."
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		problem = "the database cannot be written"
		hint = "Make the file and its folder writable for you, or point TROUPE_HOME at a folder that is."
	case lib.SQLITE_CANTOPEN:
		problem = "the database cannot be opened"
		hint = "Make the file and its folder readable and writable for you, or point TROUPE_HOME at another folder."
	case lib.SQLITE_NOTADB:
		problem = "the file is not a database"
		hint = "Move it away and run again; a new database will be made in its place."
	case lib.SQLITE_CORRUPT:
		problem = "the file is damaged"
		hint = "Copy the file and its -wal neighbour to a safe place, then try `sqlite3 FILE .recover`, or move it " +
			"away to begin anew."
	case lib.SQLITE_IOERR:
		problem = "the disk reports an error"
		hint = "Look at the disk and the file system (is it full, over its quota, or gone?) and run again. What was " +
			"saved before is intact."
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		problem = "another process has kept the database locked for too long"
		hint = "See which process has the file open (`fuser FILE`), and stop it if it hangs. Then run again."
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("cannot %s: %s (%s: %v)", doing, problem, path, err),
		Hint:    hint,
		Err:     err,
	}
}
