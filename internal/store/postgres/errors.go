package postgres

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// ErrClosed is returned by every method of a Store after Close.
var ErrClosed = errors.New("the database is closed")

// code is PostgreSQL's code in err, or "".
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// Codes and classes of https://www.postgresql.org/docs/15/errcodes-appendix.html.
const (
	classConnection = "08"
	classShutdown   = "57P" // and starting up
	classRights     = "28"
	codeSerialize   = "40001"
	codeDeadlock    = "40P01"
	codeLocked      = "55P03"
	codeIdle        = "25P03" // in a transaction for too long
	codeFull        = "53100"
	codeConnections = "53300"
	codeReadOnly    = "25006"
	codeDatabase    = "3D000"
	codePrivilege   = "42501"
	codeParameter   = "22023"
)

// passes reports whether a failure to begin may pass by itself.
func passes(err error) bool {
	c := code(err)
	switch {
	case err == nil, strings.HasPrefix(c, classRights), c == codeDatabase, c == codePrivilege, c == codeReadOnly:
		return false
	case c == "", strings.HasPrefix(c, classConnection), strings.HasPrefix(c, classShutdown):
		return true
	}
	return c == codeLocked || c == codeConnections || c == codeSerialize || c == codeDeadlock || c == codeIdle
}

// explain says what a failure of the database means for the person whose it is. Errors that are nobody's surroundings
// but our own mistake only get their subject.
func explain(doing string, err error) error {
	if err == nil || errors.As(err, new(*troupe.UserError)) {
		return err // explained before
	}
	if errors.As(err, new(*table.Undecodable)) {
		return &troupe.UserError{Problem: fmt.Sprintf("cannot %s: the database is damaged: %v", doing, err),
			Hint: "Restore it from a backup.", Err: fmt.Errorf("%w: %w", troupe.ErrDamaged, err)}
	}
	var problem, hint string
	c := code(err)
	switch {
	case c == codeFull:
		problem = "the disk of the database is full"
		hint = "Free some space there. What was saved before is intact."
	case c == codeConnections:
		problem = "the database has no connection left"
		hint = "Raise max_connections there, or run fewer processes."
	case c == codeReadOnly:
		problem = "the database cannot be written"
		hint = "It may be a standby: name the primary."
	case c == codeDatabase, c == codePrivilege, strings.HasPrefix(c, classRights):
		problem = "the database lets no one in by that name"
		hint = "Look at the user, the password and the database in the address."
	case c == codeLocked:
		problem = "another process has held the tree for too long"
		hint = "See which one in pg_stat_activity, and stop it if it hangs."
	case c == "" && lost(err), c == codeIdle, strings.HasPrefix(c, classConnection),
		strings.HasPrefix(c, classShutdown):
		problem = "the database cannot be reached"
		hint = "See that it runs and that its address is right. What was saved before is intact."
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
	return &troupe.UserError{Problem: fmt.Sprintf("cannot %s: %s (%v)", doing, problem, plain(err)), Hint: hint,
		Err: fmt.Errorf("%w: %w", troupe.ErrUnavailable, err)}
}

// lost reports whether there was no connection, or it broke.
func lost(err error) bool {
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// plain leaves what is not needed out of pgx's words: they name the user and the database, and never a password.
func plain(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Message
	}
	return err.Error()
}
