package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

type home struct {
	path string
	o    sqlite.Options
}

func (h home) Open(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), h.path, h.o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (h home) Kill(t *testing.T, s store.Store) {
	t.Helper()
	if err := s.(*sqlite.Store).Kill(); err != nil { //nolint:errcheck // Open made it
		t.Error(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		return home{path: filepath.Join(t.TempDir(), "home", "troupe.db")}
	})
}

// TestStoreNarrow runs the suite where everything waits for everything: room for one in the
// queue, two in a commit, and one reader.
func TestStoreNarrow(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		return home{filepath.Join(t.TempDir(), "troupe.db"), sqlite.Options{Readers: 1, Queue: 1, Batch: 2}}
	})
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) store.Store {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "troupe.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		})
		return s
	})
}
