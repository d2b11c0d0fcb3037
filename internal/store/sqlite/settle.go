package sqlite

import (
	"encoding/json"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// findKids lists the sessions that were born below others, by their rows and by the beginnings of their logs.
func (s *salvage) findKids() error {
	s.kids = map[troupe.SessionID][]troupe.Session{}
	known := map[troupe.SessionID]bool{}
	err := s.c.query(func(r table.Row) error {
		body, err := troupe.DecodeBody(troupe.KindCreated, r.Bytes(3))
		b, ok := body.(troupe.Created)
		id := troupe.SessionID(r.Text(1))
		if err != nil || !ok || b.Parent == "" || known[id] || !isID(r.Text(1)) {
			return nil //nolint:nilerr // what does not decode tells of no session
		}
		known[id] = true
		s.kids[b.Parent] = append(s.kids[b.Parent], troupe.Session{ID: id, Root: troupe.SessionID(r.Text(0)),
			Parent: b.Parent, Coord: b.Coord, Name: b.Name, Title: b.Title, CreatedAt: table.ReadTime(r.Int64(2))})
		return nil
	}, `SELECT root, session, at, body FROM events WHERE seq = 1 AND kind = ? ORDER BY root, session`,
		string(troupe.KindCreated))
	if err != nil {
		return explain(s.path, "list the saved births", err)
	}
	for id, x := range s.rows {
		if up := x.session.Parent; up != "" && !known[id] && isID(string(id)) {
			s.kids[up] = append(s.kids[up], x.session)
		}
	}
	return nil
}

// remember keeps what the rows of lost sub-agents say, as sessions without a log: what they have cost stays
// on the bill, and their places stay taken.
func (s *salvage) remember(sessions map[troupe.SessionID]Rebuilt) error {
	for _, id := range s.out.Lost {
		row := s.rows[id].session
		if _, ok := sessions[row.Root]; !ok || row.Parent == "" || row.Name == "" || !isID(string(id)) ||
			row.Depth < 1 {
			continue
		}
		x, err := s.stub(troupe.Session{Parent: id, Root: row.Root, Depth: row.Depth + 1, Cwd: row.Cwd,
			Model: row.Model, CreatedAt: row.CreatedAt}, 0)
		if err != nil {
			return err
		}
		sessions[id] = x
		if err := s.writeLog(x); err != nil {
			return err
		}
	}
	return nil
}

// settle tells each session the ends of those agents that it waits for and that will not come to an end, once:
// else it would wait for ever. Such an end was lost with the mail or with the end of the session's log, or it
// is the one that the repair has brought a cut log to.
func (s *salvage) settle(sessions map[troupe.SessionID]Rebuilt) error {
	for _, up := range sessions {
		for _, t := range up.Waits {
			id := troupe.SessionID(t.ID)
			x, ok := sessions[id]
			o := x.End
			switch {
			case !ok:
				o = troupe.Outcome{Session: id, Run: t.Run, Coord: t.Coord, Name: t.Name, Status: troupe.Cancelled,
					Cause: troupe.CauseInterrupt,
					Error: "interrupted: its log was lost with the damaged database; what it did until then stands"}
			case !x.Session.Status.Ended():
				continue // it goes on
			case o.Run < t.Run:
				unread, err := s.c.number(`SELECT count(*) FROM mail WHERE receiver = '` + string(id) +
					`' AND delivered = 0`)
				if err != nil {
					return err
				}
				if unread > 0 {
					continue // the message that begins that run is there
				}
			}
			o.Run = max(o.Run, t.Run)
			if err := s.tellEnd(up.Session, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellEnd puts the end of an agent into its parent's mailbox, if it is not there. A repair sets no session that
// has ended to work, and the end of what a person has made of one sets none.
func (s *salvage) tellEnd(up troupe.Session, o troupe.Outcome) error {
	m := troupe.Mail{ID: troupe.ChildEndedMailID(o.Session, o.Run), Root: up.Root, To: up.ID, From: o.Session,
		Kind: troupe.MailTaskEnded, SentAt: s.now, Ended: &o,
		Quiet: up.Status.Ended() || !o.Coord.OfCall() && o.Team == ""}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	// Where it stands as read, that was in the lost end of the parent's log.
	err = s.keep(`DELETE FROM mail WHERE root = ? AND receiver = ? AND id = ? AND delivered > 0`, string(m.Root),
		string(m.To), string(m.ID))
	if err != nil {
		return err
	}
	return s.keep(`INSERT OR IGNORE INTO mail (root, receiver, id, delivered, body) VALUES (?,?,?,0,?)`,
		string(m.Root), string(m.To), string(m.ID), body)
}
