package sqlite

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

// rebuildRow makes of a log what these tests put into a row: a session of one event.
func rebuildRow(log []troupe.Event, l Loss) (Rebuilt, error) {
	e := log[0]
	s := rootSession(e.Session)
	s.Seq = int64(len(log))
	return Rebuilt{Session: s, Log: log, Kept: len(log), Lost: l.Why}, nil
}

// plantWhole fills a database in which no limit of the tree is zero, and returns them.
func plantWhole(t *testing.T, path string, id troupe.SessionID) (caps troupe.Caps) {
	t.Helper()
	v := reflect.ValueOf(&caps).Elem()
	for i := range v.NumField() {
		v.Field(i).SetInt(int64(i) + 10)
	}
	s := mustOpen(t, path, Options{})
	lease := troupe.Lease{Owner: "me", Epoch: 4}
	err := s.Update(t.Context(), id, func(tx store.Tx) error {
		row := rootSession(id)
		if err := tx.Insert(row, lease, &caps); err != nil {
			return err
		}
		if err := tx.PutDocument(id, "hash", []byte(`{"a":1}`)); err != nil {
			return err
		}
		row.Seq = 1
		body := troupe.Created{Profile: troupe.Profile{Type: "main"}}
		return tx.Append(lease, row, []troupe.Event{{Root: id, Session: id, Seq: 1, At: born(), Body: body}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return caps
}

// TestRepairSavesEveryCap: no cap of a tree is lost by a repair, whichever come with time.
func TestRepairSavesEveryCap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	const id = "000000000001"
	want := plantWhole(t, path, id)
	r, err := Repair(t.Context(), path, rebuildRow)
	if err != nil {
		t.Fatal(err)
	}
	if r.BadRows != 0 || r.UnknownRows != 0 {
		t.Errorf("of an intact database %d rows are bad and %d unknown", r.BadRows, r.UnknownRows)
	}
	s := mustOpen(t, path, Options{})
	err = s.Update(t.Context(), id, func(tx store.Tx) error {
		tree, err := tx.Tree(id)
		if d := cmp.Diff(want, tree.Caps); d != "" {
			t.Error(d)
		}
		if l, err := tx.Lease(id); err != nil || l.Epoch != 4 {
			t.Error(l, err)
		}
		if b, err := tx.Document(id, "hash"); err != nil || string(b) != `{"a":1}` {
			t.Errorf("%s, %v", b, err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRepairSavesRecords: records are saved and counted, large ones too, and where nothing of a session is there. What
// is no record is a bad row and keeps none of the others. A version that may have been given is not given again, also
// where the row that counts them is lost.
func TestRepairSavesRecords(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	var last int64
	for key, value := range map[string]string{"small": "v", "large": strings.Repeat("x", 1<<20), "gone": ""} {
		v, err := s.PutRecord(t.Context(), store.Record{Kind: "k", Key: key, Value: []byte(value)})
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, v)
	}
	gone, err := s.PutRecord(t.Context(), store.Record{Kind: "k", Key: "last"})
	err = errors.Join(err, s.DeleteRecord(t.Context(), "k", "last", gone), s.Close())
	if err != nil || gone <= last {
		t.Fatal(gone, last, err)
	}
	raw(t, path, `PRAGMA ignore_check_constraints = ON; DELETE FROM records WHERE kind = '';
		INSERT INTO records (kind, key, version, value) VALUES ('k', 'below', -1, x''), ('k', 'huge', 1 << 62, x''),
			('k', '', 7, x''), ('', 'k', 7, x'')`)
	r, err := Repair(t.Context(), path, rebuildRow)
	if err != nil || r.Records != 3 || r.BadRows != 4 || r.UnknownRows != 0 {
		t.Fatalf("%d records were saved, %d rows are bad and %d unknown: %v", r.Records, r.BadRows, r.UnknownRows, err)
	}
	s = mustOpen(t, path, Options{})
	if all, err := s.Records(t.Context(), "k", "", 0); err != nil || len(all) != 3 || all[1].Key != "large" ||
		len(all[1].Value) != 1<<20 || all[1].Version == 0 || string(all[2].Value) != "v" {
		t.Errorf("there are %d records, %v", len(all), err)
	}
	if v, err := s.PutRecord(t.Context(), store.Record{Kind: "k", Key: "new"}); err != nil || v <= gone {
		t.Errorf("the next version behind %d is %d, %v", gone, v, err)
	}
}

// TestRecordsWithoutACounter: where the row that counts versions is missing nothing is written: a version would be
// given twice.
func TestRecordsWithoutACounter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	raw(t, path, `DELETE FROM records`)
	if v, err := s.PutRecord(t.Context(), store.Record{Kind: "k", Key: "a"}); !errors.Is(err, troupe.ErrDamaged) {
		t.Errorf("it has version %d, %v", v, err)
	}
	if all, err := s.Records(t.Context(), "k", "", 0); err != nil || len(all) > 0 {
		t.Errorf("there is %+v, %v", all, err)
	}
}

// TestRepairOfUpgraded: the rows of an older version, which end before the columns that were added since, are saved
// as all others, with their bill.
func TestRepairOfUpgraded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	const id = "000000000001"
	want := plantWhole(t, path, id)
	raw(t, path, dropBodies+dropHeldTurns+"PRAGMA user_version = 4; UPDATE sessions SET seq = 2, cost = 7")
	s := mustOpen(t, path, Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var lost Loss
	r, err := Repair(t.Context(), path, func(log []troupe.Event, l Loss) (Rebuilt, error) {
		lost = l
		return rebuildRow(log, l)
	})
	if err != nil || r.UnknownRows != 0 || lost.Events != 1 || lost.Row.Tally.Cost != 7 {
		t.Errorf("%d rows are unknown, of the lost events is known %+v: %v", r.UnknownRows, lost, err)
	}
	s = mustOpen(t, path, Options{})
	err = s.View(t.Context(), func(r store.Reader) error {
		tree, err := r.Tree(id)
		if d := cmp.Diff(want, tree.Caps); d != "" {
			t.Error(d)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRepairTellsOfUnknownRows: a row that has no form that this program knows is not dropped without a word.
func TestRepairTellsOfUnknownRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	plantWhole(t, path, "000000000001")
	raw(t, path, `ALTER TABLE trees ADD COLUMN later INTEGER NOT NULL DEFAULT 0; UPDATE trees SET later = 7`)
	r, err := Repair(t.Context(), path, rebuildRow)
	if err != nil {
		t.Fatal(err)
	}
	if r.UnknownRows != 1 {
		t.Errorf("%d rows are unknown, want that of the tree", r.UnknownRows)
	}
}

// TestSalvageKnowsTheSchema: each column of each table is one that a repair saves, or one that it makes anew: a
// column that is in the schema and not in the lists fails here. A row of each table, as long or short as it
// may be, has a form that no row of another table has.
func TestSalvageKnowsTheSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	mustOpen(t, path, Options{})
	c, err := connect(t.Context(), path, readerPragmas)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close() //nolint:errcheck // only read from
	shapes, err := shapesOf(c)
	if err != nil {
		t.Fatal(err)
	}
	saved := map[string]string{
		"sessions": "born," + table.SessionColumns + "," + table.LeaseColumns, "events": table.EventColumns,
		"mail":      "sent," + table.MailColumns,
		"documents": table.DocumentColumns, "bodies": table.BodyColumns,
		"trees":         "root," + table.CapsColumns + "," + table.TreeColumns,
		"owners":        "registered, id, pid, host, socket, started_at", // of processes; none runs while a repair does
		"records":       "kind, key, version, value",
		"requests":      "asked," + table.RequestColumns,
		"sqlite_schema": "type, name, tbl_name, rootpage, sql",
	}
	all := map[string]string{}
	shapes = append(shapes, oldShapes()...)
	saved[oldDocuments] = table.DocumentColumns + ", body"
	for i := range shapes {
		x := &shapes[i]
		if x.table == "" {
			continue
		}
		want, have := columnList(saved[x.table]), slices.Clone(x.columns)
		slices.Sort(want)
		slices.Sort(have)
		if d := cmp.Diff(want, have); d != "" {
			t.Errorf("a repair knows other columns of %s than the schema:\n%s", x.table, d)
		}
		for n := x.least; n <= len(x.kinds); n++ {
			if other := all[strings.ToLower(x.kinds[:n])]; other != "" {
				t.Errorf("a row of %d columns of %s could be one of %s", n, x.table, other)
			}
			all[strings.ToLower(x.kinds[:n])] = x.table
		}
	}
	for i := range shapes {
		if x := &shapes[i]; x.table == "" && all[strings.ToLower(x.kinds)] != "" {
			t.Errorf("an entry of an index, %v, could be a row of %s", x.columns, all[strings.ToLower(x.kinds)])
		}
	}
}

// TestRepairMakesNoEventOfMail: the index of unread mail has the form of the events' key. Read as one it made an
// event twice, where mail had the row number of an event of its receiver.
func TestRepairMakesNoEventOfMail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	plantWhole(t, path, "000000000001")
	plantWhole(t, path, "000000000002") // its first event has row number 2
	s := mustOpen(t, path, Options{})
	for _, id := range []troupe.SessionID{"000000000001", "000000000002"} {
		err := s.Update(t.Context(), id, func(tx store.Tx) error {
			_, err := tx.Send(troupe.Mail{Root: id, To: id, ID: "m", Kind: troupe.MailPrompt})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Repair(t.Context(), path, rebuildRow)
	if err != nil || r.Events != 2 || r.Mail != 2 {
		t.Errorf("%d events and %d pieces of mail were saved, want 2 of each: %v", r.Events, r.Mail, err)
	}
}

// TestRepairTellsOfTheLastRun: the end that a parent waits for is told as that of the run which it waits for, also
// where the agent's log was cut before that run began. That of what a person has made of the parent wakes none.
func TestRepairTellsOfTheLastRun(t *testing.T) {
	t.Parallel()
	for _, at := range []troupe.Coord{{Reply: 1}, {Call: 1}} {
		tellsOfTheLastRun(t, at)
	}
}

func tellsOfTheLastRun(t *testing.T, at troupe.Coord) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "troupe.db")
	const id = "000000000001"
	plantWhole(t, path, id)
	kid := childSession(id, 1)
	kid.Coord = at
	s := mustOpen(t, path, Options{})
	lease := troupe.Lease{Owner: "me", Epoch: 4}
	err := s.Update(t.Context(), id, func(tx store.Tx) error {
		if err := tx.Insert(kid, lease, nil); err != nil {
			return err
		}
		row := kid
		row.Seq = 1
		return tx.Append(lease, row, []troupe.Event{{Root: id, Session: kid.ID, Seq: 1, At: born(),
			Body: troupe.Created{Parent: id, Coord: kid.Coord, Depth: 1}}})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Repair(t.Context(), path, func(log []troupe.Event, l Loss) (Rebuilt, error) {
		x, err := rebuildRow(log, l)
		if log[0].Session == id {
			x.Session.Status, x.Session.Run, x.Session.StartedAt = troupe.Running, 1, born()
			x.Session.EndedAt = time.Time{}
			x.Waits = []troupe.Task{{ID: troupe.TaskID(kid.ID), Kind: troupe.TaskAgent, Run: 2}}
			return x, err
		}
		x.Session = kid
		x.Session.Seq, x.Session.Run, x.Session.Status = 1, 1, troupe.Completed
		x.Session.StartedAt, x.Session.EndedAt = born(), born()
		x.End = troupe.Outcome{Session: kid.ID, Coord: at, Run: 1, Status: troupe.Completed}
		return x, err
	})
	if err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path, Options{})
	err = s.View(t.Context(), func(r store.Reader) error {
		unread, err := r.Unread(id)
		if len(unread) != 1 || unread[0].ID != troupe.ChildEndedMailID(kid.ID, 2) || unread[0].Ended.Run != 2 {
			t.Errorf("its parent is told %+v", unread)
		} else if unread[0].Quiet == at.OfCall() {
			t.Errorf("the end of the agent at %+v is told quietly: %v", at, unread[0].Quiet)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRepairForgetsMailOfLostLogs: of a session that is known by its row alone no mail stands as read behind the end of
// the log that is made up for it, which would count as damage again.
func TestRepairForgetsMailOfLostLogs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	const id = "000000000001"
	plantWhole(t, path, id)
	kid := childSession(id, 1)
	s := mustOpen(t, path, Options{})
	err := s.Update(t.Context(), id, func(tx store.Tx) error {
		return tx.Insert(kid, troupe.Lease{Owner: "me", Epoch: 4}, nil)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	raw(t, path, `INSERT INTO mail (root, receiver, id, delivered) VALUES ('`+id+`', '`+string(kid.ID)+`', 'm', 8);
		UPDATE sessions SET seq = 9 WHERE id = '`+string(kid.ID)+`'`)
	_, err = Repair(t.Context(), path, func(log []troupe.Event, l Loss) (Rebuilt, error) {
		x, err := rebuildRow(log, l)
		if log[0].Session == kid.ID {
			x.Session = kid
			x.Session.Seq = 1
		}
		return x, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if damage, whole, err := mustOpen(t, path, Options{}).Check(t.Context()); err != nil || !whole || len(damage) > 0 {
		t.Errorf("after the repair: %q, %v, %v", damage, whole, err)
	}
}

// TestRepairOfOldDocuments: a database that an older version wrote is repaired as it is, for it may be too damaged to
// be brought up to date: what its documents hold is saved, and what no tree has a document of is not.
func TestRepairOfOldDocuments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	const id = "000000000001"
	plantWhole(t, path, id)
	raw(t, path, dropBodies+`PRAGMA user_version = 7;
		INSERT INTO documents (root, hash, body) VALUES ('000000000009', 'lost', x'7b7d')`)
	r, err := Repair(t.Context(), path, rebuildRow)
	if err != nil || r.UnknownRows != 0 {
		t.Fatalf("%d rows are unknown: %v", r.UnknownRows, err)
	}
	s := mustOpen(t, path, Options{})
	err = s.View(t.Context(), func(r store.Reader) error {
		if b, err := r.Document(id, "hash"); err != nil || string(b) != `{"a":1}` {
			t.Errorf("%s, %v", b, err)
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if got := bodiesIn(t, path); !slices.Equal(got, []string{"hash"}) {
		t.Errorf("it holds the bodies %q", got)
	}
}

// bodiesIn lists by their hashes what the documents of a database hold.
func bodiesIn(t *testing.T, path string) (out []string) {
	t.Helper()
	c, err := connect(t.Context(), path, readerPragmas)
	if err != nil {
		t.Fatal(err)
	}
	err = c.query(func(r table.Row) error { out = append(out, r.Text(0)); return nil },
		`SELECT hash FROM bodies ORDER BY hash`)
	if err := errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBodiesAreShared: what two trees have a document of stands once, and goes with the last of them.
func TestBodiesAreShared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	trees := []troupe.SessionID{"000000000001", "000000000002"}
	update := func(id troupe.SessionID, do func(tx store.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), id, do); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range trees {
		update(id, func(tx store.Tx) error {
			return errors.Join(tx.Insert(rootSession(id), troupe.Lease{Owner: "o", Epoch: 1}, nil),
				tx.PutDocument(id, "shared", []byte("1")), tx.PutDocument(id, "own "+string(id), []byte("2")))
		})
	}
	for i, want := range [][]string{
		{"own 000000000001", "own 000000000002", "shared"}, {"own 000000000002", "shared"}, nil,
	} {
		if i > 0 {
			update(trees[i-1], func(tx store.Tx) error { return tx.DeleteTree(trees[i-1]) })
		}
		if got := bodiesIn(t, path); !slices.Equal(got, want) {
			t.Errorf("after %d trees are gone there is %q, want %q", i, got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
