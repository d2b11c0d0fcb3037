package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func (r *reader) Requests(f store.RequestFilter) (out []troupe.Request, err error) {
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
	err = r.query("list requests", func(row row) error {
		req, err := readRequest(row)
		out = append(out, req)
		return err
	}, `SELECT root, id, session, reply, call, opened, settled, body, answer FROM requests`+q.where()+` ORDER BY asked`,
		q.args...)
	return out, err
}

func readRequest(r row) (troupe.Request, error) {
	out := troupe.Request{
		Root: troupe.SessionID(r.text(0)), ID: troupe.RequestID(r.text(1)), Session: troupe.SessionID(r.text(2)),
		Coord: troupe.Coord{Reply: r.int(3), Call: r.int(4)}, Opened: readTime(r.int64(5)),
		Settled: readTime(r.int64(6)),
	}
	err := json.Unmarshal(r.bytes(7), &out.RequestBody)
	if err == nil && r[8] != nil {
		err = json.Unmarshal(r.bytes(8), &out.Answer)
	}
	if err != nil {
		return out, &undecodable{fmt.Errorf("decode request %s: %w", out.ID, err)}
	}
	out.RequestBody = out.WithKind()
	return out, nil
}

func (t *tx) PutRequest(r troupe.Request) error {
	doing := "put request " + string(r.ID)
	if err := t.inTree(r.Root, doing); err != nil {
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
	n, err := t.exec(doing, `INSERT INTO requests (root, id, session, reply, call, opened, settled, body, answer)
		SELECT ?,?,?,?,?,?,?,?,? WHERE EXISTS (SELECT 1 FROM sessions WHERE root = ? AND id = ?)
		ON CONFLICT (root, id) DO UPDATE SET settled = excluded.settled, answer = excluded.answer`,
		string(r.Root), string(r.ID), string(r.Session), r.Reply, r.Call, writeTime(r.Opened), writeTime(r.Settled),
		body, answer,
		string(r.Root), string(r.Session))
	if err != nil || n == 1 {
		return err
	}
	return t.mustExist(r.Session, doing)
}
