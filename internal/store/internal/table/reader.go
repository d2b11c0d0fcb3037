package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// errOver is what a Reader or Tx answers that outlived its function.
var errOver = errors.New("the transaction is over; a Reader or Tx must not leave its function")

// Conn is what a dialect does in a transaction. Values stand as ?, or as ?1 and so on in all of a statement.
type Conn interface {
	// Exec runs one statement and returns how many rows it changed.
	Exec(sql string, args ...any) (int64, error)
	// Query calls each for every row of the result.
	Query(each func(Row) error, sql string, args ...any) error
	// SameName is the condition that a session's name is the value, without regard to ASCII case.
	SameName(value string) string
	// Worded is the condition that the value, in lower case, stands in a session's title or name, without regard to
	// ASCII case.
	Worded(value string) string
	// Aside is a condition by which no index is to be chosen, where others are better.
	Aside(cond string) string
	// Document is the query for the body of a document, by its tree and hash.
	Document() string
	// Explain says what a failure while doing something means for the person whose database it is.
	Explain(doing string, err error) error
}

// Ahead is a Conn to a database that is a way off: it goes on without answers that it knows.
type Ahead interface {
	// Later runs a statement that is answered by the end of the transaction, or earlier. It fails unless it changes
	// one row.
	Later(sql string, args ...any) error
	// Events adds rows of EventColumns, as Later does.
	Events(rows [][]any)
	// Fence says whether a session is held under a lease with that event as its last; known: nobody has to be asked.
	Fence(id troupe.SessionID, l troupe.Lease, seq int64) (holds, known bool)
	// Stands tells it under which lease a session is held from here on, and which event is its last.
	Stands(id troupe.SessionID, l troupe.Lease, seq int64)
	// AddTree adds to the counts of a tree; false: it is not there. None of them comes to be less than nothing.
	AddTree(root troupe.SessionID, d troupe.TreeDelta) (bool, error)
	// Tree is what is known of a tree without a question.
	Tree(root troupe.SessionID) (troupe.Tree, bool)
	// Stamp sets what a session that is appended to has in this dialect alone.
	Stamp() string
}

// Reader is a store.Reader in the transaction that its connection is in.
type Reader struct {
	conn  Conn
	ahead Ahead // nil: each statement is answered before the next
	// failed is the first failure of the database itself. It may have rolled the transaction back by then, so nothing
	// may run after it: it would commit by itself.
	failed error
}

var _ store.Reader = (*Reader)(nil)

// NewReader reads by a connection until End.
func NewReader(c Conn) *Reader {
	ahead, _ := c.(Ahead) // a Conn need not be one
	return &Reader{conn: c, ahead: ahead}
}

// End has it answer nothing any more. It returns what failed until then.
func (r *Reader) End() error {
	failed := r.failed
	r.failed = errOver
	return failed
}

// fail keeps err, a failure of the database while doing something, and explains it.
func (r *Reader) fail(doing string, err error) error {
	r.failed = r.conn.Explain(doing, err)
	return r.failed
}

// FromTree is where Scan.Tree's columns are read.
const FromTree = `FROM trees t JOIN (SELECT root AS of, name FROM sessions WHERE root = ?1 AND id = ?1) r ON r.of = t.root
	WHERE t.root = ?1`

// limit ends a statement whose last value is the most rows that it returns. SQLite plans by the value of a
// bare LIMIT ?, and so compiles the statement anew each time one is bound; by this it does not.
const limit = ` LIMIT ? + 0`

// Query calls each for every row of a result.
func (r *Reader) Query(doing string, each func(Row) error, sql string, args ...any) error {
	if r.failed != nil {
		return r.failed
	}
	if err := r.conn.Query(each, sql, args...); err != nil {
		return r.fail(doing, err)
	}
	return nil
}

