package postgres_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/postgres"
	"github.com/troupe-dev/troupe/internal/store/postgres/pgtest"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

var (
	server  *pgtest.Server // nil: none is installed, or none can run here
	missing error          // why
	schemas atomic.Int64
)

func TestMain(m *testing.M) {
	server, missing = pgtest.Start(context.Background(), "fsync=off", "max_connections=300", "shared_buffers=32MB")
	if missing != nil { // each test says so, and `make test` in the end
		server = nil
	}
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// fresh is the address of a database with nothing in it.
func fresh(t *testing.T) string {
	t.Helper()
	if server == nil {
		t.Skip(missing)
	}
	return server.Address(fmt.Sprintf("s%d", schemas.Add(1)))
}

type home struct {
	address string
	o       postgres.Options
}

func (h home) Open(t *testing.T) store.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), h.address, h.o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Kill waits until a killed process is known to be dead.
func (h home) Kill(t *testing.T, s store.Store) {
	t.Helper()
	s.(*postgres.Store).Kill() //nolint:errcheck,forcetypeassert // Open made it
	<-time.After(3 * time.Second)
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opener { return home{address: fresh(t)} })
}

// TestStoreNarrow runs the suite where everything waits for everything: one connection, two in a commit.
func TestStoreNarrow(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		return home{fresh(t), postgres.Options{Connections: 1, Batch: 2}}
	})
}
