package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
	"github.com/troupe-dev/troupe/internal/store/sqlite/pages"
)

// salvage puts rows of a damaged database into a new one. Logs are what counts: sessions, sums and
// requests are projections of them, and made anew.
type salvage struct {
	c       *conn
	path    string
	rebuild Rebuild
	rows    map[troupe.SessionID]salvaged // the rows of sessions that could be read
	caps    map[troupe.SessionID]troupe.Caps
	now     time.Time
	kids    map[troupe.SessionID][]troupe.Session // by their parents
	shapes  []shape
	out     Repaired
}

// salvaged is what of a session's row cannot be had from its log.
type salvaged struct {
	session troupe.Session
	lease   troupe.Lease
}

func (s *salvage) run(ctx context.Context, from *pages.File) (err error) {
	if s.shapes, err = shapesOf(s.c); err != nil {
		return explain(s.path, "read the schema", err)
	}
	s.shapes = append(s.shapes, oldShapes()...)
	bad, err := from.Rows(func(r pages.Row) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s.take(r.ID, r.Columns)
	})
	s.out.BadRows += bad
	if err != nil {
		return err
	}
	if err := errors.Join(s.countRecords(), s.mendKeys()); err != nil {
		return err
	}
	logs, err := s.logs()
	if err != nil {
		return err
	}
	if err := s.findKids(); err != nil {
		return err
	}
	sessions := map[troupe.SessionID]Rebuilt{}
	for _, l := range logs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_, twice := sessions[l.id]
		x, ok, err := s.session(l, twice)
		if err != nil {
			return err
		}
		if ok {
			x.Log = nil // it is in the new database; all logs at once may be more than memory
			sessions[l.id] = x
		}
	}
	for id := range s.rows {
		if _, ok := sessions[id]; !ok {
			s.out.Lost = append(s.out.Lost, id)
			s.out.EventsLost += int(s.rows[id].session.Seq)
		}
	}
	slices.Sort(s.out.Lost)
	if err := s.remember(sessions); err != nil {
		return err
	}
	if err := s.ancestors(sessions); err != nil {
		return err
	}
	if err := s.settle(sessions); err != nil {
		return err
	}
	return s.write(sessions)
}

// take keeps a row of one of our tables.
func (s *salvage) take(id int64, col []any) error {
	name, r := s.recognize(col)
	get := func(columns string) table.Row { return r.values(col, columnList(columns)) }
	switch name {
	case "events":
		v := get(table.EventColumns)
		if _, err := troupe.DecodeBody(troupe.Kind(v.Text(4)), v.Bytes(5)); err != nil {
			s.out.BadRows++
			return nil
		}
		return s.keep(valuesOf("INSERT INTO found", "id, "+table.EventColumns), append([]any{id}, v.Args()...)...)
	case eventKeys: // a key of the events, and the number of its row
		return s.keep(valuesOf("INSERT INTO keys", "root, session, seq, id"), col...)
	case "mail":
		v := get(table.MailColumns)
		var m troupe.Mail
		if body := v.Bytes(4); (body == nil) != (v.Int64(3) > 0) || body != nil && json.Unmarshal(body, &m) != nil {
			s.out.BadRows++
			return nil
		}
		return s.keep(valuesOf("INSERT OR IGNORE INTO mail", table.MailColumns), v.Args()...)
	case "documents":
		return s.document(get(table.DocumentColumns))
	case "bodies":
		return s.body(get(table.BodyColumns))
	case oldDocuments:
		if err := s.body(get(table.BodyColumns)); err != nil {
			return err
		}
		return s.document(get(table.DocumentColumns))
	case "records":
		return s.record(get("kind, key, version, value"))
	case "trees":
		s.caps[troupe.SessionID(get("root").Text(0))] = get(table.CapsColumns).Scan().Caps()
	case "sessions":
		x := salvaged{session: get(table.SessionColumns).Scan().Session(),
			lease: get(table.LeaseColumns).Scan().Lease()}
		if old, ok := s.rows[x.session.ID]; !ok || old.session.Seq < x.session.Seq {
			s.rows[x.session.ID] = x
		}
	case "":
		s.out.UnknownRows++
	}
	return nil
}

func (s *salvage) document(v table.Row) error {
	return s.keep(valuesOf("INSERT OR IGNORE INTO documents", table.DocumentColumns), v.Args()...)
}

// body keeps what documents of a hash hold.
func (s *salvage) body(v table.Row) error {
	if v.Text(0) == "" || !json.Valid(v.Bytes(1)) {
		s.out.BadRows++
		return nil
	}
	return s.keep(valuesOf("INSERT OR IGNORE INTO bodies", table.BodyColumns), v.Args()...)
}

