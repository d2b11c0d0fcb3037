package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// Bench measures how many events a second a store takes, each in an Update of its own that adds to the tree's counts as
// well: from sessions that each are a tree, and from the 200 of one tree.
func Bench(b *testing.B, open func(b *testing.B) store.Store) {
	for _, x := range []struct {
		name        string
		trees, kids int
	}{{"sessions=1", 1, 0}, {"sessions=16", 16, 0}, {"sessions=256", 256, 0}, {"tree=200", 1, 200}} {
		b.Run(x.name, func(b *testing.B) {
			s := open(b)
			var all []troupe.Session
			for n := range x.trees {
				root := newRoot(n)
				sessions := []troupe.Session{root}
				for i := range x.kids {
					sessions = append(sessions, newChild(root, i))
				}
				err := s.Update(b.Context(), root.ID, func(tx store.Tx) (err error) {
					for _, one := range sessions {
						err = errors.Join(err, tx.Insert(one, ours(), nil))
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, sessions[min(1, x.kids):]...)
			}
			appendAll(b, s, all)
		})
	}
}

func appendAll(b *testing.B, s store.Store, all []troupe.Session) {
	b.Helper()
	text := strings.Repeat("All work and no play makes a dull agent. ", 25)
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for _, one := range all {
		one.Status, one.Run, one.StartedAt = troupe.Running, 1, epoch()
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				one.Tally.Turns++
				var events []troupe.Event
				one, events = next(one, text)
				err := s.Update(b.Context(), one.Root, func(tx store.Tx) error {
					return errors.Join(tx.Append(ours(), one, events),
						tx.AddTree(one.Root, troupe.TreeDelta{Tally: troupe.Tally{Turns: 1}}))
				})
				if err != nil {
					b.Error(fmt.Errorf("%s: %w", one.ID, err))
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
}
