package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/internal/table"
)

const crashAgents = 6

// writeForEver is the life of a process that will be killed: it takes the tree over from
// whoever held it, and then its agents write. A line on stdout says what was answered with
// success, after it was.
func writeForEver(ctx context.Context, path string) error {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	me := troupe.OwnerID(fmt.Sprint("process-", os.Getpid()))
	if _, err := s.Register(ctx, troupe.Owner{ID: me, PID: os.Getpid()}); err != nil {
		return err
	}
	fmt.Println("owner", me)
	text := strings.Repeat("and then it went on ", 60)
	errs := make(chan error)
	for n := range crashAgents {
		go func() { errs <- agentForEver(ctx, s, me, childSession(theRoot, n).ID, text) }()
	}
	return <-errs
}

func agentForEver(ctx context.Context, s *Store, me troupe.OwnerID, id troupe.SessionID, text string) error {
	var sess troupe.Session
	var lease troupe.Lease
	err := s.Update(ctx, theRoot, func(tx store.Tx) (err error) {
		if lease, err = tx.Claim(id, me); err != nil {
			return err
		}
		sess, err = tx.Session(id)
		return err
	})
	if err != nil {
		return err
	}
	for {
		sess.Seq += 2
		sess.Run, sess.Status, sess.StartedAt = 1, troupe.Running, born()
		sess.Tally.Turns++
		mail := troupe.Mail{ID: troupe.MailID(fmt.Sprint(id, sess.Seq)), Root: theRoot, To: theRoot,
			Kind: troupe.MailPrompt}
		err := s.Update(ctx, theRoot, func(tx store.Tx) error {
			_, err := tx.Send(mail)
			return errors.Join(err,
				tx.Append(lease, sess, []troupe.Event{
					{Root: theRoot, Session: id, Seq: sess.Seq - 1, At: born(), Body: troupe.ModelChanged{Why: text}},
					{Root: theRoot, Session: id, Seq: sess.Seq, At: born(), Body: troupe.Started{Run: 1}},
				}),
				tx.AddTree(theRoot, troupe.TreeDelta{Tally: troupe.Tally{Turns: 1}}))
		})
		if err != nil {
			return err
		}
		fmt.Println(id, sess.Seq)
	}
}

// TestKilled kills a writing process again and again. Afterwards everything it was told is
// written is there, logs are dense, sums agree, and its owner is dead.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	plantOne(t, s)
	err := s.Update(t.Context(), theRoot, func(tx store.Tx) (err error) {
		for n := range crashAgents {
			err = errors.Join(err, tx.Insert(childSession(theRoot, n), troupe.Lease{Owner: "o", Epoch: 1}, nil))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const rounds = 10
	told := map[troupe.SessionID]int64{}
	for round := range rounds {
		if round%3 == 0 { // else it dies with the database open elsewhere, and the log replays another way
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		owner := killAfter(t, path, rng.IntN(120), told)
		if round%3 == 0 {
			s = mustOpen(t, path, Options{})
		}
		if owner != "" {
			if _, alive, err := s.Owner(t.Context(), owner); err != nil || alive {
				t.Errorf("round %d: the killed owner is alive: %v, %v", round, alive, err)
			}
		}
		checkTree(t, s, told)
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}
	t.Logf("%d agents wrote %v", crashAgents, told)
}

// killAfter runs a writer, kills it after so many lines, and notes in told what it was told.
func killAfter(t *testing.T, path string, lines int, told map[troupe.SessionID]int64) (owner troupe.OwnerID) {
	t.Helper()
	cmd := child(t, os.Args[0], "write", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	for n := 0; sc.Scan(); n++ {
		if n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		var id string
		var seq int64
		if name, ok := strings.CutPrefix(sc.Text(), "owner "); ok {
			owner = troupe.OwnerID(name)
		} else if _, err := fmt.Sscan(sc.Text(), &id, &seq); err != nil {
			t.Errorf("the writer says %q", sc.Text())
		} else {
			told[troupe.SessionID(id)] = seq
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the writer was not killed")
	}
	return owner
}

func checkTree(t *testing.T, s *Store, told map[troupe.SessionID]int64) {
	t.Helper()
	err := s.View(t.Context(), func(r store.Reader) error {
		tree, err := r.Tree(theRoot)
		if err != nil {
			return err
		}
		mail, err := r.Unread(theRoot)
		if err != nil {
			return err
		}
		all, err := r.Sessions(store.Filter{Parent: theRoot})
		if err != nil {
			return err
		}
		turns := 0
		for _, sess := range all {
			turns += sess.Tally.Turns
			if sess.Seq < told[sess.ID] {
				t.Errorf("%s stands at %d, and %d was confirmed", sess.ID, sess.Seq, told[sess.ID])
			}
			events, err := r.Events(sess.ID, 0, 0)
			if err != nil {
				return err
			}
			if int64(len(events)) != sess.Seq || sess.Seq != 2*int64(sess.Tally.Turns) {
				t.Errorf("%s stands at %d with %d events and %d turns", sess.ID, sess.Seq, len(events),
					sess.Tally.Turns)
			}
			for i, e := range events {
				if e.Seq != int64(i+1) {
					t.Fatalf("%s: event %d is number %d", sess.ID, i+1, e.Seq)
				}
			}
		}
		if tree.Tally.Turns != turns || len(mail) != turns {
			t.Errorf("the tree counts %d turns, its sessions %d, and %d mails were sent", tree.Tally.Turns, turns,
				len(mail))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if !isWhole(t, s) {
		t.Error("SQLite finds the file damaged")
	}
}

func isWhole(t *testing.T, s *Store) bool {
	t.Helper()
	verdict := ""
	err := s.read(t.Context(), func(r *table.Reader) error {
		return r.Query("check", func(row table.Row) error { verdict += row.Text(0); return nil },
			"PRAGMA integrity_check")
	})
	if err != nil {
		t.Error(err)
	}
	return verdict == "ok"
}