// mostVersion is more than there can be: a larger version is damaged.
const mostVersion = 1 << 53

// record keeps a record, and the row that counts the versions.
func (s *salvage) record(v table.Row) error {
	r, version := store.Record{Kind: v.Text(0), Key: v.Text(1), Value: v.Bytes(3)}, v.Int64(2)
	counts := r.Kind+r.Key == "" && version >= 0
	if version >= mostVersion || !counts && (version < 1 || r.Check() != nil) {
		s.out.BadRows++
		return nil
	}
	return s.keep(`INSERT INTO records (kind, key, version, value) VALUES (?,?,?,?) ON CONFLICT (kind, key)
		DO UPDATE SET version = excluded.version, value = excluded.value WHERE excluded.version > version`, v.Args()...)
}

// lostVersions is more than were given by what may have been lost: records, the row that counts, the end of the log.
const lostVersions = 1 << 30

// countRecords counts the records that were saved, and has no version given again.
func (s *salvage) countRecords() error {
	n, err := s.c.number(`SELECT count(*) FROM records WHERE kind <> ''`)
	if s.out.Records = int(n); err != nil {
		return err
	}
	return s.keep(`UPDATE records SET version = (SELECT max(version) FROM records) + ? WHERE kind = ''`, lostVersions)
}

// mendKeys makes events of the rows that were found. Each key stands twice, in its row and in an index; where
// a row says another key than the index does of it, and that key has no row, the index is right. What the index
// says as the row does needs no mending: another entry of that number is of the unread mail, which looks alike.
func (s *salvage) mendKeys() error {
	for _, sql := range []string{
		`CREATE INDEX keys_by_id ON keys (id)`,
		`INSERT OR IGNORE INTO events (` + table.EventColumns + `)
			SELECT ` + table.EventColumns + ` FROM found WHERE seq > 0 AND EXISTS (SELECT 1 FROM keys k
				WHERE k.id = found.id AND k.root = found.root AND k.session = found.session AND k.seq = found.seq)`,
		`INSERT OR IGNORE INTO events (` + table.EventColumns + `)
			SELECT k.root, k.session, k.seq, f.at, f.kind, f.body FROM found f JOIN keys k ON k.id = f.id WHERE k.seq > 0
				AND (k.root = f.root) + (k.session = f.session) + (k.seq = f.seq) = 2
				AND NOT EXISTS (SELECT 1 FROM keys own WHERE own.id = f.id AND own.root = f.root
					AND own.session = f.session AND own.seq = f.seq)`,
		`INSERT OR IGNORE INTO events (` + table.EventColumns + `)
			SELECT ` + table.EventColumns + ` FROM found WHERE seq > 0`,
		`DROP TABLE found`, `DROP TABLE keys`,
	} {
		if err := s.c.script(sql); err != nil {
			return explain(s.path, "save the events", err)
		}
	}
	return nil
}

func isID(s string) bool { _, ok := troupe.ParseSessionID(s); return ok }

func (s *salvage) keep(sql string, args ...any) error {
	if _, err := s.c.exec(sql, args...); err != nil {
		return explain(s.path, "save a row", err)
	}
	return nil
}

// savedLog names the events that were saved of a session.
type savedLog struct {
	root, id troupe.SessionID
	last     int64
}

// logs lists the logs that were saved in part or whole, the longest of a session first: of an id that is
// there in two trees, one is damaged.
func (s *salvage) logs() (out []savedLog, err error) {
	err = s.c.query(func(r table.Row) error {
		if isID(r.Text(0)) && isID(r.Text(1)) {
			out = append(out, savedLog{troupe.SessionID(r.Text(0)), troupe.SessionID(r.Text(1)), r.Int64(2)})
		}
		return nil
	}, `SELECT root, session, max(seq) FROM events GROUP BY root, session ORDER BY count(*) DESC, root, session`)
	if err != nil {
		return nil, explain(s.path, "list the saved logs", err)
	}
	return out, nil
}

