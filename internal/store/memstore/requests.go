package memstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// request is a row: the request without what it says, and that and its answer in the form they have
// on disk.
type request struct {
	troupe.Request
	asked        int // the order of opening
	body, answer []byte
}

func (r *reader) Requests(f store.RequestFilter) (out []troupe.Request, err error) {
	if r.failed != nil {
		return nil, r.failed
	}
	var found []*request
	for _, row := range r.db.requests {
		if (f.Root != "" && row.Root != f.Root) || !strings.HasPrefix(string(row.ID), f.IDPrefix) {
			continue
		}
		if _, answered := r.db.sessions[row.Session].mail[troupe.AnswerMailID(row.ID)]; f.Open &&
			(answered || !row.Settled.IsZero()) {
			continue
		}
		found = append(found, row)
	}
	slices.SortFunc(found, func(a, b *request) int { return a.asked - b.asked })
	for _, row := range found {
		req := row.Request
		if err := json.Unmarshal(row.body, &req.RequestBody); err != nil {
			return nil, fmt.Errorf("decode request %s: %w", row.ID, err)
		}
		if row.answer != nil {
			if err := json.Unmarshal(row.answer, &req.Answer); err != nil {
				return nil, fmt.Errorf("decode request %s: %w", row.ID, err)
			}
		}
		out = append(out, req)
	}
	return out, nil
}

func (t *tx) PutRequest(r troupe.Request) error {
	if err := t.inTree(r.Root, "put request", r.ID); err != nil {
		return err
	}
	if s := t.db.sessions[r.Session]; s == nil || s.Root != t.root {
		return fmt.Errorf("put request %s: session %q in tree %q: %w", r.ID, r.Session, t.root, troupe.ErrNotFound)
	}
	row := &request{Request: r, asked: t.db.asked}
	var err error
	if row.body, err = json.Marshal(r.RequestBody); err == nil && r.Answer != nil {
		row.answer, err = json.Marshal(r.Answer)
	}
	if err != nil {
		return t.refuse("put request %s: %w", r.ID, err)
	}
	row.Opened, row.Settled = readTime(writeTime(r.Opened)), readTime(writeTime(r.Settled))
	row.RequestBody, row.Answer = troupe.RequestBody{}, nil
	before := t.db.requests[r.ID]
	if before != nil {
		first := *before
		first.Settled, first.body, first.answer = row.Settled, row.body, row.answer
		row = &first
	}
	t.db.asked++
	t.db.requests[r.ID] = row
	t.undo = append(t.undo, func() {
		t.db.asked--
		if t.db.requests[r.ID] = before; before == nil {
			delete(t.db.requests, r.ID)
		}
	})
	return nil
}
