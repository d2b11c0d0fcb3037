package postgres_test

import (
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/postgres"
	"github.com/troupe-dev/troupe/internal/store/postgres/pgtest"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

// BenchmarkStore runs on a server that writes to the disk as one that people use does.
func BenchmarkStore(b *testing.B) {
	server, err := pgtest.Start(b.Context(), "max_connections=200")
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	with := func(n int) func(b *testing.B) store.Store {
		return func(b *testing.B) store.Store {
			s, err := postgres.Open(b.Context(), server.Address(fmt.Sprintf("s%d", schemas.Add(1))),
				postgres.Options{Connections: n})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			})
			return s
		}
	}
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("connections=%d", n), func(b *testing.B) { storetest.Bench(b, with(n)) })
	}
	b.Run("page", func(b *testing.B) { storetest.BenchPage(b, with(8)) })
	b.Run("lists", func(b *testing.B) { storetest.BenchLists(b, with(8)) })
}
