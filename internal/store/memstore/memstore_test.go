package memstore_test

import (
	"errors"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

type home struct{ db *memstore.DB }

func (h home) Open(*testing.T) store.Store { return h.db.Open() }

// Kill is Close: a process in memory leaves nothing half done, and its owners die.
func (h home) Kill(t *testing.T, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Opener { return home{memstore.New(memstore.Options{})} })
}

// TestStoreRerun runs the suite with every function run twice, as the contract allows.
func TestStoreRerun(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Opener {
		return home{memstore.New(memstore.Options{Rerun: func() bool { return true }})}
	})
}

// BenchmarkTree is what a simulated run asks of the store: a tree of five that writes a
// hundred small updates, and is read back once by a process that takes over.
func BenchmarkTree(b *testing.B) {
	lease := troupe.Lease{Owner: "o", Epoch: 1}
	for b.Loop() {
		s := memstore.New(memstore.Options{}).Open()
		all := []troupe.Session{{ID: "root", Root: "root", Status: troupe.Spawning}}
		for i := range 4 {
			all = append(all, troupe.Session{
				ID: troupe.SessionID(rune('a' + i)), Root: "root", Parent: "root", Depth: 1,
				Name:  string(rune('a' + i)),
				Coord: troupe.Coord{Reply: 1, Call: i}, Status: troupe.Spawning,
			})
		}
		err := s.Update(b.Context(), "root", func(tx store.Tx) (err error) {
			for _, sess := range all {
				err = errors.Join(err, tx.Insert(sess, lease, nil))
			}
			return err
		})
		for i := 0; err == nil && i < 100; i++ {
			sess := &all[i%len(all)]
			sess.Seq++
			err = s.Update(b.Context(), "root", func(tx store.Tx) error {
				return errors.Join(tx.AddTree("root", troupe.TreeDelta{Total: 1}),
					tx.Append(lease, *sess, []troupe.Event{{
						Root: "root", Session: sess.ID, Seq: sess.Seq,
						Body: troupe.ModelChanged{Model: "m", Why: "because"},
					}}))
			})
		}
		for _, sess := range all {
			if err == nil {
				err = s.View(b.Context(), func(r store.Reader) error { _, err := r.Events(sess.ID, 0, 0); return err })
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
