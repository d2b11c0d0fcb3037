package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

func testAppend(e *env) {
	root, kids := e.plant(1, 1)
	s := kids[0]
	s.Seq, s.Model, s.Status, s.Run = 2, "script/other", troupe.Failed, 3
	s.Cause, s.Error, s.Result = troupe.CauseLimit, "out of turns", "what it had"
	s.StartedAt, s.EndedAt = epoch().Add(time.Second), epoch().Add(time.Minute)
	s.Tally = troupe.Tally{
		Usage: troupe.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}, Cost: 5, Turns: 6, ToolUses: 7,
	}
	events := []troupe.Event{
		{Root: root.ID, Session: s.ID, Seq: 1, At: epoch(), Body: troupe.Started{Run: 3}},
		{Root: root.ID, Session: s.ID, Seq: 2, At: epoch().Add(1), Body: troupe.ModelChanged{Model: "script/other"}},
	}
	e.update(root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
	e.same("the projection", e.session(s.ID), s)
	e.same("the log", e.events(s.ID), events)
	e.same("the root", e.session(root.ID), root)
	if n := len(e.events(root.ID)); n != 0 {
		e.Errorf("the root got %d events", n)
	}
}

func testAppendIsFenced(e *env) {
	root, kids := e.plant(1, 1)
	kid := kids[0]
	e.update(root.ID, func(tx store.Tx) error {
		return errors.Join(note(tx, ours(), kid.ID, "one"), note(tx, ours(), kid.ID, "two"))
	})
	at := func(seqs ...int64) (troupe.Session, []troupe.Event) {
		s := kid
		var events []troupe.Event
		for _, n := range seqs {
			s.Seq = n
			events = append(events, troupe.Event{
				Root: s.Root, Session: s.ID, Seq: n, At: epoch(), Body: troupe.ModelChanged{Why: "fenced"},
			})
		}
		return s, events
	}
	tests := map[string]struct {
		lease troupe.Lease
		seqs  []int64
	}{
		"another owner":   {troupe.Lease{Owner: "owner-b", Epoch: 1}, []int64{3}},
		"no owner":        {troupe.Lease{Epoch: 1}, []int64{3}},
		"an older epoch":  {troupe.Lease{Owner: "owner-a", Epoch: 0}, []int64{3}},
		"a newer epoch":   {troupe.Lease{Owner: "owner-a", Epoch: 2}, []int64{3}},
		"written before":  {ours(), []int64{2}},
		"from the start":  {ours(), []int64{1}},
		"a gap":           {ours(), []int64{4}},
		"a gap inside":    {ours(), []int64{3, 5}},
		"twice the same":  {ours(), []int64{3, 3}},
		"backwards":       {ours(), []int64{3, 2}},
		"overlapping end": {ours(), []int64{2, 3}},
	}
	before := e.draw(root.ID)
	for name, tt := range tests {
		s, events := at(tt.seqs...)
		err := e.Update(e.Context(), root.ID, func(tx store.Tx) error { return tx.Append(tt.lease, s, events) })
		if !errors.Is(err, troupe.ErrFenced) {
			e.Errorf("%s: got %v, want %v", name, err, troupe.ErrFenced)
		}
	}
	s, events := at(3)
	s.Seq = 4
	e.refused(troupe.ErrFenced, root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
	ghost, events := next(newChild(root, 8), "x")
	e.refused(troupe.ErrFenced, root.ID, func(tx store.Tx) error { return tx.Append(ours(), ghost, events) })
	e.same("the tree", e.draw(root.ID), before)

	s, events = at(3, 4, 5)
	e.update(root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
}

func testAppendNeedsEvents(e *env) {
	root, kids := e.plant(1, 2)
	e.refused(nil, root.ID, func(tx store.Tx) error { return tx.Append(ours(), kids[0], nil) })
	s, events := next(kids[0], "x")
	events[0].Body = nil
	e.refused(nil, root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
	s, events = next(kids[0], "x")
	events[0].Session = kids[1].ID
	e.refused(nil, root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
}

func testClaim(e *env) {
	root, kids := e.plant(1, 2)
	kid := kids[0].ID
	claim := func(owner troupe.OwnerID) (l troupe.Lease) {
		e.Helper()
		e.update(root.ID, func(tx store.Tx) (err error) {
			l, err = tx.Claim(kid, owner)
			return err
		})
		e.same("the lease", read(e, func(r store.Reader) (troupe.Lease, error) { return r.Lease(kid) }), l)
		return l
	}
	e.same("the first claim", claim("owner-b"), troupe.Lease{Owner: "owner-b", Epoch: 2})
	e.same("a claim by the same owner", claim("owner-b"), troupe.Lease{Owner: "owner-b", Epoch: 3})
	back := claim("owner-a")
	e.same("a claim back", back, troupe.Lease{Owner: "owner-a", Epoch: 4})

	// The owner is the same as at birth; only the epoch tells that it has slept.
	e.refused(troupe.ErrFenced, root.ID, func(tx store.Tx) error { return note(tx, ours(), kid, "late") })
	e.update(root.ID, func(tx store.Tx) error { return note(tx, back, kid, "in time") })
	e.update(root.ID, func(tx store.Tx) error { return note(tx, ours(), kids[1].ID, "not concerned") })
	e.refused(troupe.ErrNotFound, root.ID, func(tx store.Tx) error {
		_, err := tx.Claim("nobody", "owner-a")
		return err
	})
}

// testClaimRace lets several processes take over and write one log at once: epochs are
// never given twice, and the log has exactly what was answered with success.
func testClaimRace(e *env) {
	const rounds = 10
	root, kids := e.plant(1, 1)
	kid := kids[0].ID
	var written, claims atomic.Int64
	var epochs sync.Map
	var wg sync.WaitGroup
	for i := range 4 {
		s, owner := e.open(), troupe.OwnerID(fmt.Sprint("racer-", i))
		wg.Go(func() {
			for range rounds {
				var l troupe.Lease
				err := s.Update(e.Context(), root.ID, func(tx store.Tx) (err error) {
					l, err = tx.Claim(kid, owner)
					return err
				})
				if err != nil {
					e.Error(err)
					return
				}
				claims.Add(1)
				if other, twice := epochs.LoadOrStore(l.Epoch, owner); twice {
					e.Errorf("epoch %d was given to %v and %v", l.Epoch, other, owner)
				}
				for range 3 {
					err := s.Update(e.Context(), root.ID, func(tx store.Tx) error {
						return note(tx, l, kid,
							string(owner))
					})
					if errors.Is(err, troupe.ErrFenced) {
						break
					}
					if err != nil {
						e.Error(err)
						return
					}
					written.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := e.session(kid).Seq; got != written.Load() || int64(len(e.events(kid))) != got {
		e.Errorf("%d events were written; the session stands at %d with %d", written.Load(), got, len(e.events(kid)))
	}
	l := read(e, func(r store.Reader) (troupe.Lease, error) { return r.Lease(kid) })
	if l.Epoch != 1+claims.Load() {
		e.Errorf("epoch %d after %d claims", l.Epoch, claims.Load())
	}
}

func testEvents(e *env) {
	root, kids := e.plant(1, 2)
	var all []troupe.Event
	s := kids[0]
	for i := range 12 {
		var events []troupe.Event
		s, events = next(s, fmt.Sprint("step ", i))
		all = append(all, events...)
		e.update(root.ID, func(tx store.Tx) error {
			return errors.Join(tx.Append(ours(), s, events), note(tx, ours(), kids[1].ID, "beside"))
		})
	}
	for _, tt := range []struct {
		after int64
		limit int
		want  []troupe.Event
	}{
		{0, 0, all}, {0, 5, all[:5]}, {5, 0, all[5:]}, {5, 4, all[5:9]}, {11, 10, all[11:]},
		{0, 12, all}, {0, 100, all}, {12, 0, nil}, {99, 3, nil}, {-1, 2, all[:2]},
	} {
		got := read(e, func(r store.Reader) ([]troupe.Event, error) { return r.Events(s.ID, tt.after, tt.limit) })
		if len(got) == 0 {
			got = nil
		}
		e.same(fmt.Sprintf("Events(after %d, limit %d)", tt.after, tt.limit), got, tt.want)
	}
}

func testEveryKind(e *env) {
	root, kids := e.plant(1, 1)
	s := kids[0]
	missing := map[troupe.Kind]bool{}
	for _, k := range troupe.Kinds() {
		missing[k] = true
	}
	var want []troupe.Event
	for _, b := range Bodies() {
		s.Seq++
		delete(missing, b.Kind())
		want = append(want, troupe.Event{Root: s.Root, Session: s.ID, Seq: s.Seq, At: epoch(), Body: b})
	}
	if len(missing) > 0 {
		e.Errorf("the suite has no body of %v", missing)
	}
	e.update(root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, want) })
	got := e.events(s.ID)
	if len(got) != len(want) {
		e.Fatalf("%d events came back, want %d", len(got), len(want))
	}
	for i := range want {
		e.same(string(want[i].Body.Kind()), got[i], want[i])
	}
}

func testLargeBodies(e *env) {
	root, kids := e.plant(1, 1)
	s := kids[0]
	var want []troupe.Event
	for _, size := range []int{0, 1, 4095, 4096, 8192, 70_000, 3 << 20} {
		var events []troupe.Event
		s, events = next(s, strings.Repeat("lö", size/3))
		want = append(want, events...)
	}
	s.Result, s.Error = strings.Repeat("r", 1<<20), strings.Repeat("e", 1<<16)
	m := prompt(kids[0], "large")
	m.Blocks = []troupe.Block{troupe.Text(strings.Repeat("m", 1<<20))}
	e.update(root.ID, func(tx store.Tx) error {
		return errors.Join(tx.Append(ours(), s, want), send(tx, m))
	})
	e.same("the log", e.events(s.ID), want)
	e.same("the projection", e.session(s.ID), s)
	e.same("the mail", read(e, func(r store.Reader) ([]troupe.Mail, error) { return r.Unread(s.ID) }), []troupe.Mail{m})
}

// testTimes: times come back to the nanosecond and in UTC, and the zero time as zero.
func testTimes(e *env) {
	root, kids := e.plant(1, 1)
	s, events := next(kids[0], "x")
	local := time.Date(2026, 7, 8, 9, 10, 11, 123456789, time.FixedZone("somewhere", 5*3600))
	events[0].At, s.StartedAt, s.Run = local, local, 1
	e.update(root.ID, func(tx store.Tx) error { return tx.Append(ours(), s, events) })
	at, got := e.events(s.ID)[0].At, e.session(s.ID)
	if !at.Equal(local) || at.Location() != time.UTC {
		e.Errorf("%v came back as %v", local, at)
	}
	if !got.StartedAt.Equal(local) || got.StartedAt.Location() != time.UTC || !got.EndedAt.IsZero() {
		e.Errorf("%v came back as %v, and no end as %v", local, got.StartedAt, got.EndedAt)
	}
}
