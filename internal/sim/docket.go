package sim

import (
	"encoding/json"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// docket is the requests of a tree, as the logs have it: a second account of their rows, kept from
// events alone.
type docket struct {
	rows    []troupe.Request
	changed bool
	slept   map[troupe.SessionID]time.Time
	asleep  map[troupe.SessionID]time.Duration // for how long, in all
	began   map[troupe.SessionID]time.Time     // its run; a row says so too, and later by the time that it slept
}

func (d *docket) note(e troupe.Event) {
	switch b := e.Body.(type) {
	case troupe.Started:
		if d.began == nil {
			d.began = make(map[troupe.SessionID]time.Time)
		}
		d.began[e.Session] = e.At
	case troupe.RequestOpened:
		d.changed = true
		d.rows = append(d.rows, troupe.Request{
			ID: b.ID, Root: e.Root, Session: e.Session, Coord: troupe.Coord{Reply: b.Reply, Call: b.Call},
			RequestBody: b.RequestBody, Opened: e.At,
		})
	case troupe.RequestAnswered:
		d.settle(e, troupe.Coord{Reply: b.Reply, Call: b.Call}, &b)
	case troupe.Slept:
		if d.slept == nil {
			d.slept, d.asleep = make(map[troupe.SessionID]time.Time), make(map[troupe.SessionID]time.Duration)
		}
		d.slept[e.Session] = e.At
	case troupe.Woke:
		d.asleep[e.Session] += e.At.Sub(d.slept[e.Session])
		for i := range d.rows { // what is open waits for as long as it had left
			if r := &d.rows[i]; r.Session == e.Session && r.Settled.IsZero() && !r.Until.IsZero() {
				d.changed, r.Until = true, r.Until.Add(e.At.Sub(d.slept[e.Session]))
			}
		}
	case troupe.ToolFinished:
		d.settle(e, troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}, nil)
	}
}

func (d *docket) settle(e troupe.Event, at troupe.Coord, b *troupe.RequestAnswered) {
	for i := range d.rows {
		if r := &d.rows[i]; r.Session == e.Session && r.Coord == at && r.Settled.IsZero() {
			d.changed, r.Settled = true, e.At
			if b != nil {
				r.Answer = b.Answer()
			}
		}
	}
}

// check: after every commit the rows are what the logs say, and what is settled, or has its answer
// on the way, is not among the open ones. Ids are unique.
func (d *docket) check(h *watch) {
	if !d.changed {
		return
	}
	d.changed = false
	var all, open []troupe.Request
	err := h.w.store.View(h.w.ctx(), func(r store.Reader) error {
		var err error
		if all, err = r.Requests(store.RequestFilter{Root: h.w.root}); err == nil {
			open, err = r.Requests(store.RequestFilter{Root: h.w.root, Open: true})
		}
		return err
	})
	if err != nil {
		h.w.broken("read the requests: %w", err)
		return
	}
	rows, ids := make(map[troupe.RequestID]string), make(map[troupe.RequestID]bool)
	for _, r := range all {
		rows[r.ID] = inRow(r)
	}
	for _, r := range d.rows {
		if ids[r.ID] {
			h.w.broken("two requests have the id %s", r.ID)
		}
		ids[r.ID] = true
		if rows[r.ID] != inRow(r) {
			h.w.broken("request %s differs from its log:\nrow %s\nlog %s", r.ID, rows[r.ID], inRow(r))
		}
		answered := h.mail[letter{r.Session, troupe.AnswerMailID(r.ID)}] != nil
		listed := false
		for _, o := range open {
			listed = listed || o.ID == r.ID
		}
		if listed != (r.Settled.IsZero() && !answered) {
			h.w.broken("request %s is open: %v; it was settled at %s, answered %v", r.ID, listed, r.Settled, answered)
		}
	}
	if len(all) != len(d.rows) {
		h.w.broken("%d requests were opened, and there are %d rows", len(d.rows), len(all))
	}
}

// inRow is all of a request, to be compared.
func inRow(r troupe.Request) string {
	out, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
