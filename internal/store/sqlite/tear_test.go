package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// grownLog makes a database whose log holds several commits, and returns both files as a kill would leave them.
func grownLog(t *testing.T) (db, log []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	for i := range 4 {
		id := troupe.SessionID("00000000000" + string(rune('1'+i)))
		err := s.Update(t.Context(), id, func(tx store.Tx) error {
			return tx.Insert(rootSession(id), troupe.Lease{},
				nil)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if log, err = os.ReadFile(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return db, log
}

const frameBytes = 24 + pageBytes

// opened opens a copy of a database with a log, and returns what it says of that and the copies that it kept.
func opened(t *testing.T, db, log []byte) (torn string, kept []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "troupe.db")
	for name, data := range map[string][]byte{path: db, path + "-wal": log} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, path, Options{})
	kept, err := s.TornLogs()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kept {
		if data, err := os.ReadFile(name); err != nil || !bytes.Equal(data, log) {
			t.Errorf("%s is no copy: %v", name, err)
		}
	}
	torn = s.Torn()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, path, Options{})
	if again.Torn() != "" {
		t.Errorf("the log is gone, and is said to be damaged: %s", again.Torn())
	}
	return torn, kept
}

// TestTornLog: a log that is damaged before its last commit is kept, and said to be damaged when it is next opened;
// SQLite says nothing and removes it. One that a crash cut short anywhere is none.
func TestTornLog(t *testing.T) {
	t.Parallel()
	db, log := grownLog(t)
	frames := (len(log) - 32) / frameBytes
	var commits []int
	for i := range frames {
		if n := log[32+i*frameBytes+4:]; n[0]|n[1]|n[2]|n[3] != 0 {
			commits = append(commits, i)
		}
	}
	if len(commits) < 3 {
		t.Fatalf("%d commits in %d frames", len(commits), frames)
	}
	for i := range frames {
		bad := bytes.Clone(log)
		bad[32+i*frameBytes+24+100] ^= 1
		torn, kept := opened(t, db, bad)
		if want := i <= commits[len(commits)-2]; (torn != "") != want || (len(kept) == 1) != want {
			t.Errorf("frame %d of %d is damaged, commits are %v: %q, kept %v", i, frames, commits, torn, kept)
		}
		if torn, kept := opened(t, db, log[:32+i*frameBytes+500]); torn != "" || kept != nil {
			t.Errorf("cut short in frame %d of %d: %q, kept %v", i, frames, torn, kept)
		}
	}
	bad := bytes.Clone(log)
	bad[20] ^= 1 // a salt
	if torn, kept := opened(t, db, bad); torn == "" || len(kept) != 1 {
		t.Errorf("the header is damaged: %q, kept %v", torn, kept)
	}
	if torn, kept := opened(t, db, log); torn != "" || kept != nil {
		t.Errorf("a log that is whole: %q, kept %v", torn, kept)
	}
}
