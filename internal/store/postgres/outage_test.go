package postgres_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
	"github.com/troupe-dev/troupe/internal/store/postgres"
	"github.com/troupe-dev/troupe/internal/store/postgres/pgtest"
)

const theRoot = troupe.SessionID("0123456789ab")

func lease() troupe.Lease { return troupe.Lease{Owner: "o", Epoch: 1} }

func open(t *testing.T, address string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// killable is a server of a test's own, which writes to the disk.
func killable(t *testing.T) *pgtest.Server {
	t.Helper()
	if server == nil {
		t.Skip(missing)
	}
	own, err := pgtest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	return own
}

func planted(t *testing.T, s *postgres.Store, root troupe.Session) {
	t.Helper()
	err := s.Update(t.Context(), root.ID, func(tx store.Tx) error { return tx.Insert(root, lease(), nil) })
	if err != nil {
		t.Fatal(err)
	}
}

func root(id troupe.SessionID) troupe.Session {
	return troupe.Session{ID: id, Root: id, Cwd: "/w", Type: "main", Model: "m", Status: troupe.Spawning}
}

// TestOutage: the server is killed again and again while two processes write. Every Update that was answered with nil
// is there once, and one that was not is not there, or says that nobody knows.
func TestOutage(t *testing.T) {
	t.Parallel()
	own := killable(t)
	address := own.Address("outage")
	stores := []*postgres.Store{open(t, address), open(t, address)}
	planted(t, stores[0], root(theRoot))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	counts := make([]int, len(stores))
	for i, s := range stores {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := s.Update(t.Context(), theRoot, func(tx store.Tx) error {
					return tx.AddTree(theRoot, troupe.TreeDelta{Total: 1})
				})
				if err == nil { // a read waits for the server as well
					err = s.View(t.Context(), func(store.Reader) error { return nil })
				}
				if err != nil {
					t.Errorf("after %d: %v", counts[i], err)
					return
				}
				counts[i]++
			}
		})
	}
	for range 3 {
		<-time.After(300 * time.Millisecond)
		if err := errors.Join(own.Kill(), own.Run()); err != nil {
			t.Error(err)
		}
	}
	<-time.After(300 * time.Millisecond)
	close(stop)
	wg.Wait()
	got := 0
	err := stores[0].View(t.Context(), func(r store.Reader) error {
		tree, err := r.Tree(theRoot)
		got = tree.Total
		return err
	})
	if want := counts[0] + counts[1]; err != nil || got != want || want == 0 {
		t.Errorf("%d were answered, and %d are there: %v", want, got, err)
	}
}

