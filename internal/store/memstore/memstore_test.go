package memstore_test

import (
	"testing"

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
