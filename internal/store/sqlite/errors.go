package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
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

// onPath is a connection as the statements of table use it.
type onPath struct {
	*conn

	path string
}

// Exec implements table.Conn.
func (c onPath) Exec(sql string, args ...any) (int64, error) { return c.exec(sql, args...) }

// Query implements table.Conn.
func (c onPath) Query(each func(table.Row) error, sql string, args ...any) error {
	return c.query(each, sql, args...)
}

// SameName implements table.Conn: the column compares so.
func (c onPath) SameName(value string) string { return "name = " + value }

// Worded implements table.Conn: lower knows ASCII alone.
func (c onPath) Worded(value string) string {
	return "instr(lower(title || char(1) || name), " + value + ") > 0"
}

// Aside implements table.Conn: a term with a plus is none that SQLite plans by.
func (c onPath) Aside(cond string) string { return "+" + cond }

// Document implements table.Conn.
func (c onPath) Document() string {
	return `SELECT b.body FROM documents d JOIN bodies b ON b.hash = d.hash WHERE d.root = ? AND d.hash = ?`
}

// Explain implements table.Conn.
func (c onPath) Explain(doing string, err error) error { return explain(c.path, doing, err) }

// explain says what a failure of the database at path means for the person whose home it
// is. Errors that are nobody's surroundings but our own mistake only get their subject.
func explain(path, doing string, err error) error {
	var problem, hint string
	if errors.As(err, new(*troupe.UserError)) {
		return err // explained before
	}
	if u := (*table.Undecodable)(nil); errors.As(err, &u) {
		return damaged(path, fmt.Sprintf("cannot %s", doing), err, "")
	}
	primary := code(err)
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() {
		case lib.SQLITE_IOERR_SHMSIZE: // there was no room for the index of the write-ahead log
			primary = lib.SQLITE_FULL
		case lib.SQLITE_IOERR_SHORT_READ:
			primary = lib.SQLITE_CORRUPT
		}
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
		return damaged(path, "its beginning says that it is not a database", err,
			" If it never was one of Troupe's: Move it away and run again; a new database will be made in its place.")
	case lib.SQLITE_CORRUPT, lib.SQLITE_TOOBIG, lib.SQLITE_FORMAT:
		return damaged(path, fmt.Sprintf("cannot %s", doing), err, "")
	case lib.SQLITE_ERROR: // no statement of ours is wrong where the tables are what we made
		return damaged(path, fmt.Sprintf("cannot %s: its tables are not what they were", doing), err, "")
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
		Err:     fmt.Errorf("%w: %w", troupe.ErrUnavailable, err),
	}
}

// damaged says that the file at path does not hold what was written to it.
func damaged(path, how string, err error, besides string) error {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		err = e // a statement and its end may both have told it
	}
	return &troupe.UserError{
		Problem: fmt.Sprintf("the database %s is damaged: %s (%v).", path, how, err),
		Hint: "`troupe doctor --repair` saves what can be read into a new file and keeps the damaged one beside it." +
			besides,
		Err: fmt.Errorf("%w: %w", troupe.ErrDamaged, err),
	}
}