// TestOwnersOutliveAnOutage: who could not beat because the database was down is not dead when it comes up.
func TestOwnersOutliveAnOutage(t *testing.T) {
	t.Parallel()
	own := killable(t)
	works, looks := open(t, own.Address("owners")), open(t, own.Address("owners"))
	if _, err := works.Register(t.Context(), troupe.Owner{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	err := own.Kill()
	<-time.After(4 * time.Second)
	if err := errors.Join(err, own.Run()); err != nil {
		t.Fatal(err)
	}
	for range 30 { // until it has beaten again, and beyond
		alive := false
		for try := 0; ; try++ {
			if _, alive, err = looks.Owner(t.Context(), "a"); err == nil || try == 20 {
				break
			}
		}
		if !alive || err != nil {
			t.Fatalf("alive is %v, %v", alive, err)
		}
		<-time.After(150 * time.Millisecond)
	}
}

// TestStoppedInATransaction: a process that stands still inside of a transaction holds its tree for two seconds and no
// longer, and what it wrote there is not there.
func TestStoppedInATransaction(t *testing.T) {
	t.Parallel()
	address := fresh(t)
	stopped, other := open(t, address), open(t, address)
	planted(t, other, root(theRoot))
	inside, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	var late error
	wg.Go(func() {
		late = stopped.Update(t.Context(), theRoot, func(tx store.Tx) error {
			err := tx.AddTree(theRoot, troupe.TreeDelta{Total: 1})
			if _, rerr := tx.Session(theRoot); rerr != nil {
				return rerr
			}
			once.Do(func() { close(inside) })
			<-goOn
			return err
		})
	})
	<-inside
	var before int
	err := other.Update(t.Context(), theRoot, func(tx store.Tx) error {
		tree, err := tx.Tree(theRoot)
		before = tree.Total
		return errors.Join(err, tx.AddTree(theRoot, troupe.TreeDelta{Total: 10}))
	})
	close(goOn)
	wg.Wait()
	if err != nil || before != 0 || late != nil {
		t.Errorf("another process: %v, and it sees %d; the stopped one is answered %v", err, before, late)
	}
	_ = other.View(t.Context(), func(r store.Reader) error {
		if tree, err := r.Tree(theRoot); err != nil || tree.Total != 11 {
			t.Errorf("%+v, %v", tree, err)
		}
		return nil
	})
}

// TestOutlivesAConnection: what reads, or is about to write, when its connection breaks is run again, on one state;
// what is told of an owner is asked again. What cannot be had at all is said to be out of reach.
func TestOutlivesAConnection(t *testing.T) {
	t.Parallel()
	own := killable(t)
	s := open(t, own.Address("reads"))
	planted(t, s, root(theRoot))
	if _, err := s.Register(t.Context(), troupe.Owner{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	hangUp := func() {
		if out, err := own.Script(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'troupe'`); err != nil {
			t.Error(out, err)
		}
	}
	runs := 0
	err := s.View(t.Context(), func(r store.Reader) error {
		runs++
		if _, err := r.Session(theRoot); err != nil {
			return err
		}
		if runs == 1 {
			hangUp()
		}
		_, err := r.Tree(theRoot)
		return err
	})
	if err != nil || runs != 2 {
		t.Errorf("it was run %d times: %v", runs, err)
	}
	hangUp()
	if _, alive, err := s.Owner(t.Context(), "a"); err != nil || !alive {
		t.Errorf("the owner lives: %v, %v", alive, err)
	}
	err = s.View(t.Context(), func(store.Reader) error {
		runs++
		hangUp()
		return errStop
	})
	if !errors.Is(err, errStop) || runs != 3 {
		t.Errorf("what fails by itself was run %d times: %v", runs-2, err)
	}
	runs = 0
	err = s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		runs++
		if err := tx.AddTree(theRoot, troupe.TreeDelta{Total: 1}); err != nil || runs > 2 {
			return err
		}
		hangUp()
		_, err := tx.Session(theRoot)
		return err
	})
	total := 0
	err = errors.Join(err, s.View(t.Context(), func(r store.Reader) error {
		tree, err := r.Tree(theRoot)
		total = tree.Total
		return err
	}))
	if err != nil || runs != 3 || total != 1 {
		t.Errorf("it was run %d times, and written %d times: %v", runs, total, err)
	}
	err = s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		hangUp()
		_, err := tx.Session(theRoot)
		return err
	})
	if !errors.Is(err, troupe.ErrUnavailable) {
		t.Errorf("what breaks each time: %v", err)
	}
}

var errStop = errors.New("no more")

// TestTexts: what PostgreSQL cannot hold as a text comes back as it was, and is found by it.
func TestTexts(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t))
	for i, text := range []string{"a\x00b", "\xff\xfe", "\x01", "\x01YQ==", "plain ü"} {
		one := root(troupe.ChildID(theRoot, troupe.Coord{Reply: i}))
		one.Title, one.Cwd, one.Result = text, "/w/"+text, text
		planted(t, s, one)
		err := s.View(t.Context(), func(r store.Reader) error {
			got, err := r.Sessions(store.Filter{Cwd: one.Cwd})
			if len(got) != 1 || got[0].Title != text || got[0].Result != text {
				t.Errorf("%q: %+v", text, got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAddresses: what is wrong with an address is said with what to do, and without its password.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"postgres://u:secret@127.0.0.1:1/x", "postgres://u:secret@[",
		"host=/nowhere password=secret",
		"postgres://u:secret@127.0.0.1:notaport/x"} {
		_, err := postgres.Open(t.Context(), address, postgres.Options{})
		user, ok := errors.AsType[*troupe.UserError](err)
		if !ok || user.Hint == "" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestRecordsOutage: the server is killed again and again while two processes count in a record. Every put that was
// answered is there once; one that was not says that nobody knows, and a read waits for the server.
func TestRecordsOutage(t *testing.T) {
	t.Parallel()
	own := killable(t)
	address := own.Address("records")
	stores := []*postgres.Store{open(t, address), open(t, address)}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var made, unknown [2]int
	for i, s := range stores {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				x, err := s.Record(t.Context(), "k", "sum")
				if errors.Is(err, troupe.ErrNotFound) {
					x, err = store.Record{Kind: "k", Key: "sum"}, nil
				}
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				sum, _ := strconv.Atoi(string(x.Value))
				x.Value = []byte(strconv.Itoa(sum + 1))
				switch _, err = s.PutRecord(t.Context(), x); {
				case err == nil:
					made[i]++
				case errors.Is(err, table.ErrOutcome):
					unknown[i]++
				case !errors.Is(err, troupe.ErrChanged):
					t.Errorf("put: %v", err)
					return
				}
			}
		})
	}
	for range 3 {
		<-time.After(300 * time.Millisecond)
		if err := errors.Join(own.Kill(), own.Run()); err != nil {
			t.Error(err)
		}
	}
	<-time.After(300 * time.Millisecond)
	close(stop)
	wg.Wait()
	x, err := stores[0].Record(t.Context(), "k", "sum")
	sum, _ := strconv.Atoi(string(x.Value))
	least, maybe := made[0]+made[1], unknown[0]+unknown[1]
	t.Logf("%d were answered, of %d nobody knows, %d are there", least, maybe, sum)
	if err != nil || sum < least || sum > least+maybe || least == 0 {
		t.Errorf("%d were answered, of %d nobody knows, and %d are there: %v", least, maybe, sum, err)
	}
}

// TestRecordsClosed: what is asked for while a store closes is answered or told so, and so is all that is asked later.
func TestRecordsClosed(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t))
	var wg sync.WaitGroup
	began := make(chan struct{}, 16)
	for i := range cap(began) {
		wg.Go(func() {
			for n := 0; ; n++ {
				_, err := s.PutRecord(t.Context(), store.Record{Kind: "k", Key: fmt.Sprintf("%d/%d", i, n)})
				if n == 0 {
					began <- struct{}{}
				}
				if err != nil {
					if !errors.Is(err, postgres.ErrClosed) {
						t.Errorf("while it closes: %v", err)
					}
					return
				}
			}
		})
	}
	for range cap(began) {
		<-began
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	_, err := s.Record(t.Context(), "k", "0/0")
	_, lerr := s.Records(t.Context(), "k", "", 0)
	_, perr := s.PutRecord(t.Context(), store.Record{Kind: "k", Key: "late"})
	for _, err := range []error{err, lerr, perr, s.DeleteRecord(t.Context(), "k", "0/0", 1)} {
		if !errors.Is(err, postgres.ErrClosed) {
			t.Errorf("once it is closed: %v", err)
		}
	}
}

// TestFromVersion1: a database without records gets them, once, and keeps what it has; its logs say who began its
// trees.
func TestFromVersion1(t *testing.T) {
	t.Parallel()
	address := fresh(t)
	s := open(t, address)
	planted(t, s, root(theRoot))
	err := s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		x := root(theRoot)
		x.Seq = 1
		return tx.Append(lease(), x, []troupe.Event{{Root: theRoot, Session: theRoot, Seq: 1,
			Body: troupe.Created{Caller: &troupe.Caller{Name: "ann"}}}})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), `DROP VIEW subagent_results; DROP VIEW agent_status;
		DROP TABLE records; DROP SEQUENCE record_versions; UPDATE version SET version = 1;
		ALTER TABLE sessions DROP COLUMN archived; ALTER TABLE sessions DROP COLUMN words; ALTER TABLE sessions DROP COLUMN begun_by;
		DROP INDEX roots_by_folder; DROP INDEX roots_live; DROP INDEX roots_failed`)
	if err := errors.Join(err, c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	r := store.Record{Kind: "k", Key: "a", Value: []byte("v")}
	for range 2 {
		s = open(t, address)
		if r.Version, err = s.PutRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		err = s.View(t.Context(), func(r store.Reader) error {
			x, err := r.Session(theRoot)
			if x.By != "ann" {
				t.Errorf("%q began it", x.By)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if got, err := s.Stats(t.Context()); err != nil || got.Version != 5 {
		t.Errorf("%+v, %v", got, err)
	}
}
