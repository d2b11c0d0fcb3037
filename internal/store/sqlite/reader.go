package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// errOver is what a Reader or Tx answers that outlived its function.
var errOver = errors.New("the transaction is over; a Reader or Tx must not leave its function")

// reader reads in the transaction its connection is in.
type reader struct {
	c    *conn
	path string
	// failed is the first failure of the database itself. SQLite may have rolled the
	// transaction back by then, so nothing may run after it: it would commit by itself.
	failed error
}

var _ store.Reader = (*reader)(nil)

// fail keeps err, a failure of the database while doing something, and explains it.
func (r *reader) fail(doing string, err error) error {
	r.failed = explain(r.path, doing, err)
	return r.failed
}

// limit ends a statement whose last value is the most rows that it returns. SQLite plans by the value of a
// bare LIMIT ?, and so compiles the statement anew each time one is bound; by this it does not.
const limit = ` LIMIT ? + 0`

func (r *reader) query(doing string, each func(row) error, sql string, args ...any) error {
	if r.failed != nil {
		return r.failed
	}
	if err := r.c.query(each, sql, args...); err != nil {
		return r.fail(doing, err)
	}
	return nil
}

func (r *reader) Session(id troupe.SessionID) (s troupe.Session, err error) {
	found := false
	err = r.query("read session "+string(id), func(row row) error {
		s, found = row.scan().session(), true
		return nil
	}, `SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, string(id))
	if err == nil && !found {
		err = fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	return s, err
}

func (r *reader) Sessions(f store.Filter) (out []troupe.Session, err error) {
	sql, args := filterSQL(f)
	err = r.query("list sessions", func(row row) error {
		out = append(out, row.scan().session())
		return nil
	}, sql, args...)
	return out, err
}

// filterSQL builds the query of a filter. The text depends only on which fields are set,
// so that each combination is prepared once.
func filterSQL(f store.Filter) (sql string, args []any) {
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
		q.and("name = ? AND name <> ''", f.Name) // the second half lets the index of root names serve
	}
	if f.Cwd != "" {
		q.and("cwd = ?", f.Cwd)
	}
	if f.Status != "" {
		q.and("status = ?", string(f.Status))
	}
	if f.Waiting != "" {
		q.and("waiting = ?", string(f.Waiting))
	}
	sql = `SELECT ` + sessionColumns + ` FROM sessions` + q.where() + ` ORDER BY born`
	if f.Newest {
		sql += ` DESC`
	}
	if f.Limit > 0 {
		sql += limit
		q.args = append(q.args, f.Limit)
	}
	return sql, q.args
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

func (r *reader) Lease(id troupe.SessionID) (l troupe.Lease, err error) {
	found := false
	err = r.query("read the lease of session "+string(id), func(row row) error {
		l, found = row.scan().lease(), true
		return nil
	}, `SELECT `+leaseColumns+` FROM sessions WHERE id = ?`, string(id))
	if err == nil && !found {
		err = fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	return l, err
}

func (r *reader) Events(id troupe.SessionID, after int64, most int) (out []troupe.Event, err error) {
	if most <= 0 {
		most = -1
	}
	found, last := false, int64(0)
	after = max(after, 0)
	err = r.query("read the log of session "+string(id), func(row row) error {
		found, last = true, row.int64(5)
		if row[1] == nil {
			return nil // the session, without an event
		}
		body, err := decodeEvent(row.text(3), row.bytes(4))
		if want := after + int64(len(out)) + 1; err == nil && row.int64(1) != want {
			err = &undecodable{fmt.Errorf("it is followed by event %d", row.int64(1))}
			return fmt.Errorf("event %d: %w", want-1, err)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", row.int64(1), err)
		}
		out = append(out, troupe.Event{
			Root: troupe.SessionID(row.text(0)), Session: id, Seq: row.int64(1), At: readTime(row.int64(2)), Body: body,
		})
		return nil
	}, `SELECT s.root, e.seq, e.at, e.kind, e.body, s.seq
		FROM sessions s LEFT JOIN events e ON e.root = s.root AND e.session = s.id AND e.seq > ?
		WHERE s.id = ? ORDER BY e.seq`+limit, after, string(id), most)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("session %q: %w", id, troupe.ErrNotFound)
	}
	if have := after + int64(len(out)); have < last && (most < 0 || len(out) < most) {
		return nil, r.fail("read the log of session "+string(id),
			&undecodable{fmt.Errorf("it ends with event %d and not with %d", have, last)})
	}
	return out, nil
}

func (r *reader) Unread(to troupe.SessionID) (out []troupe.Mail, err error) {
	found := false
	err = r.query("read the mail of session "+string(to), func(row row) error {
		found = true
		if row[0] == nil {
			return nil // the session, without mail
		}
		var m troupe.Mail
		if err := json.Unmarshal(row.bytes(0), &m); err != nil {
			return &undecodable{fmt.Errorf("decode mail: %w", err)}
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

func (r *reader) Mailboxes(root troupe.SessionID) (out []troupe.SessionID, err error) {
	err = r.query("look into the mailboxes of tree "+string(root), func(row row) error {
		out = append(out, troupe.SessionID(row.text(0)))
		return nil
	}, `SELECT DISTINCT receiver FROM mail WHERE root = ? AND delivered = 0 ORDER BY receiver`, string(root))
	return out, err
}

func (r *reader) Tree(root troupe.SessionID) (t troupe.Tree, err error) {
	found := false
	err = r.query("read tree "+string(root), func(row row) error {
		t, found = row.scan().tree(root), true
		return nil
	}, `SELECT `+capsColumns+`, `+treeColumns+`, name
		FROM trees t JOIN (SELECT root AS of, name FROM sessions WHERE root = ?1 AND id = ?1) ON of = t.root
		WHERE t.root = ?1`, string(root))
	if err != nil || found {
		return t, err
	}
	orphans := false
	err = r.query("look for sessions of tree "+string(root), func(row) error { orphans = true; return nil },
		`SELECT 1 FROM sessions WHERE root = ? LIMIT 1`, string(root))
	switch {
	case err != nil:
		return t, err
	case orphans:
		return t, r.fail("read tree "+string(root), &undecodable{errors.New("it has sessions and no row")})
	}
	return t, fmt.Errorf("tree %q: %w", root, troupe.ErrNotFound)
}

func (r *reader) Document(root troupe.SessionID, hash string) (body []byte, err error) {
	found := false
	err = r.query("read document "+hash+" of tree "+string(root), func(row row) error {
		body, found = row.bytes(0), true // the driver made it for this row
		return nil
	}, `SELECT b.body FROM documents d JOIN bodies b ON b.hash = d.hash
		WHERE d.root = ? AND d.hash = ?`, string(root), hash)
	if err == nil && !found {
		err = fmt.Errorf("document %s of tree %q: %w", hash, root, troupe.ErrNotFound)
	}
	return body, err
}
