package memstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// tx writes in place and keeps how to undo it.
type tx struct {
	reader
	root troupe.SessionID
	undo []func()
}

var _ store.Tx = (*tx)(nil)

func newTx(db *DB, root troupe.SessionID) *tx {
	return &tx{reader: reader{db: db}, root: root}
}

// run gives fn its turn, and undoes what it did unless it went well.
func (t *tx) run(fn func(store.Tx) error) (err error) {
	done := false
	defer func() {
		if !done || err != nil {
			t.undoAll() // also when fn panics or ends the goroutine
		}
		t.failed = errOver
	}()
	err = fn(t)
	if err == nil {
		err = t.failed
	}
	done = true
	return err
}

func (t *tx) undoAll() {
	for _, u := range slices.Backward(t.undo) {
		u()
	}
	t.undo = nil
}

// refuse keeps a mistake of the caller: the function's writes must not stand, even if it
// goes on as if nothing had happened.
func (t *tx) refuse(format string, args ...any) error {
	if t.failed == nil {
		t.failed = fmt.Errorf(format, args...)
	}
	return t.failed
}

// inTree refuses to write outside the transaction's tree.
func (t *tx) inTree(root troupe.SessionID, doing string, what any) error {
	if t.failed != nil {
		return t.failed
	}
	if root != t.root {
		return t.refuse("%s %s: it is in tree %q, but the transaction is of tree %q", doing, what, root, t.root)
	}
	return nil
}

func (t *tx) Insert(s troupe.Session, l troupe.Lease, caps *troupe.Caps) error {
	if err := t.inTree(s.Root, "insert session", s.ID); err != nil {
		return err
	}
	if s.Seq != 0 {
		return t.refuse("insert session %s: it has no events yet, so its Seq must be 0, not %d", s.ID, s.Seq)
	}
	var parent *session
	if s.Parent != "" {
		parent = t.db.sessions[s.Parent]
		if parent == nil || parent.Root != s.Root {
			return fmt.Errorf("insert session %s: parent %q in tree %q: %w", s.ID, s.Parent, s.Root, troupe.ErrNotFound)
		}
	}
	if err := checkSession(s); err != nil {
		return t.refuse("insert session %s: %w", s.ID, err)
	}
	if err := t.clash(s, parent); err != nil {
		return fmt.Errorf("insert session %s: %w: %w", s.ID, err, troupe.ErrExists)
	}
	t.add(&session{Session: normal(s), lease: l, birth: len(t.db.births)}, parent, caps)
	return nil
}

// clash finds what of s is taken.
func (t *tx) clash(s troupe.Session, parent *session) error {
	name := store.Lower(s.Name)
	if t.db.sessions[s.ID] != nil {
		return errors.New("the id is taken")
	}
	if parent == nil {
		if _, taken := t.db.names[name]; taken && name != "" {
			return fmt.Errorf("a root named %q exists", s.Name)
		}
		return nil
	}
	if _, taken := parent.coords[s.Coord]; taken {
		return fmt.Errorf("call %d of reply %d has its session", s.Coord.Call, s.Coord.Reply)
	}
	if _, taken := parent.names[name]; taken {
		return fmt.Errorf("%s has a child named %q", s.Parent, s.Name)
	}
	return nil
}

func (t *tx) add(s, parent *session, caps *troupe.Caps) {
	db, id, name := t.db, s.ID, store.Lower(s.Name)
	db.sessions[id] = s
	db.births = append(db.births, s)
	t.undo = append(t.undo, func() {
		delete(db.sessions, id)
		db.births = db.births[:len(db.births)-1]
	})
	if parent != nil {
		if parent.names == nil {
			parent.names, parent.coords = map[string]struct{}{}, map[troupe.Coord]struct{}{}
		}
		parent.names[name], parent.coords[s.Coord] = struct{}{}, struct{}{}
		tr := db.trees[s.Root]
		tr.members = append(tr.members, s)
		t.undo = append(t.undo, func() {
			delete(parent.names, name)
			delete(parent.coords, s.Coord)
			tr.members = tr.members[:len(tr.members)-1]
		})
		return
	}
	tr := &tree{members: []*session{s}, documents: map[string][]byte{}}
	if caps != nil {
		tr.caps = *caps
	}
	db.trees[id] = tr
	t.undo = append(t.undo, func() { delete(db.trees, id) })
	if name != "" {
		db.names[name] = id
		t.undo = append(t.undo, func() { delete(db.names, name) })
	}
}

// normal is s as it comes back from a database.
func normal(s troupe.Session) troupe.Session {
	s.CreatedAt = readTime(writeTime(s.CreatedAt))
	s.StartedAt = readTime(writeTime(s.StartedAt))
	s.EndedAt = readTime(writeTime(s.EndedAt))
	s.Until = readTime(writeTime(s.Until))
	return s
}

