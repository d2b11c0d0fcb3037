package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/storetest"
)

// born is when the sessions of these tests are born.
func born() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }

func rootSession(id troupe.SessionID) troupe.Session {
	return troupe.Session{
		ID: id, Root: id, Cwd: "/home/ada/work/login", Type: "main", Model: "anthropic/large",
		Status: troupe.Spawning, CreatedAt: born(),
	}
}

func childSession(root troupe.SessionID, n int) troupe.Session {
	s := rootSession(troupe.ChildID(root, troupe.Coord{Reply: 1, Call: n}))
	s.Root, s.Parent, s.Coord = root, root, troupe.Coord{Reply: 1, Call: n}
	s.Name, s.Title, s.Depth, s.Type = fmt.Sprintf("worker %d", n), "look at one package", 1, "Explore"
	return s
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func openBench(b *testing.B, o Options) *Store {
	b.Helper()
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "troupe.db"), o)
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

// plant makes a tree with children, in one transaction.
func plant(b *testing.B, s *Store, root troupe.SessionID, children int) []troupe.Session {
	b.Helper()
	var out []troupe.Session
	err := s.Update(b.Context(), root, func(tx store.Tx) error {
		out = nil
		if err := tx.Insert(rootSession(root), troupe.Lease{Owner: "o", Epoch: 1},
			&troupe.Caps{MaxDepth: 1}); err != nil {
			return err
		}
		for n := range children {
			c := childSession(root, n)
			if err := tx.Insert(c, troupe.Lease{Owner: "o", Epoch: 1}, nil); err != nil {
				return err
			}
			out = append(out, c)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkUpdate is half an agent's turn: two events of 2 KB and the tree's sums.
func BenchmarkUpdate(b *testing.B) {
	for _, callers := range []int{1, 32, 256, 1000} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := openBench(b, Options{})
			root := troupe.SessionID("0000000000r0")
			sessions := plant(b, s, root, callers)
			text := strings.Repeat("All work and no play makes a dull agent. ", 50)[:1900]
			l := troupe.Lease{Owner: "o", Epoch: 1}
			step := func(sess *troupe.Session) error {
				return s.Update(b.Context(), root, func(tx store.Tx) error {
					n := *sess
					n.Seq += 2
					n.Run, n.Status, n.StartedAt = 1, troupe.Running, born()
					n.Tally.Usage.Input += 100
					err := tx.Append(l, n, []troupe.Event{
						{Root: root, Session: n.ID, Seq: n.Seq - 1, At: born(), Body: troupe.Replied{
							Reply: int(n.Seq), Blocks: []troupe.Block{troupe.Text(text)}, Stop: troupe.StopToolUse,
							Model: n.Model}},
						{Root: root, Session: n.ID, Seq: n.Seq, At: born(), Body: troupe.ToolFinished{
							Name: "Read", Result: troupe.Result{Reply: 1, Blocks: []troupe.Block{troupe.Text(text)}}}},
					})
					if err != nil {
						return err
					}
					return tx.AddTree(root, troupe.TreeDelta{Tally: troupe.Tally{Usage: troupe.Usage{Input: 100},
						Turns: 1}})
				})
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			before := cpu(b)
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range sessions {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := step(&sessions[i]); err != nil {
							b.Error(err)
							return
						}
						sessions[i].Seq += 2
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			if st, err := s.Stats(); err == nil {
				b.ReportMetric(float64(st.Bytes)/float64(b.N), "file-B/op")
			}
		})
	}
}

// BenchmarkBirths is 200 births in one transaction: a reply that asks for 200 agents.
func BenchmarkBirths(b *testing.B) {
	s := openBench(b, Options{})
	before := cpu(b)
	l := troupe.Lease{Owner: "o", Epoch: 1}
	prompt := strings.Repeat("Find every exported function without a comment. ", 20)
	for i := range b.N {
		root := troupe.SessionID(fmt.Sprintf("%012d", i))
		plant(b, s, root, 0)
		err := s.Update(b.Context(), root, func(tx store.Tx) error {
			for n := range 200 {
				c := childSession(root, n)
				if err := tx.Insert(c, l, nil); err != nil {
					return err
				}
				c.Seq = 1
				if err := tx.Append(l, c, []troupe.Event{{Root: root, Session: c.ID, Seq: 1, At: born(),
					Body: troupe.Created{
						Parent: root, Coord: c.Coord, Name: c.Name, Cwd: c.Cwd, Depth: 1,
						Profile: troupe.Profile{Type: c.Type, Prompt: prompt, Tools: []string{"Glob", "Grep", "Read"},
							Model: c.Model}}}}); err != nil {
					return err
				}
			}
			return tx.AddTree(root, troupe.TreeDelta{Total: 200, Active: 200})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N)/200, "cpu-µs/birth")
}

func BenchmarkLists(b *testing.B) {
	storetest.BenchLists(b, func(b *testing.B) store.Store { return openBench(b, Options{}) })
}

// BenchmarkOpen opens and closes a database that other runs have filled, which is what
// every start of the program waits for.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "troupe.db")
	s, err := Open(b.Context(), path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 20 {
		plant(b, s, troupe.SessionID(fmt.Sprintf("%012d", i)), 50)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var opening time.Duration
	for b.Loop() {
		start := time.Now()
		s, err := Open(b.Context(), path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		opening += time.Since(start)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(opening.Microseconds())/float64(b.N), "open-µs/op")
}

// BenchmarkStart is all that a start in an existing home asks of the store before the first
// request: open it, become an owner, write the root.
func BenchmarkStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "troupe.db")
	if s, err := Open(b.Context(), path, Options{}); err != nil {
		b.Fatal(err)
	} else if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var starting time.Duration
	i := 0
	for b.Loop() {
		i++
		id := fmt.Sprintf("%012d", i)
		start := time.Now()
		s, err := Open(b.Context(), path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		release, err := s.Register(b.Context(), troupe.Owner{ID: troupe.OwnerID(id)})
		if err != nil {
			b.Fatal(err)
		}
		plant(b, s, troupe.SessionID(id), 0)
		starting += time.Since(start)
		if err := release(); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(starting.Microseconds())/float64(b.N), "start-µs/op")
}

// BenchmarkCreate is the first start in a new home.
func BenchmarkCreate(b *testing.B) {
	dir := b.TempDir()
	i := 0
	for b.Loop() {
		i++
		s, err := Open(b.Context(), filepath.Join(dir, fmt.Sprint(i), "troupe.db"), Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatch is a look at a database in which nothing was committed: what it costs to follow
// trees that other processes run, five times a second, however many they are.
func BenchmarkWatch(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "troupe.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	c, err := connect(b.Context(), s.path, readerPragmas)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.close() }()
	var w watching
	told := 0
	for b.Loop() {
		if err := w.look(c, func([]store.Commit) { told++ }); err != nil {
			b.Fatal(err)
		}
	}
	if told != 1 {
		b.Errorf("it told of commits %d times", told)
	}
}

// BenchmarkEvents reads the last two events of a log, as who follows a session of another process does.
func BenchmarkEvents(b *testing.B) {
	s := openBench(b, Options{})
	root := troupe.SessionID("0000000000r0")
	child := plant(b, s, root, 1)[0]
	for range 100 {
		child.Seq++
		child.Run, child.Status, child.StartedAt = 1, troupe.Running, born()
		err := s.Update(b.Context(), root, func(tx store.Tx) error {
			return tx.Append(troupe.Lease{Owner: "o", Epoch: 1}, child, []troupe.Event{{Root: root, Session: child.ID,
				Seq: child.Seq, At: born(), Body: troupe.ModelChanged{Model: "m"}}})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		err := s.View(b.Context(), func(r store.Reader) error {
			events, err := r.Events(child.ID, 90+i%8, 2)
			if err == nil && len(events) != 2 {
				b.Errorf("%d events", len(events))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
