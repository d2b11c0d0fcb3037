package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/sqlite/pages"
)

// Rebuilt is a session as its log says it is.
type Rebuilt struct {
	Session  troupe.Session
	Log      []troupe.Event
	Kept     int    // how many events of Log were there before
	Lost     string // what is missing; "" if nothing is
	Requests []troupe.Request
	Caps     troupe.Caps // a root's
	// Waits are the agents that are at work for it, and End is what its last run came to, if that is over.
	Waits []troupe.Task
	End   troupe.Outcome
}

// Rebuild makes a session of what is left of its log, which begins with its first event. A log with losses is
// brought to an end that says so.
type Rebuild func(log []troupe.Event, l Loss) (Rebuilt, error)

// Loss is what is missing behind what is left of a log, and what else the database says of that.
type Loss struct {
	Why      string           // "": nothing is missing
	Events   int64            // how many, as far as that is known
	Row      troupe.Session   // as the session's row had it; zero if that was lost
	Children []troupe.Session // who name the session as their parent
}

// EndUnknown is the Loss of a log that has no gap, and of which nothing else tells how long it was.
const EndUnknown = "the end of its log may be lost"

// Repaired is what a repair came to.
type Repaired struct {
	Damaged string // the damaged file under its new name
	// Whole counts the sessions that lost nothing, Cut are those that lost the end of their log, and
	// Lost those of which too little is left.
	Whole      int
	Cut        []CutSession
	Lost       []troupe.SessionID
	Events     int // saved
	EventsLost int // as far as their number is known
	Mail       int // saved
	Records    int // saved
	BadRows    int // what could not be read as a row, or says what no row of its table can
	// UnknownRows were read, and have no form that a row of a known table or index has.
	UnknownRows int
}

// CutSession is a session that lost the end of its log.
type CutSession struct {
	ID   troupe.SessionID
	Name string
	Why  string
}

// Repair puts what can be read of the damaged database at path into a new one, which takes its place; the
// damaged file stays beside it. It is refused while any process has the database open, and keeps others
// from it as long as it takes.
func Repair(ctx context.Context, path string, rebuild Rebuild) (r Repaired, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return r, fmt.Errorf("find the database: %w", err)
	}
	err = locked(ctx, path, func() error {
		release, err := holdAlone(path)
		if err != nil {
			return err
		}
		defer release()
		// Closed only at the end: the kernel lets go of all our locks on a file when one handle of it is closed.
		from, err := pages.Open(path, pageBytes)
		if err != nil {
			return unusable(path, "read the database", err)
		}
		defer from.Close() //nolint:errcheck // only read from
		draft := path + ".repaired"
		if err := removeDraft(draft); err != nil {
			return err
		}
		if r, err = saveInto(ctx, from, path, draft, rebuild); err == nil {
			r.Damaged, err = replace(path, draft)
		}
		if err != nil {
			return errors.Join(err, removeDraft(draft))
		}
		return nil
	})
	return r, err
}

// saveInto fills a new database with what is left of the one at path.
func saveInto(
	ctx context.Context, from *pages.File, path, draft string, rebuild Rebuild,
) (r Repaired, err error) {
	if err := makeDraft(ctx, draft, path); err != nil {
		return r, err
	}
	c, err := connect(ctx, draft, `PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY`)
	if err != nil {
		return r, explain(draft, "make the database", err)
	}
	s := salvage{c: c, path: draft, now: time.Now(), rebuild: rebuild, rows: map[troupe.SessionID]salvaged{},
		caps: map[troupe.SessionID]troupe.Caps{}}
	err = c.script(`BEGIN; CREATE TEMP TABLE found (id INTEGER, root TEXT, session TEXT, seq INTEGER, at INTEGER,
		kind TEXT, body BLOB); CREATE TEMP TABLE keys (root TEXT, session TEXT, seq INTEGER, id INTEGER)`)
	if err == nil {
		err = s.run(ctx, from)
	}
	if err == nil && s.out.Whole+len(s.out.Cut)+s.out.Records == 0 {
		err = &troupe.UserError{
			Problem: fmt.Sprintf("nothing of a session could be found in %s; it was left as it is.", path),
			Hint:    "Move it away and run again; a new database will be made in its place.",
		}
	}
	if err == nil {
		err = c.script("COMMIT; " + withLog)
	}
	if err = errors.Join(err, c.close()); err != nil {
		return s.out, explain(draft, "write the repaired database", err)
	}
	if err := syncFile(draft); err != nil {
		return s.out, unusable(draft, "write the repaired database", err)
	}
	return s.out, nil
}

// replace gives the new file the name of the damaged one, which keeps all it had under another. At each
// moment there is a database of that name: where there is none, the next start would make an empty one.
func replace(path, draft string) (damaged string, err error) {
	stamp := path + ".damaged-" + time.Now().UTC().Format("20060102-150405")
	damaged = stamp
	for n := 2; ; n++ {
		if err = os.Link(path, damaged); !errors.Is(err, fs.ErrExist) {
			break
		}
		damaged = fmt.Sprintf("%s-%d", stamp, n)
	}
	if err != nil {
		return "", unusable(damaged, "keep the damaged database as", err)
	}
	// The log must not stand beside the new file: SQLite would play it into that.
	if err := os.Rename(path+"-wal", damaged+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unusable(path+"-wal", "rename the log", err)
	}
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unusable(path+"-shm", "remove the index of the log", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return "", unusable(path, "put the repaired database in place of", err)
	}
	return damaged, syncDir(filepath.Dir(path))
}

// removeDraft removes an unfinished database, which a crash may have left.
func removeDraft(draft string) error {
	for _, name := range []string{draft, draft + "-wal", draft + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unusable(name, "remove an unfinished database", err)
		}
	}
	return nil
}