func (t *tx) Append(l troupe.Lease, s troupe.Session, events []troupe.Event) error {
	if err := t.inTree(s.Root, "append to session", s.ID); err != nil {
		return err
	}
	if err := checkEvents(s, events); err != nil {
		return t.refuse("append to session %s: %w", s.ID, err)
	}
	old := t.db.sessions[s.ID]
	if old == nil || old.Root != t.root || old.lease != l || old.Seq != events[0].Seq-1 {
		return fmt.Errorf("append to session %s: it is not held by %q in epoch %d with event %d as its last: %w",
			s.ID, l.Owner, l.Epoch, events[0].Seq-1, troupe.ErrFenced)
	}
	next := normal(s)
	// What a session was born as does not change.
	next.Parent, next.Coord, next.Depth = old.Parent, old.Coord, old.Depth
	name := next.Name
	if next.Name = old.Name; old.Parent == "" && named(events) {
		next.Name = name
	}
	next.Cwd, next.Type, next.CreatedAt = old.Cwd, old.Type, old.CreatedAt
	if err := checkSession(next); err != nil {
		return t.refuse("append to session %s: %w", s.ID, err)
	}
	if next.Name != old.Name {
		if err := t.rename(s.ID, old.Name, next.Name); err != nil {
			return fmt.Errorf("append to session %s: %w", s.ID, err)
		}
	}
	before, n := old.Session, len(old.events)
	t.undo = append(t.undo, func() { old.Session, old.events = before, old.events[:n] })
	for _, e := range events {
		body, err := troupe.EncodeBody(e.Body)
		if err != nil {
			return t.refuse("append to session %s: event %d: %w", s.ID, e.Seq, err)
		}
		old.events = append(old.events, event{at: writeTime(e.At), kind: e.Body.Kind(), body: body})
	}
	old.Session = next
	return nil
}

// named reports whether a root is given another name.
func named(events []troupe.Event) bool {
	return slices.ContainsFunc(events, func(e troupe.Event) bool {
		b, ok := e.Body.(troupe.SessionChanged)
		return ok && b.Name != ""
	})
}

// rename gives a root another name, if that is free.
func (t *tx) rename(id troupe.SessionID, from, to string) error {
	names := t.db.names
	from, to = store.Lower(from), store.Lower(to)
	if other, taken := names[to]; taken && other != id {
		return fmt.Errorf("a root named %q exists: %w", to, troupe.ErrExists)
	}
	delete(names, from)
	names[to] = id
	t.undo = append(t.undo, func() {
		delete(names, to)
		if from != "" {
			names[from] = id
		}
	})
	return nil
}

// checkEvents holds an Append to its own words.
func checkEvents(s troupe.Session, events []troupe.Event) error {
	if len(events) == 0 {
		return errors.New("a projection changes only with an event, and there is none")
	}
	for i, e := range events {
		switch {
		case e.Root != s.Root || e.Session != s.ID:
			return fmt.Errorf("event %d is of session %q in tree %q", e.Seq, e.Session, e.Root)
		case e.Body == nil:
			return fmt.Errorf("event %d has no body", e.Seq)
		case e.Seq != events[0].Seq+int64(i):
			return fmt.Errorf("event %d comes after event %d: %w", e.Seq, events[i-1].Seq, troupe.ErrFenced)
		}
	}
	if last := events[len(events)-1].Seq; s.Seq != last {
		return fmt.Errorf("the projection stands at event %d, the events end with %d: %w", s.Seq, last,
			troupe.ErrFenced)
	}
	return nil
}

// here finds a session of the transaction's tree.
func (t *tx) here(id troupe.SessionID) (*session, error) {
	s, err := t.find(id)
	if err == nil && s.Root != t.root {
		s, err = nil, fmt.Errorf("session %q in tree %q: %w", id, t.root, troupe.ErrNotFound)
	}
	return s, err
}

func (t *tx) Claim(id troupe.SessionID, owner troupe.OwnerID) (troupe.Lease, error) {
	s, err := t.here(id)
	if err != nil {
		return troupe.Lease{}, fmt.Errorf("claim: %w", err)
	}
	before := s.lease
	t.undo = append(t.undo, func() { s.lease = before })
	s.lease = troupe.Lease{Owner: owner, Epoch: before.Epoch + 1}
	return s.lease, nil
}

