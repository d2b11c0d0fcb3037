package shell

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// TestTurns: of 200 commands only so many are at work at once, each has its turn, and one that is
// cancelled while it waits takes none.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit, takes, cancelled = 4, 2 * time.Second, 20
		turns := turns{limit: limit}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var working, most, ran atomic.Int64
		var all sync.WaitGroup
		began := time.Now()
		for i := range 200 {
			ctx := t.Context()
			if i >= 200-cancelled {
				synctest.Wait() // behind all others
				ctx = short
			}
			all.Go(func() {
				if !turns.enter(ctx, nil) {
					return
				}
				defer turns.leave()
				most.Store(max(most.Load(), working.Add(1)))
				<-time.After(takes)
				working.Add(-1)
				ran.Add(1)
			})
		}
		all.Wait()
		if most.Load() != limit || ran.Load() != 200-cancelled {
			t.Errorf("%d were at work at once and %d ran", most.Load(), ran.Load())
		}
		if took, want := time.Since(began), takes*(200-cancelled)/limit; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
	})
}

// TestStalledTurns: commands that wait for one that waits for its turn do not wait for ever.
func TestStalledTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := turns{limit: 2}
		came := make(chan struct{})
		var all sync.WaitGroup
		began := time.Now()
		for range 2 {
			all.Go(func() {
				turns.enter(t.Context(), nil)
				defer turns.leave()
				<-came
			})
		}
		synctest.Wait()
		for range 2 {
			all.Go(func() {
				turns.enter(t.Context(), nil)
				defer turns.leave()
				select {
				case came <- struct{}{}:
				case <-t.Context().Done():
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != stalled {
			t.Errorf("it took %v, want %v", took, stalled)
		}
		if turns.working != 0 {
			t.Errorf("%d are still at work", turns.working)
		}
	})
}

// TestStages: a command that waits for its turn says for what, and when it begins; one that need not says nothing.
func TestStages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Shell{turns: turns{limit: 2}}
		var stages []troupe.Stage
		env := tool.Env{Cwd: "/", Stage: func(s troupe.Stage) { stages = append(stages, s) }}
		enter := func(command string) func() {
			c := &call{shell: s, command: command}
			if c.TakeTurn(t.Context(), env, false) {
				c.LeaveTurn() // twice is as good as once
			} else if len(stages)%2 > 0 {
				t.Fatal("it asked without waiting, and said that it waits")
			}
			c = &call{shell: s, command: command}
			if !c.TakeTurn(t.Context(), env, true) {
				t.Fatal("it was cancelled")
			}
			return func() { c.LeaveTurn(); c.LeaveTurn() }
		}
		first := enter("git add a")
		time.AfterFunc(time.Second, first)
		second := enter("git commit -m x")
		third := enter("make")
		time.AfterFunc(time.Second, second)
		fourth := enter("make")
		third()
		fourth()
		want := []troupe.Stage{troupe.StageRepository, troupe.StageRuns, troupe.StageProcessor, troupe.StageRuns}
		if !slices.Equal(stages, want) {
			t.Errorf("they said %q, want %q", stages, want)
		}
	})
}
