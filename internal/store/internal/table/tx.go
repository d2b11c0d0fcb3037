package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Tx is a store.Tx in the transaction that its connection is in, for one function; how a tree puts and
// drops documents is the dialect's.
type Tx struct {
	Reader

	root troupe.SessionID
	// wrote is set by the first statement that changed a row. A function that fails before
	// it leaves nothing to undo.
	wrote bool
	// parent is one that Insert has seen to be there; a reply's children have the same.
	parent troupe.SessionID
}

// NewTx writes to a tree by a connection until End.
func NewTx(c Conn, root troupe.SessionID) *Tx { return &Tx{Reader: *NewReader(c), root: root} }

// Exec runs a statement.
func (t *Tx) Exec(doing, sql string, args ...any) (int64, error) {
	if t.failed != nil {
		return 0, t.failed
	}
	n, err := t.conn.Exec(sql, args...)
	if err != nil {
		return 0, t.fail(doing, err)
	}
	if n > 0 {
		t.wrote = true
	}
	return n, nil
}

// refuse keeps a mistake of the caller: the function's writes must not be committed, even
// if it goes on as if nothing had happened.
func (t *Tx) refuse(format string, args ...any) error {
	if t.failed == nil {
		t.failed = fmt.Errorf(format, args...)
	}
	return t.failed
}

// InTree refuses to write outside the transaction's tree.
func (t *Tx) InTree(root troupe.SessionID, doing string) error {
	if root != t.root {
		return t.refuse("%s: it is in tree %q, but the transaction is of tree %q", doing, root, t.root)
	}
	return nil
}

// InsertSession has 40 values: SessionColumns and the lease.
const InsertSession = `INSERT INTO sessions (` + SessionColumns + `, ` + LeaseColumns + `)
	VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`

func (t *Tx) Insert(s troupe.Session, l troupe.Lease, caps *troupe.Caps) error {
	doing := fmt.Sprintf("insert session %s (%q)", s.ID, s.Name)
	if err := t.InTree(s.Root, doing); err != nil {
		return err
	}
	if s.Seq != 0 {
		return t.refuse("%s: it has no events yet, so its Seq must be 0, not %d", doing, s.Seq)
	}
	if s.Parent != "" && s.Parent != t.parent {
		if err := t.MustExist(s.Parent, doing); err != nil {
			return err
		}
		t.parent = s.Parent
	}
	n, err := t.Exec(doing, InsertSession, SessionArgs(s, l)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return t.clash(s, doing)
	}
	t.stands(s.ID, l, 0)
	if s.Parent != "" {
		return nil
	}
	if caps == nil {
		caps = &troupe.Caps{}
	}
	_, err = t.Exec(doing, `INSERT INTO trees (root, `+CapsColumns+`)
		VALUES (?,?,?,?,?,?,?,?)`, append([]any{string(s.ID)}, CapsArgs(*caps)...)...)
	return err
}

// clash finds out why a session could not be inserted.
func (t *Tx) clash(s troupe.Session, doing string) error {
	var what string
	err := t.Query(doing, func(r Row) error {
		switch int64(1) {
		case r.Int64(0):
			what = "the id is taken"
		case r.Int64(1):
			what = fmt.Sprintf("call %d of reply %d has its session", s.Coord.Call, s.Coord.Reply)
		case r.Int64(2):
			what = fmt.Sprintf("%s has a child named %q", s.Parent, s.Name)
		case r.Int64(3):
			what = fmt.Sprintf("a root named %q exists", s.Name)
		}
		return nil
	}, `SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1),
		EXISTS (SELECT 1 FROM sessions WHERE root = ?2 AND parent = ?3 AND parent <> '' AND reply = ?4 AND call = ?5),
		EXISTS (SELECT 1 FROM sessions WHERE root = ?2 AND parent = ?3 AND parent <> '' AND `+t.conn.SameName("?6")+`),
		EXISTS (SELECT 1 FROM sessions WHERE ?3 = '' AND parent = '' AND `+t.conn.SameName("?6")+` AND name <> '')`,
		string(s.ID), string(s.Root), string(s.Parent), s.Coord.Reply, s.Coord.Call, s.Name)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %s: %w", doing, what, troupe.ErrExists)
}

