package troupe

import "errors"

// Errors that cross floors. They are wrapped with what they happened to; compare with errors.Is.
var (
	ErrNotFound  = errors.New("not found")
	ErrExists    = errors.New("already exists")
	ErrAmbiguous = errors.New("matches more than one")
	// ErrBlocked: nothing was done, for part of it cannot be; it can be forced.
	ErrBlocked = errors.New("part of it cannot be done")
	// ErrFenced: the writer does not own the session (any more), or the log has moved on.
	ErrFenced = errors.New("another process owns this session")
	// ErrNewer: the data was written by a newer version of Troupe.
	ErrNewer = errors.New("written by a newer version of troupe")
	// ErrDamaged: what was written cannot be read any more.
	ErrDamaged = errors.New("the database is damaged")
	// ErrUnavailable: what it takes, such as the database, does not answer now. Nothing is refused by that.
	ErrUnavailable = errors.New("not to be had at present")
	// ErrAsleep: the tree was put away, and nothing of it goes on before somebody wakes it.
	ErrAsleep = errors.New("the session is asleep")
	// ErrArchived: the tree was archived, and nothing of it goes on before somebody takes it out of the archive.
	ErrArchived = errors.New("the session is archived")
	// ErrChanged: what was to be changed is not what it was when it was looked at.
	ErrChanged = errors.New("it was changed meanwhile")
	// ErrCap: a limit of the tree refuses the birth.
	ErrCap = errors.New("limit of the tree reached")
)

// Exit codes, as the README documents them.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitPermission  = 3
	ExitLimit       = 4
	ExitInterrupted = 130
	ExitUnread      = 141 // as whoever is ended by SIGPIPE
)

// UserError is an error whose text is meant for the person who ran the command: what
// happened, to what, and in Hint what to do next.
type UserError struct {
	Problem string
	Hint    string
	Code    int // process exit code; 0 means ExitFailed
	Err     error
}

func (e *UserError) Error() string {
	if e.Hint == "" {
		return e.Problem
	}
	return e.Problem + "\n" + e.Hint
}

func (e *UserError) Unwrap() error { return e.Err }
