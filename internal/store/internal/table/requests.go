package table

import (
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func (r *Reader) Requests(f store.RequestFilter) (out []troupe.Request, err error) {
	var q query
	if f.Root != "" {
		q.and("root = ?", string(f.Root))
	}
	if f.IDPrefix != "" {
		q.and("id >= ? AND id < ?", f.IDPrefix, f.IDPrefix+"\U0010ffff")
	}
	if f.Open {
		q.and(`settled = 0 AND NOT EXISTS (SELECT 1 FROM mail m
			WHERE m.root = requests.root AND m.receiver = requests.session AND m.id = ? || requests.id)`, string(troupe.AnswerMailID("")))
	}
	err = r.Query("list requests", func(row Row) error {
		req, err := readRequest(row)
		out = append(out, req)
		return err
	}, `SELECT `+RequestColumns+` FROM requests`+q.where()+` ORDER BY asked`, q.args...)
	return out, err
}

func readRequest(r Row) (troupe.Request, error) {
	s := r.Scan()
	out := troupe.Request{
		Root: troupe.SessionID(s.text()), ID: troupe.RequestID(s.text()), Session: troupe.SessionID(s.text()),
		Coord: troupe.Coord{Reply: s.int(), Call: s.int()}, Opened: s.time(), Settled: s.time(),
	}
	err := json.Unmarshal(s.bytes(), &out.RequestBody)
	if answer := s.bytes(); err == nil && answer != nil {
		err = json.Unmarshal(answer, &out.Answer)
	}
	if err != nil {
		return out, &Undecodable{fmt.Errorf("decode request %s: %w", out.ID, err)}
	}
	out.RequestBody = out.WithKind()
	return out, nil
}

func (t *Tx) PutRequest(r troupe.Request) error {
	doing := "put request " + string(r.ID)
	if err := t.InTree(r.Root, doing); err != nil {
		return err
	}
	body, err := json.Marshal(r.RequestBody)
	if err != nil {
		return t.refuse("%s: %w", doing, err)
	}
	var answer []byte // nil is NULL
	if r.Answer != nil {
		if answer, err = json.Marshal(r.Answer); err != nil {
			return t.refuse("%s: %w", doing, err)
		}
	}
	n, err := t.Exec(doing, `INSERT INTO requests (`+RequestColumns+`)
		SELECT ?,?,?,?,?,?,?,?,? WHERE EXISTS (SELECT 1 FROM sessions WHERE root = ? AND id = ?)
		ON CONFLICT (root, id) DO UPDATE SET settled = excluded.settled, body = excluded.body,
			answer = excluded.answer`,
		string(r.Root), string(r.ID), string(r.Session), r.Reply, r.Call, WriteTime(r.Opened), WriteTime(r.Settled),
		body, answer,
		string(r.Root), string(r.Session))
	if err != nil || n == 1 {
		return err
	}
	return t.MustExist(r.Session, doing)
}
