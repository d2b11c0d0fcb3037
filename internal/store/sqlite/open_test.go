package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

func mustOpen(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
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

// raw runs SQL on a file with no Store in between.
func raw(t *testing.T, path, sql string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := connect(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.script(sql), c.close()); err != nil {
		t.Fatal(err)
	}
}

// hint demands an error for people that names path and says what to do.
func hint(t *testing.T, err error, path string, words ...string) {
	t.Helper()
	var u *troupe.UserError
	if !errors.As(err, &u) {
		t.Fatalf("got %v, want an error for people", err)
	}
	for _, w := range append(words, path) {
		if !strings.Contains(u.Error(), w) {
			t.Errorf("the message does not speak of %q:\n%s", w, u)
		}
	}
	t.Logf("%s", u)
	if u.Hint == "" {
		t.Errorf("the message does not say what to do:\n%s", u)
	}
}

func TestOpenMakesTheHome(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "home with space? & #1%")
	path := filepath.Join(dir, "troupe.db")
	s := mustOpen(t, path, Options{})
	if _, err := s.Register(t.Context(), troupe.Owner{ID: "o1"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		dir: 0o700 | fs.ModeDir, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
		filepath.Join(dir, "owners"): 0o700 | fs.ModeDir, filepath.Join(dir, "owners", "o1.lock"): 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "home*", "*.new*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	st, err := s.Stats()
	if err != nil || st.Path != path || st.Version != schemaVersion || st.Bytes < 4096 {
		t.Errorf("stats are %+v, %v", st, err)
	}
}

// TestDurability: what no crash of a process can show, only one of the machine.
func TestDurability(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "troupe.db"), Options{})
	var got []string
	err := s.write(t.Context(), "", func(tx *table.Tx) error {
		got = nil
		for _, pragma := range []string{"synchronous", "journal_mode", "application_id"} {
			err := tx.Query("ask", func(r table.Row) error { got = append(got, fmt.Sprint(r[0])); return nil },
				"PRAGMA "+pragma)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if want := []string{"2", "wal", fmt.Sprint(applicationID)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("synchronous, journal and application are %v, want %v (%v)", got, want, err)
	}
	err = s.read(t.Context(), func(r *table.Reader) error {
		return r.Query("write", func(table.Row) error { return nil }, "DELETE FROM owners")
	})
	if err == nil {
		t.Error("a View can write")
	}
}

// TestOpenTogether lets real processes, and goroutines of this one, open one new home.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	for range 2 {
		path := filepath.Join(t.TempDir(), "home", "troupe.db")
		var wg sync.WaitGroup
		const processes, stores = 4, 3
		for range processes {
			wg.Go(func() {
				if out, err := child(t, os.Args[0], "open", path).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
		for range stores {
			wg.Go(func() {
				s, err := Open(t.Context(), path, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := mustOpen(t, path, Options{})
		err := s.View(t.Context(), func(r store.Reader) error {
			roots, err := r.Sessions(store.Filter{RootsOnly: true})
			if len(roots) != processes {
				t.Errorf("%d processes wrote, %d roots are there", processes, len(roots))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestOpenAfterAHalfMadeHome: a crash while the database was made is no obstacle.
func TestOpenAfterAHalfMadeHome(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	for _, name := range []string{path + ".new", path + ".new-wal", path + ".new-shm"} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plantOne(t, mustOpen(t, path, Options{}))

	empty := filepath.Join(t.TempDir(), "troupe.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	plantOne(t, mustOpen(t, empty, Options{}))
}

const theRoot troupe.SessionID = "0000000000r1"

func plantOne(t *testing.T, s *Store) {
	t.Helper()
	err := s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		return tx.Insert(rootSession(theRoot), troupe.Lease{Owner: "o", Epoch: 1}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenNewer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	plantOne(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, path, "PRAGMA user_version = 4711")
	_, err := Open(t.Context(), path, Options{})
	if !errors.Is(err, troupe.ErrNewer) {
		t.Errorf("got %v, want %v", err, troupe.ErrNewer)
	}
	hint(t, err, path, "4711", fmt.Sprintf("up to %d", schemaVersion), "Install the newer troupe")
	raw(t, path, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	s = mustOpen(t, path, Options{})
	if err := s.View(t.Context(), func(r store.Reader) error { _, err := r.Session(theRoot); return err }); err != nil {
		t.Errorf("refusing the database has changed it: %v", err)
	}
}

// dropBodies takes back what versions 8 to 10 brought.
const dropBodies = dropTeam + "ALTER TABLE sessions DROP COLUMN workspace; DROP INDEX documents_by_hash; " +
	"ALTER TABLE documents ADD COLUMN body BLOB NOT NULL DEFAULT x''; " +
	"UPDATE documents SET body = (SELECT body FROM bodies b WHERE b.hash = documents.hash); DROP TABLE bodies; "

// dropLists takes back what versions 13 to 15 brought.
const dropLists = "DROP VIEW subagent_results; DROP VIEW agent_status; " +
	"DROP INDEX roots_by_text; DROP INDEX roots_live; DROP INDEX roots_failed; DROP INDEX " +
	"roots_by_folder; DROP INDEX roots_by_person; ALTER TABLE sessions DROP COLUMN begun_by; " +
	"DROP INDEX roots_by_age; ALTER TABLE sessions DROP COLUMN archived; "

const dropTeam = dropLists + "ALTER TABLE sessions DROP COLUMN team; ALTER TABLE sessions DROP COLUMN asleep_at; "

// dropHeldTurns takes back what versions 5 to 7 brought, and 12.
const dropHeldTurns = "DROP TABLE records; ALTER TABLE sessions DROP COLUMN cut; " +
	"ALTER TABLE trees DROP COLUMN since_prompt; " +
	"ALTER TABLE trees DROP COLUMN held_turns; ALTER TABLE sessions DROP COLUMN held_turns; "

// A database of the first version is brought up to date, and what it had stays.
func TestOpenOlder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	plantOne(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, path, "DROP TABLE documents; DROP TABLE bodies; DROP TABLE requests; ALTER TABLE trees DROP COLUMN "+
		"max_turns; ALTER TABLE sessions DROP COLUMN workspace; "+dropTeam+
		dropHeldTurns+"PRAGMA user_version = 1")
	s = mustOpen(t, path, Options{})
	tree := func() (tree troupe.Tree) {
		err := s.View(t.Context(), func(r store.Reader) (err error) { tree, err = r.Tree(theRoot); return err })
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	if got := tree(); got.Caps.MaxTurns != 0 {
		t.Errorf("an old tree may have %d turns", got.Caps.MaxTurns)
	}
	caps := troupe.Caps{MaxDepth: 1, MaxTurns: 7}
	if err := s.Update(t.Context(), theRoot, func(tx store.Tx) error { return tx.SetCaps(theRoot, caps) }); err != nil {
		t.Fatal(err)
	}
	if got := tree(); got.Caps != caps {
		t.Errorf("its caps are %+v, want %+v", got.Caps, caps)
	}
	if err := s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		return tx.PutDocument(theRoot, "a",
			nil)
	}); err != nil {
		t.Error(err)
	}
	if v, err := s.PutRecord(t.Context(), store.Record{Kind: "k", Key: "a"}); err != nil || v <= 0 {
		t.Errorf("a record of an old database has version %d, %v", v, err)
	}
}

// Who began the trees of an old database is read from their logs.
func TestWhoBegan(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	plantOne(t, s)
	err := s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		x := rootSession(theRoot)
		x.Seq = 1
		return tx.Append(troupe.Lease{Owner: "o", Epoch: 1}, x, []troupe.Event{{Root: theRoot, Session: theRoot, Seq: 1,
			At: born(), Body: troupe.Created{Caller: &troupe.Caller{Name: "ann"}}}})
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	raw(t, path, dropLists+"PRAGMA user_version = 12")
	s = mustOpen(t, path, Options{})
	err = s.View(t.Context(), func(r store.Reader) error {
		if found, err := r.Sessions(store.Filter{By: "ann", Archived: new(false)}); err != nil || len(found) != 1 {
			t.Errorf("ann began %d, %v", len(found), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The requests that are open in a database without rows for them get their rows from the logs.
func TestOpenRequests(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	until := born().Add(time.Hour)
	open := func(call int, step troupe.Step) troupe.RequestOpened {
		return troupe.RequestOpened{Reply: 2, Call: call, RequestBody: troupe.RequestBody{
			Reason: troupe.WaitApproval, Tool: "Bash", Action: fmt.Sprint("call ", call), Until: until,
			Decision: troupe.Decision{Effect: troupe.Ask, Step: step},
		}}
	}
	answered := troupe.RequestAnswered{Reply: 2, Call: 1, By: "ada", Effect: troupe.Allow}
	done := troupe.ToolFinished{Result: troupe.Result{Reply: 2, Call: 4}}
	bodies := []troupe.Body{open(0, "cost"), open(1, "ask"), open(3, "background"), open(4, "ask"), answered,
		open(1, "ask"), done}
	err := s.Update(t.Context(), theRoot, func(tx store.Tx) error {
		l := troupe.Lease{Owner: "o", Epoch: 1}
		live, ended := rootSession(theRoot), childSession(theRoot, 1)
		err := errors.Join(tx.Insert(live, l, nil), tx.Insert(ended, l, nil))
		for _, x := range []*troupe.Session{&live, &ended} {
			var events []troupe.Event
			for i, b := range bodies {
				events = append(events, troupe.Event{Root: theRoot, Session: x.ID, Seq: int64(i + 1),
					At: born().Add(time.Duration(i)), Body: b})
			}
			x.Seq, x.Run, x.StartedAt, x.Status = int64(len(events)), 1, born(), troupe.Running
			if x == &ended {
				x.Status, x.EndedAt = troupe.Completed, born()
			}
			err = errors.Join(err, tx.Append(l, *x, events))
		}
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	raw(t, path, "DROP TABLE requests; "+dropBodies+dropHeldTurns+"PRAGMA user_version = 3")
	s = mustOpen(t, path, Options{})
	var got []troupe.Request
	err = s.View(t.Context(), func(r store.Reader) (err error) {
		got,
			err = r.Requests(store.RequestFilter{Open: true})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		id   string
		call int
		kind troupe.RequestKind
		at   int
	}{{".2.0", 0, troupe.RequestCost, 0}, {".2.3", 3, troupe.RequestBackground, 2},
		{".2.1.2", 1, troupe.RequestPermission, 5}}
	if len(got) != len(want) {
		t.Fatalf("it has %+v", got)
	}
	for i, w := range want {
		r := open(w.call, got[i].Decision.Step).RequestBody
		r.Kind = w.kind
		x := troupe.Request{
			ID: troupe.RequestID(theRoot + troupe.SessionID(w.id)), Root: theRoot, Session: theRoot,
			Coord:       troupe.Coord{Reply: 2, Call: w.call},
			RequestBody: r, Opened: born().Add(time.Duration(w.at)),
		}
		if d := cmp.Diff(x, got[i]); d != "" {
			t.Errorf("request %d (-want +got):\n%s", i, d)
		}
	}
}

func TestOpenWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage, foreign, claimed := filepath.Join(dir, "garbage"), filepath.Join(dir, "foreign"),
		filepath.Join(dir, "claimed")
	text := []byte(strings.Repeat("this is a diary, not a database\n", 500))
	if err := os.WriteFile(garbage, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), garbage, Options{})
	hint(t, err, garbage, "not a database", "Move it away")
	if got, err := os.ReadFile(garbage); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the file was changed (%v)", err)
	}
	raw(t, foreign, "CREATE TABLE recipes (name TEXT)")
	_, err = Open(t.Context(), foreign, Options{})
	hint(t, err, foreign, "another program")
	raw(t, claimed, "PRAGMA application_id = 7")
	_, err = Open(t.Context(), claimed, Options{})
	hint(t, err, claimed, "another program")
	_, err = Open(t.Context(), dir, Options{})
	hint(t, err, dir)
	below := filepath.Join(garbage, "home", "troupe.db")
	_, err = Open(t.Context(), below, Options{})
	hint(t, err, garbage)
}

// TestOpenWithoutPermission opens as somebody who may not. Root may everything, so under
// root another user's process tries.
func TestOpenWithoutPermission(t *testing.T) {
	t.Parallel()
	open := tryAsSomebody(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "troupe.db")
	s := mustOpen(t, path, Options{})
	plantOne(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	chmod := func(name string, mode fs.FileMode) {
		t.Helper()
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what, path, want string) {
		t.Helper()
		got := open(path)
		t.Logf("%s:\n%s", what, got)
		for _, w := range []string{want, filepath.Dir(path), "TROUPE_HOME"} {
			if !strings.Contains(got, w) {
				t.Errorf("%s: the message does not speak of %q", what, w)
			}
		}
	}
	chmod(path, 0o444)
	chmod(dir, 0o777)
	expect("a file that can only be read", path, "cannot write")
	chmod(dir, 0o555)
	expect("a folder that can only be read", path, "cannot")
	chmod(path, 0)
	expect("a file that cannot be read", path, "cannot be opened")
	expect("a home that cannot be made", filepath.Join(dir, "sub", "troupe.db"), "make the folder")
	expect("a database that cannot be made", filepath.Join(dir, "other.db"), "permission denied")
	chmod(dir, 0o755)
	chmod(path, 0o600)
	if err := mustOpen(t, path, Options{}).View(t.Context(),
		func(r store.Reader) error { _, err := r.Session(theRoot); return err }); err != nil {
		t.Errorf("something was lost: %v", err)
	}
}

// tryAsSomebody returns a function that opens a path without root's powers and returns what
// is said about it.
func tryAsSomebody(t *testing.T) func(path string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return func(path string) string {
			s, err := Open(t.Context(), path, Options{})
			if err == nil {
				return "it was opened " + errString(s.Close())
			}
			return errString(err)
		}
	}
	// The test binary lies where others may not go, and so do the folders of this test.
	dir := t.TempDir()
	binary := filepath.Join(dir, "sqlite.test")
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.Chmod(filepath.Dir(dir), 0o755)
	}
	if err == nil {
		// A process that another test forks meanwhile would have it open for writing, and it could not be started.
		syscall.ForkLock.RLock()
		err = os.WriteFile(binary, data, 0o755)
		syscall.ForkLock.RUnlock()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) string {
		cmd := child(t, binary, "open", path)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err == nil {
			return "it was opened"
		} else if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out)
	}
}

func errString(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