// MustExist demands a session in the transaction's tree.
func (t *Tx) MustExist(id troupe.SessionID, doing string) error {
	found := false
	err := t.Query(doing, func(Row) error { found = true; return nil },
		`SELECT 1 FROM sessions WHERE root = ? AND id = ?`, string(t.root), string(id))
	if err == nil && !found {
		err = fmt.Errorf("%s: session %q in tree %q: %w", doing, id, t.root, troupe.ErrNotFound)
	}
	return err
}

// The fence is the update itself: it changes the one row that is held under the lease and
// stands right before the first event, or none.
const (
	appendSession = `UPDATE sessions SET
	title = ?, model = ?, status = ?, waiting = ?, cause = ?, run = ?, seq = ?, input = ?, output = ?,
	cache_read = ?, cache_write = ?, cost = ?, turns = ?, tool_uses = ?, result = ?, error = ?,
	started_at = ?, ended_at = ?, until = ?, held_tokens = ?, held_cost = ?, held_turns = ?, cut = ?,
	workspace = ?, asleep_at = ?, archived = ?`
	fencedSession = ` WHERE root = ? AND id = ? AND owner = ? AND epoch = ? AND seq = ?`
)

func (t *Tx) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	doing := "append to session " + string(s.ID)
	if err := t.InTree(s.Root, doing); err != nil {
		return err
	}
	if err := checkEvents(s, events); err != nil {
		return t.refuse("%s: %w", doing, err)
	}
	if named(events) {
		if err := t.rename(doing, l, s, events[0].Seq-1); err != nil {
			return err
		}
	}
	if err := t.fence(doing, l, s, events[0].Seq-1); err != nil {
		return err
	}
	rows := make([][]any, len(events))
	for i, e := range events {
		body, err := troupe.EncodeBody(e.Body)
		if err != nil {
			return t.refuse("%s: event %d: %w", doing, e.Seq, err)
		}
		rows[i] = []any{string(s.Root), string(s.ID), e.Seq, WriteTime(e.At), string(e.Body.Kind()), body}
	}
	if t.ahead != nil {
		t.wrote = true
		t.ahead.Events(rows)
		return nil
	}
	for _, row := range rows {
		if _, err := t.Exec(doing, `INSERT INTO events (`+EventColumns+`) VALUES (?,?,?,?,?,?)`, row...); err != nil {
			return err
		}
	}
	return nil
}

// named reports whether a root is given another name.
func named(events []troupe.Event) bool {
	return slices.ContainsFunc(events, func(e troupe.Event) bool {
		b, ok := e.Body.(troupe.SessionChanged)
		return ok && b.Name != ""
	})
}

// rename gives a root another name, if it is free and the session may be appended to.
func (t *Tx) rename(doing string, l troupe.Lease, s troupe.Session, before int64) error {
	taken := false
	if err := t.Query(doing, func(Row) error { taken = true; return nil }, `SELECT 1 FROM sessions WHERE parent = '' AND
		name <> '' AND `+t.conn.SameName("?1")+` AND id <> ?2`, s.Name, string(s.ID)); err != nil {
		return err
	}
	if taken {
		return fmt.Errorf("%s: a root named %q exists: %w", doing, s.Name, troupe.ErrExists)
	}
	_, err := t.Exec(doing, `UPDATE sessions SET name = ?`+fencedSession+` AND parent = ''`, s.Name, string(s.Root),
		string(s.ID), string(l.Owner), l.Epoch, before)
	return err
}

// atWork reports whether a session is what the tables take for certain, as most are that are appended to.
func atWork(s troupe.Session) bool {
	u, h := s.Tally.Usage, s.Reserved
	least := min(u.Input, u.Output, u.CacheRead, u.CacheWrite, int64(s.Tally.Cost), int64(s.Tally.Turns),
		int64(s.Tally.ToolUses), h.Tokens, int64(h.Cost), int64(h.Turns))
	waits := s.Status == troupe.Waiting && slices.Contains(troupe.WaitReasons(), s.Waiting)
	runs := s.Status == troupe.Running && s.Waiting == "" && s.Until.IsZero()
	return (waits || runs) && s.Run > 0 && !s.StartedAt.IsZero() && s.EndedAt.IsZero() && s.Cause == "" && least >= 0
}

