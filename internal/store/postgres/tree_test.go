package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// TestTreeMadeMeanwhile: a tree that another process makes while an update looks for it is there or not, and the
// database is not damaged for that.
func TestTreeMadeMeanwhile(t *testing.T) {
	t.Parallel()
	h := home{address: fresh(t)}
	var all []store.Store
	for range 4 {
		s := h.Open(t)
		defer s.Close()
		all = append(all, s)
	}
	for n := range 300 {
		id := troupe.SessionID(fmt.Sprintf("7k3f%08d", n))
		one := troupe.Session{ID: id, Root: id, Cwd: "/src", Type: "main", Model: "script/main",
			Status: troupe.Spawning}
		var births sync.WaitGroup
		for _, s := range all {
			births.Go(func() {
				err := s.Update(t.Context(), id, func(tx store.Tx) error {
					if _, err := tx.Tree(id); !errors.Is(err, troupe.ErrNotFound) {
						return err
					}
					return tx.Insert(one, troupe.Lease{Owner: "a", Epoch: 1}, nil)
				})
				if err != nil && !errors.Is(err, troupe.ErrExists) {
					t.Error(err)
				}
			})
		}
		births.Wait()
	}
}