func (t *tx) Send(m troupe.Mail) (bool, error) {
	if err := t.inTree(m.Root, "send mail", m.ID); err != nil {
		return false, err
	}
	s, err := t.here(m.To)
	if err != nil {
		return false, fmt.Errorf("send mail %s: %w", m.ID, err)
	}
	if s.mail[m.ID] != nil {
		return false, nil
	}
	body, err := json.Marshal(m)
	if err != nil {
		return false, t.refuse("send mail %s: %w", m.ID, err)
	}
	if s.mail == nil {
		s.mail = map[troupe.MailID]*mail{}
	}
	sent, before := &mail{body: body}, s.unread
	t.undo = append(t.undo, func() {
		delete(s.mail, m.ID)
		s.unread = before
	})
	s.mail[m.ID] = sent
	// A slice of its own, without what was delivered meanwhile: before stays as it is.
	s.unread = append(slices.DeleteFunc(slices.Clone(before), func(m *mail) bool { return m.delivered != 0 }), sent)
	return true, nil
}

func (t *tx) MarkDelivered(to troupe.SessionID, seq int64, ids []troupe.MailID) error {
	if t.failed != nil {
		return t.failed
	}
	if seq <= 0 {
		return t.refuse("mark mail of session %s delivered: event %d cannot have delivered it", to, seq)
	}
	s := t.db.sessions[to]
	for _, id := range ids {
		var m *mail
		if s != nil && s.Root == t.root {
			m = s.mail[id]
		}
		if m == nil || m.delivered != 0 {
			return fmt.Errorf("mark mail of session %s delivered: %s is not there, or was delivered before: %w", to, id,
				troupe.ErrFenced)
		}
		t.undo = append(t.undo, func() { m.delivered = 0 })
		m.delivered = seq
	}
	return nil
}

func (t *tx) treeToChange(root troupe.SessionID, doing string) (*tree, error) {
	if err := t.inTree(root, doing, root); err != nil {
		return nil, err
	}
	tr := t.db.trees[root]
	if tr == nil {
		return nil, fmt.Errorf("%s %s: %w", doing, root, troupe.ErrNotFound)
	}
	return tr, nil
}

func (t *tx) AddTree(root troupe.SessionID, d troupe.TreeDelta) error {
	tr, err := t.treeToChange(root, "add to tree")
	if err != nil {
		return err
	}
	total, active, tally, reserved, since := tr.total, tr.active, tr.tally, tr.reserved, tr.sincePrompt
	t.undo = append(t.undo, func() {
		tr.total, tr.active, tr.tally, tr.reserved, tr.sincePrompt = total, active, tally, reserved, since
	})
	if d.Prompted {
		tr.sincePrompt = 0
	}
	tr.sincePrompt += d.Total
	tr.reserved = reserved.Add(d.Reserved)
	tr.total, tr.active, tr.tally = total+d.Total, active+d.Active, tally.Add(d.Tally)
	u := tr.tally.Usage
	if min(int64(tr.total), int64(tr.sincePrompt), int64(tr.active), u.Input, u.Output, u.CacheRead, u.CacheWrite,
		int64(tr.tally.Cost), int64(tr.tally.Turns), int64(tr.tally.ToolUses), tr.reserved.Tokens,
		int64(tr.reserved.Cost), int64(tr.reserved.Turns)) < 0 {
		return t.refuse("add to tree %s: its sums would be below zero: %+v", root, d)
	}
	return nil
}

func (t *tx) SetCaps(root troupe.SessionID, caps troupe.Caps) error {
	tr, err := t.treeToChange(root, "set the caps of tree")
	if err != nil {
		return err
	}
	before := tr.caps
	t.undo = append(t.undo, func() { tr.caps = before })
	tr.caps = caps
	return nil
}

func (t *tx) PutDocument(root troupe.SessionID, hash string, body []byte) error {
	tr, err := t.treeToChange(root, "put a document of tree")
	if err != nil {
		return err
	}
	if hash == "" {
		return t.refuse("put a document of tree %s: it has no hash", root)
	}
	if _, known := tr.documents[hash]; !known {
		t.undo = append(t.undo, func() { delete(tr.documents, hash) })
		tr.documents[hash] = slices.Clone(body)
	}
	return nil
}

func (t *tx) DeleteTree(root troupe.SessionID) error {
	tr, err := t.treeToChange(root, "delete tree")
	if err != nil {
		return err
	}
	db := t.db
	delete(db.trees, root)
	t.undo = append(t.undo, func() { db.trees[root] = tr })
	if name := store.Lower(db.sessions[root].Name); name != "" {
		delete(db.names, name)
		t.undo = append(t.undo, func() { db.names[name] = root })
	}
	for id, r := range db.requests {
		if r.Root == root {
			delete(db.requests, id)
			t.undo = append(t.undo, func() { db.requests[id] = r })
		}
	}
	for _, s := range tr.members {
		delete(db.sessions, s.ID)
		db.births[s.birth] = nil
		t.undo = append(t.undo, func() {
			db.sessions[s.ID] = s
			db.births[s.birth] = s
		})
	}
	return nil
}