// fence makes a session what it is from here on, if it is held under the lease and stands where the events begin.
func (t *Tx) fence(doing string, l troupe.Lease, s troupe.Session, before int64) error {
	u := s.Tally.Usage
	sql, args := appendSession+fencedSession, []any{
		s.Title, s.Model, string(s.Status), string(s.Waiting), string(s.Cause), s.Run, s.Seq, u.Input, u.Output,
		u.CacheRead, u.CacheWrite, int64(s.Tally.Cost), s.Tally.Turns, s.Tally.ToolUses, s.Result, s.Error,
		WriteTime(s.StartedAt), WriteTime(s.EndedAt), WriteTime(s.Until), s.Reserved.Tokens, int64(s.Reserved.Cost),
		s.Reserved.Turns, boolArg(s.Cut), writeWorkspace(s.Workspace), WriteTime(s.AsleepAt),
		boolArg(s.Archived), string(s.Root), string(s.ID), string(l.Owner), l.Epoch, before}
	holds, known := false, false
	if t.ahead != nil {
		sql = appendSession + t.ahead.Stamp() + fencedSession
		holds, known = t.ahead.Fence(s.ID, l, before)
	}
	if holds && known && atWork(s) {
		t.wrote = true
		t.stands(s.ID, l, s.Seq)
		if err := t.ahead.Later(sql, args...); err != nil {
			return t.fail(doing, err)
		}
		return nil
	}
	n := int64(0)
	if holds || !known {
		var err error
		if n, err = t.Exec(doing, sql, args...); err != nil {
			return err
		}
	}
	if n == 0 {
		return fmt.Errorf("%s: it is not held by %q in epoch %d with event %d as its last: %w",
			doing, l.Owner, l.Epoch, before, troupe.ErrFenced)
	}
	t.stands(s.ID, l, s.Seq)
	return nil
}

func (t *Tx) stands(id troupe.SessionID, l troupe.Lease, seq int64) {
	if t.ahead != nil {
		t.ahead.Stands(id, l, seq)
	}
}

// checkEvents holds an Append to its own words, before the database is asked.
func checkEvents(s troupe.Session, events []troupe.Event) error {
	if len(events) == 0 {
		return fmt.Errorf("a projection changes only with an event, and there is none")
	}
	for i, e := range events {
		if e.Root != s.Root || e.Session != s.ID {
			return fmt.Errorf("event %d is of session %q in tree %q", e.Seq, e.Session, e.Root)
		}
		if e.Body == nil {
			return fmt.Errorf("event %d has no body", e.Seq)
		}
		if e.Seq != events[0].Seq+int64(i) {
			return fmt.Errorf("event %d comes after event %d: %w", e.Seq, events[i-1].Seq, troupe.ErrFenced)
		}
	}
	if last := events[len(events)-1].Seq; s.Seq != last {
		return fmt.Errorf("the projection stands at event %d, the events end with %d: %w", s.Seq, last,
			troupe.ErrFenced)
	}
	return nil
}

func (t *Tx) Claim(id troupe.SessionID, owner troupe.OwnerID) (troupe.Lease, error) {
	doing := "claim session " + string(id)
	n, err := t.Exec(doing, `UPDATE sessions SET owner = ?, epoch = epoch + 1 WHERE root = ? AND id = ?`,
		string(owner), string(t.root), string(id))
	if err != nil {
		return troupe.Lease{}, err
	}
	if n == 0 {
		return troupe.Lease{}, fmt.Errorf("%s in tree %q: %w", doing, t.root, troupe.ErrNotFound)
	}
	// Damage can take the end of a log and leave what it did to the mailbox. What stands as read by an event that
	// is not there was not read: were it kept, the same mail could not be sent again.
	if _, err := t.Exec(doing, ForgetUnwritten+` (SELECT seq FROM sessions WHERE root = ? AND id = ?)`,
		string(t.root), string(id), string(t.root), string(id)); err != nil {
		return troupe.Lease{}, err
	}
	s, err := t.Session(id)
	if err != nil {
		return troupe.Lease{}, err
	}
	l, err := t.Lease(id)
	if err == nil {
		t.stands(id, l, s.Seq)
	}
	return l, err
}