func (r *Reader) Session(id troupe.SessionID) (s troupe.Session, err error) {
	found := false
	err = r.Query("read session "+string(id), func(row Row) error {
		s, found = row.Scan().Session(), true
		return nil
	}, `SELECT `+SessionColumns+` FROM sessions WHERE id = ?`, string(id))
	if err == nil && !found {
		err = fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	return s, err
}

func (r *Reader) Sessions(f store.Filter) (out []troupe.Session, err error) {
	sql, args := r.filter(f)
	err = r.Query("list sessions", func(row Row) error {
		out = append(out, row.Scan().Session())
		return nil
	}, sql, args...)
	return out, err
}

// filter builds the query of a filter. The text depends only on which fields are set, so that each combination is
// prepared once.
func (r *Reader) filter(f store.Filter) (sql string, args []any) {
	var q query
	if f.Root != "" {
		q.and("root = ?", string(f.Root))
	}
	if f.Parent != "" {
		// The tree comes first in the key, so find it first.
		q.and("root = (SELECT root FROM sessions WHERE id = ?) AND parent = ?", string(f.Parent), string(f.Parent))
	}
	if f.RootsOnly {
		q.and("parent = ''")
	}
	if f.IDPrefix != "" {
		q.and("id >= ? AND id < ?", f.IDPrefix, f.IDPrefix+"\U0010ffff")
	}
	if f.Name != "" {
		q.and(r.conn.SameName("?")+" AND name <> ''", f.Name) // the second half lets the index of root names serve
	}
	if f.Cwd != "" {
		q.and("cwd = ?", f.Cwd)
	}
	if f.Status != "" {
		q.and("status = ?"+rare(f.Status), string(f.Status))
	}
	if f.Waiting != "" {
		q.and("waiting = ?", string(f.Waiting))
	}
	if f.By != "" {
		q.and("begun_by = ?", f.By)
	}
	if f.Text != "" {
		q.and(r.conn.Worded("?"), store.Lower(f.Text))
	}
	if f.Archived != nil {
		q.and(r.archived(f))
	}
	if f.After != "" {
		than := " > "
		if f.Newest {
			than = " < "
		}
		q.and("born"+than+"(SELECT born FROM sessions WHERE id = ?)", string(f.After))
	}
	order := ` ORDER BY born`
	if f.Newest {
		order += ` DESC`
	}
	rest := q.where() + order
	if f.Limit > 0 {
		rest += limit
		q.args = append(q.args, f.Limit)
	}
	if f.Text != "" && f.RootsOnly { // the index is enough to find them
		outer := ""
		if f.Archived != nil {
			outer = " AND " + r.archived(f)
		}
		rest = ` WHERE parent = ''` + outer + ` AND born IN (SELECT born FROM sessions` + rest + `)` + order
	}
	return `SELECT ` + SessionColumns + ` FROM sessions` + rest, q.args
}

// archived is the condition whether a session is archived. Rare statuses and texts have indexes of their own.
func (r *Reader) archived(f store.Filter) string {
	cond := "archived = 0"
	if *f.Archived {
		cond = "archived = 1"
	}
	if f.Text != "" || f.Status != "" && rare(f.Status) != "" {
		cond = r.conn.Aside(cond)
	}
	return cond
}

// rare adds what is true of every session with a status that few have, as the indexes of these say it.
func rare(s troupe.Status) string {
	switch {
	case s.Live():
		return " AND ended_at = 0"
	case s.Ended() && s != troupe.Completed:
		return " AND cause <> ''"
	}
	return ""
}

// query gathers the conditions of a SELECT.
type query struct {
	conds []string
	args  []any
}

func (q *query) and(cond string, vals ...any) {
	q.conds = append(q.conds, cond)
	q.args = append(q.args, vals...)
}

func (q *query) where() string {
	if len(q.conds) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(q.conds, ` AND `)
}

func (r *Reader) Lease(id troupe.SessionID) (l troupe.Lease, err error) {
	found := false
	err = r.Query("read the lease of session "+string(id), func(row Row) error {
		l, found = row.Scan().Lease(), true
		return nil
	}, `SELECT `+LeaseColumns+` FROM sessions WHERE id = ?`, string(id))
	if err == nil && !found {
		err = fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	return l, err
}

func (r *Reader) Events(id troupe.SessionID, after int64, most int) (out []troupe.Event, err error) {
	if most <= 0 {
		most = math.MaxInt32
	}
	found, last := false, int64(0)
	after = max(after, 0)
	err = r.Query("read the log of session "+string(id), func(row Row) error {
		found, last = true, row.Int64(5)
		if row[1] == nil {
			return nil // the session, without an event
		}
		body, err := decodeEvent(row.Text(3), row.Bytes(4))
		if want := after + int64(len(out)) + 1; err == nil && row.Int64(1) != want {
			err = &Undecodable{fmt.Errorf("it is followed by event %d", row.Int64(1))}
			return fmt.Errorf("event %d: %w", want-1, err)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", row.Int64(1), err)
		}
		out = append(out, troupe.Event{
			Root: troupe.SessionID(row.Text(0)), Session: id, Seq: row.Int64(1), At: ReadTime(row.Int64(2)), Body: body,
		})
		return nil
	}, `SELECT s.root, e.seq, e.at, e.kind, e.body, s.seq
		FROM sessions s LEFT JOIN (SELECT seq, at, kind, body FROM events
			WHERE root = (SELECT root FROM sessions WHERE id = ?2) AND session = ?2 AND seq > ?1
			ORDER BY seq LIMIT ?3 + 0) e ON true
		WHERE s.id = ?2 ORDER BY e.seq`, after, string(id), most) // by the index, also where much follows
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	if have := after + int64(len(out)); have < last && len(out) < most {
		return nil, r.fail("read the log of session "+string(id),
			&Undecodable{fmt.Errorf("it ends with event %d and not with %d", have, last)})
	}
	return out, nil
}

func (r *Reader) Unread(to troupe.SessionID) (out []troupe.Mail, err error) {
	found := false
	err = r.Query("read the mail of session "+string(to), func(row Row) error {
		found = true
		if row[0] == nil {
			return nil // the session, without mail
		}
		var m troupe.Mail
		if err := json.Unmarshal(row.Bytes(0), &m); err != nil {
			return &Undecodable{fmt.Errorf("decode mail: %w", err)}
		}
		out = append(out, m)
		return nil
	}, `SELECT m.body FROM sessions s LEFT JOIN mail m ON m.root = s.root AND m.receiver = s.id AND m.delivered = 0
		WHERE s.id = ? ORDER BY m.sent`, string(to))
	if err == nil && !found {
		err = fmt.Errorf("session %q: %w", to, troupe.ErrNotFound)
	}
	return out, err
}

func (r *Reader) Mailboxes(root troupe.SessionID) (out []troupe.SessionID, err error) {
	err = r.Query("look into the mailboxes of tree "+string(root), func(row Row) error {
		out = append(out, troupe.SessionID(row.Text(0)))
		return nil
	}, `SELECT DISTINCT receiver FROM mail WHERE root = ? AND delivered = 0 ORDER BY receiver`, string(root))
	return out, err
}

func (r *Reader) Tree(root troupe.SessionID) (t troupe.Tree, err error) {
	if r.failed != nil {
		return t, r.failed
	}
	if r.ahead != nil {
		if t, known := r.ahead.Tree(root); known {
			return t, nil
		}
	}
	found := false
	look := func() error {
		return r.Query("read tree "+string(root), func(row Row) error {
			t, found = row.Scan().Tree(root), true
			return nil
		}, `SELECT `+CapsColumns+`, `+TreeColumns+`, name `+FromTree, string(root))
	}
	if err = look(); err != nil || found {
		return t, err
	}
	orphans := false
	err = r.Query("look for sessions of tree "+string(root), func(Row) error { orphans = true; return nil },
		`SELECT 1 FROM sessions WHERE root = ? LIMIT 1`, string(root))
	switch {
	case err != nil:
		return t, err
	case orphans: // another process may have made it between the two: in an Update each statement sees what is there
		if err = look(); err != nil || found {
			return t, err
		}
		return t, r.fail("read tree "+string(root), &Undecodable{errors.New("it has sessions and no row")})
	}
	return t, fmt.Errorf("tree %q: %w", root, troupe.ErrNotFound)
}

// Document implements store.Reader.
func (r *Reader) Document(root troupe.SessionID, hash string) (body []byte, err error) {
	found := false
	err = r.Query("read document "+hash+" of tree "+string(root), func(row Row) error {
		body, found = row.Bytes(0), true // the driver made it for this row
		return nil
	}, r.conn.Document(), string(root), hash)
	if err == nil && !found {
		err = fmt.Errorf("document %s of tree %q: %w", hash, root, troupe.ErrNotFound)
	}
	return body, err
}
