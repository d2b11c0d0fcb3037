package search

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// numbered are n forks of one file each, told apart by their prefix.
func numbered(n int) []fork {
	var out []fork
	for i := range n {
		out = append(out, fork{batch: batch{rel: fmt.Sprintf("%05d", i)}})
	}
	return out
}

// However long the first batch takes, no more than maxAhead are held that come after it, and all
// are taken in their order.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const total = 5000
		var begun, lists atomic.Int32
		release := make(chan struct{})
		look := func(_ context.Context, b batch) string {
			begun.Add(1)
			if b.rel == "00000" {
				<-release
			}
			return b.rel
		}
		expand := func(b branch) []fork { // a folder of folders of files
			lists.Add(1)
			if b.depth == 0 {
				return numbered(total)
			}
			return []fork{{isDir: true, branch: branch{depth: b.depth - 1}}}
		}
		q := newQueue(func() func(context.Context, batch) string { return look }, expand)
		var got []string
		done := make(chan error, 1)
		go func() {
			done <- q.run(t.Context(), []fork{{isDir: true, branch: branch{depth: 3}}}, func(s string) error {
				got = append(got, s)
				return nil
			})
		}()
		synctest.Wait()
		if n := begun.Load(); n > maxAhead+maxWorkers {
			t.Errorf("%d batches were begun while the first was under way, more than %d", n, maxAhead+maxWorkers)
		}
		close(release)
		if err := <-done; err != nil || len(got) != total || !slices.IsSorted(got) || lists.Load() != 4 {
			t.Errorf("%d taken, sorted %v, %v", len(got), slices.IsSorted(got), err)
		}
	})
}

// After a cancellation no other batch is begun, though the first is still under way; and a walk
// whose taker has enough ends.
func TestQueueEnds(t *testing.T) {
	t.Parallel()
	for name, enough := range map[string]error{"cancelled": nil, "enough": errStop} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var late atomic.Int32
			look := func(ctx context.Context, b batch) int {
				if ctx.Err() != nil {
					late.Add(1)
				}
				<-time.After(time.Second)
				if enough == nil && b.rel == "00000" {
					<-ctx.Done()
					<-time.After(100 * time.Second)
				}
				return 1
			}
			q := newQueue(func() func(context.Context, batch) int { return look }, nil)
			start := time.Now()
			err := q.run(ctx, numbered(5000), func(int) error { return enough })
			if late.Load() > maxWorkers || time.Since(start) > 2*time.Minute || (enough == nil) != (err != nil) {
				t.Errorf("%s: %d batches were begun too late, %v, after %v", name, late.Load(), err, time.Since(start))
			}
		})
	}
}

// endless is a file that never ends, of which the reader has had enough at some time.
type endless struct {
	reads, enough int
	cancel        func()
	late          int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads > e.enough {
		e.cancel()
		e.late++
	}
	for i := range p {
		p[i] = "0123456789abcde\n"[i%16]
	}
	return len(p), nil
}

// A search is left in the middle of a file, between two reads of it.
func TestFileIsLeft(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"nothing", "[x-z]+$"} {
		ctx, cancel := context.WithCancel(t.Context())
		e := engineFor(t, query{regexp: pattern, mode: modeContent})
		w := e.worker()
		file := &endless{enough: 5, cancel: cancel}
		p := part{r: file, left: 1 << 40, buf: w.buf}
		s := lines{worker: w, found: &haul{}}
		s.parts(ctx, &p, 0)
		if file.late != 1 {
			t.Errorf("%s: %d reads after the cancellation", pattern, file.late)
		}
		cancel()
	}
}
