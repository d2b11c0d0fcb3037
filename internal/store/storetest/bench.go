package storetest

import (
	"errors"
	"fmt"
	"slices"
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

// BenchPage measures a page of 200 events: the first of a log of 70,000, and one in the middle.
func BenchPage(b *testing.B, open func(b *testing.B) store.Store) {
	const events, page = 70_000, 200
	s := open(b)
	root := newRoot(0)
	err := s.Update(b.Context(), root.ID, func(tx store.Tx) error { return tx.Insert(root, ours(), nil) })
	root.Status, root.Run, root.StartedAt = troupe.Running, 1, epoch()
	for err == nil && root.Seq < events {
		var some, one []troupe.Event
		for range 1000 {
			root, one = next(root, strings.Repeat("x", 300))
			some = append(some, one...)
		}
		err = s.Update(b.Context(), root.ID, func(tx store.Tx) error { return tx.Append(ours(), root, some) })
	}
	if err != nil {
		b.Fatal(err)
	}
	for name, after := range map[string]int64{"first": 0, "deep": events / 2} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				err := s.View(b.Context(), func(r store.Reader) error {
					got, err := r.Events(root.ID, after, page)
					if err == nil && len(got) != page {
						err = fmt.Errorf("it has %d events", len(got))
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchLists measures a page of 50 of 100,000 main agents by each filter: the first, and one that goes on deep in the
// list. All of the newer half that are over are archived, so that those which are not stand behind them.
func BenchLists(b *testing.B, open func(b *testing.B) store.Store) {
	const many, page = 100_000, 50
	s := open(b)
	statuses := append(slices.Repeat([]troupe.Status{troupe.Completed}, 97), troupe.Failed, troupe.Cancelled,
		troupe.Running)
	ids := make([]troupe.SessionID, many)
	var wg sync.WaitGroup
	for part := range 16 {
		wg.Go(func() {
			for n := part; n < many; n += 16 {
				x := newRoot(n)
				ids[n] = x.ID
				x.Cwd, x.By, x.Title = fmt.Sprintf("/srv/%d", n%20), fmt.Sprintf("user%d", n%30), fmt.Sprintf(
					"Repair the login of page %d and say what was wrong with it", n)
				x.Status, x.Run, x.StartedAt = statuses[n%len(statuses)], 1, epoch()
				x.Result = strings.Repeat("It was a comma. ", 40)
				if x.Status.Ended() {
					x.EndedAt, x.Archived = epoch(), n >= many/2
				}
				if x.Status == troupe.Failed || x.Status == troupe.Cancelled {
					x.Cause = troupe.CauseInterrupt
				}
				if err := s.Update(b.Context(), x.ID, func(tx store.Tx) error {
					return tx.Insert(x, ours(),
						nil)
				}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, x := range []struct {
		name string
		f    store.Filter
		want int
	}{
		{"all", store.Filter{}, page},
		{"archived", store.Filter{Archived: new(true)}, page},
		{"archived/folder", store.Filter{Archived: new(true), Cwd: "/srv/7"}, page},
		{"folder", store.Filter{Cwd: "/srv/7"}, page},
		{"person", store.Filter{By: "user7"}, page},
		{"status=completed", store.Filter{Status: troupe.Completed}, page},
		{"status=running", store.Filter{Status: troupe.Running}, page},
		{"status=waiting", store.Filter{Status: troupe.Waiting}, 0},
		{"text=common", store.Filter{Text: "Login"}, page},
		{"text=one", store.Filter{Text: "page 777 and"}, 1},
		{"text=none", store.Filter{Text: "logout"}, 0},
		{"text=none/folder", store.Filter{Text: "logout", Cwd: "/srv/7"}, 0},
	} {
		for at, after := range map[string]troupe.SessionID{"first": "", "deep": ids[many/10]} {
			x.f.RootsOnly, x.f.Newest, x.f.Limit, x.f.After = true, true, page, after
			if x.f.Archived == nil {
				x.f.Archived = new(false)
			}
			b.Run(x.name+"/"+at, func(b *testing.B) {
				for b.Loop() {
					err := s.View(b.Context(), func(r store.Reader) error {
						got, err := r.Sessions(x.f)
						if len(got) > x.want || after == "" && len(got) != x.want {
							b.Errorf("%d found, want %d", len(got), x.want)
						}
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