// ForgetUnwritten forgets mail of a session that stands as read behind an event.
const ForgetUnwritten = `DELETE FROM mail WHERE root = ? AND receiver = ? AND delivered >`

func (t *Tx) Send(m troupe.Mail) (bool, error) {
	doing := fmt.Sprintf("send mail %s to session %s", m.ID, m.To)
	if err := t.InTree(m.Root, doing); err != nil {
		return false, err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return false, t.refuse("%s: %w", doing, err)
	}
	n, err := t.Exec(doing, `INSERT INTO mail (`+MailColumns+`) SELECT ?,?,?,0,?
		WHERE EXISTS (SELECT 1 FROM sessions WHERE root = ? AND id = ?)
		ON CONFLICT (root, receiver, id) DO NOTHING`,
		string(m.Root), string(m.To), string(m.ID), body, string(m.Root), string(m.To))
	if err != nil || n == 1 {
		return n == 1, err
	}
	return false, t.MustExist(m.To, doing)
}

func (t *Tx) MarkDelivered(to troupe.SessionID, seq int64, ids []troupe.MailID) error {
	doing := "mark mail of session " + string(to) + " delivered"
	if seq <= 0 {
		return t.refuse("%s: event %d cannot have delivered it", doing, seq)
	}
	for _, id := range ids {
		n, err := t.Exec(doing, `UPDATE mail SET delivered = ?, body = NULL
			WHERE root = ? AND receiver = ? AND id = ? AND delivered = 0`,
			seq, string(t.root), string(to), string(id))
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%s: %s is not there, or was delivered before: %w", doing, id, troupe.ErrFenced)
		}
	}
	return nil
}

// AddTree implements store.Tx.
func (t *Tx) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	doing := "add to tree " + string(root)
	if err := t.InTree(root, doing); err != nil {
		return err
	}
	if t.ahead == nil {
		sql, args := new(Sum).Add(d).Statement(root, "")
		n, err := t.Exec(doing, sql, args...)
		return orNotFound(n, err, doing)
	}
	if t.failed != nil {
		return t.failed
	}
	there, err := t.ahead.AddTree(root, d)
	if err != nil {
		return t.fail(doing, err)
	}
	if !there {
		return fmt.Errorf("%s: %w", doing, troupe.ErrNotFound)
	}
	t.wrote = true
	return nil
}

func (t *Tx) SetCaps(root troupe.SessionID, caps troupe.Caps) error {
	doing := "set the caps of tree " + string(root)
	if err := t.InTree(root, doing); err != nil {
		return err
	}
	n, err := t.Exec(doing, `UPDATE trees SET (`+CapsColumns+`) = (?,?,?,?,?,?,?) WHERE root = ?`,
		append(CapsArgs(caps), string(root))...)
	return orNotFound(n, err, doing)
}

func (t *Tx) DeleteTree(root troupe.SessionID) error {
	doing := "delete tree " + string(root)
	t.parent = ""
	if err := t.InTree(root, doing); err != nil {
		return err
	}
	n, err := t.Exec(doing, `DELETE FROM trees WHERE root = ?`, string(root))
	if err := orNotFound(n, err, doing); err != nil {
		return err
	}
	for _, table := range strings.Fields("events mail requests documents sessions") {
		if _, err := t.Exec(doing, `DELETE FROM `+table+` WHERE root = ?`, string(root)); err != nil {
			return err
		}
	}
	return nil
}

// orNotFound turns an update that met no row into troupe.ErrNotFound.
func orNotFound(n int64, err error, doing string) error {
	if err == nil && n == 0 {
		return fmt.Errorf("%s: %w", doing, troupe.ErrNotFound)
	}
	return err
}