// session makes one session of its saved log. What follows a gap is dropped: it cannot be read without
// what stood before. twice: there is a longer log of this id.
func (s *salvage) session(l savedLog, twice bool) (x Rebuilt, ok bool, err error) {
	log, err := s.log(l)
	if err == nil {
		err = s.keep(`DELETE FROM events WHERE root = ? AND session = ?`, string(l.root), string(l.id))
	}
	if err != nil || twice {
		return x, false, err
	}
	row, known := s.rows[l.id]
	want, lost := max(l.last, row.session.Seq), Loss{Row: row.session, Children: s.kids[l.id]}
	switch have := int64(len(log)); {
	case have < want:
		lost.Events = want - have
		lost.Why = fmt.Sprintf("its log is damaged behind event %d: %d events are lost", have, lost.Events)
	case !known:
		lost.Why = EndUnknown
	}
	err = errNoLog
	if len(log) > 0 {
		placeByRow(log, row.session)
		x, err = s.rebuild(log, lost)
	}
	if err == nil && !placed(x.Session) {
		err = errNoPlace // what became of its birth is no place in a tree; its row does not tell either
	}
	if err != nil { // too little is left of it
		if !known {
			s.out.EventsLost += int(want)
			s.out.Lost = append(s.out.Lost, l.id)
		}
		return x, false, nil
	}
	s.out.Events += x.Kept
	s.out.EventsLost += int(want) - x.Kept
	if x.Lost == "" {
		s.out.Whole++
	} else {
		s.out.Cut = append(s.out.Cut, CutSession{ID: l.id, Name: x.Session.Name, Why: x.Lost})
	}
	return x, true, s.writeLog(x)
}

var (
	errNoLog   = errors.New("there is no log")
	errNoPlace = errors.New("its place in the tree is damaged")
)

// placed reports whether a session has a place in a tree that there can be.
func placed(s troupe.Session) bool {
	if s.ID == s.Root {
		return s.Parent == "" && s.Depth == 0 && s.Coord == troupe.Coord{}
	}
	return s.Parent != "" && s.Depth > 0 && s.Name != ""
}

// placeByRow gives a session the place that its row has, where its birth names one that cannot be.
func placeByRow(log []troupe.Event, row troupe.Session) {
	e := &log[0]
	b, ok := e.Body.(troupe.Created)
	s := troupe.Session{ID: e.Session, Root: e.Root, Parent: b.Parent, Depth: b.Depth, Name: b.Name, Coord: b.Coord}
	if !ok || placed(s) || row.ID != e.Session || row.Root != e.Root || !placed(row) {
		return
	}
	b.Parent, b.Depth, b.Name, b.Coord = row.Parent, row.Depth, row.Name, row.Coord
	e.Body = b
}

// log reads what was saved of a log, as far as there is no gap in it.
func (s *salvage) log(l savedLog) (log []troupe.Event, err error) {
	err = s.c.query(func(r table.Row) error {
		body, err := troupe.DecodeBody(troupe.Kind(r.Text(2)), r.Bytes(3))
		if err != nil || r.Int64(0) != int64(len(log))+1 {
			return nil //nolint:nilerr // it follows a gap; what does not decode was not saved
		}
		log = append(log, troupe.Event{Root: l.root, Session: l.id, Seq: r.Int64(0), At: table.ReadTime(r.Int64(1)),
			Body: body})
		return nil
	}, `SELECT seq, at, kind, body FROM events WHERE root = ? AND session = ? ORDER BY seq`,
		string(l.root), string(l.id))
	if err != nil {
		return nil, explain(s.path, "read a saved log", err)
	}
	return log, nil
}

// writeLog puts the log of a session into the new database, and forgets the mail that stands as read by an event
// which was not saved.
func (s *salvage) writeLog(x Rebuilt) error {
	if err := s.keep(table.ForgetUnwritten+` ?`, string(x.Session.Root), string(x.Session.ID), x.Kept); err != nil {
		return err
	}
	for _, e := range x.Log {
		body, err := troupe.EncodeBody(e.Body)
		if err != nil {
			return err
		}
		if err := s.keep(`INSERT INTO events (`+table.EventColumns+`) VALUES (?,?,?,?,?,?)`,
			string(e.Root), string(e.Session), e.Seq, table.WriteTime(e.At), string(e.Body.Kind()), body); err != nil {
			return err
		}
	}
	return nil
}

// ancestors makes up the sessions that saved ones descend from and that are lost: what stands below them
// could not be found without. Each says that it is lost.
func (s *salvage) ancestors(sessions map[troupe.SessionID]Rebuilt) error {
	for id, x := range sessions {
		if up, ok := sessions[x.Session.Parent]; ok && (up.Session.Root != x.Session.Root ||
			up.Session.Depth >= x.Session.Depth) {
			s.out.Lost = append(s.out.Lost, id) // its place in the tree is damaged
			delete(sessions, id)
		}
	}
	for made := 0; ; {
		var missing *Rebuilt
		for _, x := range sessions {
			up := x.Session.Parent
			if _, ok := sessions[up]; up != "" && !ok {
				missing = &x
				break
			}
		}
		if missing == nil {
			return nil
		}
		made++
		x, err := s.stub(missing.Session, made)
		if err != nil {
			return err
		}
		sessions[x.Session.ID] = x
		if err := s.writeLog(x); err != nil {
			return err
		}
	}
}

// stub is a session of which no more is known than that it had a child, and what its row says.
func (s *salvage) stub(child troupe.Session, n int) (Rebuilt, error) {
	row := s.rows[child.Parent].session
	b := troupe.Created{Name: row.Name, Title: row.Title, Coord: row.Coord, Depth: child.Depth - 1,
		Cwd: cmp.Or(row.Cwd, child.Cwd), Profile: troupe.Profile{Type: cmp.Or(row.Type, "main"),
			Model: cmp.Or(row.Model, child.Model)}}
	if child.Parent != child.Root {
		b.Parent, b.Depth = cmp.Or(row.Parent, child.Root), max(1, b.Depth)
		if row.ID == "" { // its place is unknown; it gets one that no call has
			b.Name, b.Coord = "lost-"+string(child.Parent), troupe.Coord{Reply: 1 << 30, Call: n}
		}
	} else {
		b.Depth, b.Coord = 0, troupe.Coord{}
	}
	first := troupe.Event{Root: child.Root, Session: child.Parent, Seq: 1, At: child.CreatedAt, Body: b}
	return s.rebuild([]troupe.Event{first}, Loss{Why: "its log is damaged; what agents below it did is kept", Row: row,
		Children: s.kids[child.Parent]})
}

// write writes the rows of sessions and trees, in the order of birth.
func (s *salvage) write(sessions map[troupe.SessionID]Rebuilt) error {
	var order []Rebuilt
	for _, x := range sessions {
		order = append(order, x)
	}
	slices.SortFunc(order, func(a, b Rebuilt) int {
		return cmp.Or(a.Session.CreatedAt.Compare(b.Session.CreatedAt), cmp.Compare(a.Session.Depth, b.Session.Depth),
			cmp.Compare(a.Session.ID, b.Session.ID))
	})
	trees := map[troupe.SessionID]*troupe.Tree{}
	for _, x := range order {
		t := trees[x.Session.Root]
		if t == nil {
			t = &troupe.Tree{Root: x.Session.Root, Caps: s.caps[x.Session.Root]}
			trees[x.Session.Root] = t
		}
		if _, ok := s.caps[t.Root]; !ok && x.Session.ID == t.Root {
			t.Caps = x.Caps
		}
		if x.Session.ID != t.Root {
			t.Total++
			t.SincePrompt++ // of all its life; the next prompt sets it right
		}
		if x.Session.Active() {
			t.Active++
		}
		t.Tally, t.Reserved = t.Tally.Add(x.Session.Tally), t.Reserved.Add(x.Session.Reserved)
		if err := s.writeSession(x); err != nil {
			return err
		}
	}
	for _, t := range trees {
		u := t.Tally.Usage
		args := append([]any{string(t.Root)}, table.CapsArgs(t.Caps)...)
		args = append(args, t.Total, t.SincePrompt, t.Active, u.Input, u.Output, u.CacheRead, u.CacheWrite,
			int64(t.Tally.Cost), t.Tally.Turns, t.Tally.ToolUses, t.Reserved.Tokens, int64(t.Reserved.Cost),
			t.Reserved.Turns)
		if err := s.keep(valuesOf("INSERT INTO trees", "root, "+table.CapsColumns+", "+table.TreeColumns),
			args...); err != nil {
			return err
		}
	}
	for _, orphans := range []string{
		`events WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.root = events.root AND s.id = events.session)`,
		`mail WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.root = mail.root AND s.id = mail.receiver)`,
		`documents WHERE root NOT IN (SELECT root FROM trees) OR hash NOT IN (SELECT hash FROM bodies)`,
		`bodies WHERE hash NOT IN (SELECT hash FROM documents)`,
	} {
		if err := s.keep(`DELETE FROM ` + orphans); err != nil {
			return err
		}
	}
	unread, err := s.c.number(`SELECT count(*) FROM mail WHERE delivered = 0`)
	s.out.Mail = int(unread)
	return err
}

// writeSession writes a session's row and those of its requests. A name that is taken by another session
// is left to that.
func (s *salvage) writeSession(x Rebuilt) error {
	l := s.rows[x.Session.ID].lease
	n, err := s.c.exec(table.InsertSession, table.SessionArgs(x.Session, l)...)
	if err == nil && n == 0 {
		if x.Session.Parent == "" {
			x.Session.Name = ""
		} else {
			x.Session.Name += "-" + string(x.Session.ID)
		}
		_, err = s.c.exec(table.InsertSession, table.SessionArgs(x.Session, l)...)
	}
	if err != nil {
		return explain(s.path, "save session "+string(x.Session.ID), err)
	}
	t := table.NewTx(onPath{s.c, s.path}, x.Session.Root)
	for _, r := range x.Requests {
		if err := t.PutRequest(r); err != nil {
			return err
		}
	}
	return nil
}
