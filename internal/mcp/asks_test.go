package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

var shallIt = &mcp.ElicitParams{Message: "Shall it?", RequestedSchema: json.RawMessage(`{"type":"object"}`)}

// yesAfter is a person who says yes after a while, and cannot be asked two things at once.
func yesAfter(t *testing.T, d time.Duration, open, put *atomic.Int32) Ask {
	t.Helper()
	return func(ctx context.Context, _ string, _ []troupe.Question) (troupe.Answer, error) {
		put.Add(1)
		if open.Add(1) > 1 {
			t.Error("two questions are open at once")
		}
		defer open.Add(-1)
		select {
		case <-time.After(d):
			return troupe.Answer{By: "user", Effect: troupe.Allow, Said: []troupe.Said{{Choices: []string{"Yes"}}}}, nil
		case <-ctx.Done():
			return troupe.Answer{}, ctx.Err()
		}
	}
}

// TestPatienceStands: while a server's questions are open, no call's time runs, be they of one call or of several, also
// that of a call that begins meanwhile, and it runs on after the last. Questions are put one after another.
func TestPatienceStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c conn
		var open, put atomic.Int32
		var calls []context.Context
		for range 2 {
			ctx, p := withPatience(t.Context(), time.Minute)
			defer p.end()
			x := c.asks.begin(yesAfter(t, time.Hour, &open, &put), p)
			defer c.asks.end(x)
			calls = append(calls, ctx)
		}
		<-time.After(20 * time.Second)
		var work sync.WaitGroup
		for range 3 {
			work.Go(func() {
				if r := c.elicit(t.Context(), "s", shallIt); r.Action != accepted {
					t.Errorf("a question came to %s", r.Action)
				}
			})
		}
		synctest.Wait()
		late, p := withPatience(t.Context(), 40*time.Second)
		defer p.end()
		x := c.asks.begin(yesAfter(t, time.Hour, &open, &put), p)
		defer c.asks.end(x)
		calls = append(calls, late)
		work.Wait()
		<-time.After(39 * time.Second)
		synctest.Wait()
		for i, ctx := range calls {
			if ctx.Err() != nil {
				t.Errorf("call %d was given up while a person was asked: %v", i, context.Cause(ctx))
			}
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		for i, ctx := range calls {
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("call %d goes on without end", i)
			}
		}
	})
}

// TestQuestionOutlivesCall: a question that was put in the name of a call that ended is put in that of one that goes
// on, and comes to nothing if there is none.
func TestQuestionOutlivesCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c conn
		var open, put atomic.Int32
		begin := func() (end func()) {
			_, p := withPatience(t.Context(), time.Minute)
			x := c.asks.begin(yesAfter(t, time.Hour, &open, &put), p)
			return func() { c.asks.end(x); p.end() }
		}
		first, second := begin(), begin()
		got := make(chan string)
		ask := func() { got <- c.elicit(t.Context(), "s", shallIt).Action }
		go ask()
		synctest.Wait()
		first()
		if action := <-got; action != accepted || put.Load() != 2 {
			t.Errorf("the question came to %s, put %d times", action, put.Load())
		}
		go ask()
		synctest.Wait()
		second()
		if action := <-got; action != given {
			t.Errorf("the question of no call came to %s", action)
		}
	})
}

// TestManyQuestions: those that are too many at once are declined, and the others stay open. What is settled counts no
// more.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c conn
		var open, put atomic.Int32
		ctx, p := withPatience(t.Context(), time.Minute)
		defer p.end()
		x := c.asks.begin(yesAfter(t, time.Hour, &open, &put), p)
		defer c.asks.end(x)
		var taken atomic.Int32
		var work sync.WaitGroup
		for range mostOpen + 5 {
			work.Go(func() {
				if c.elicit(t.Context(), "s", shallIt).Action == accepted {
					taken.Add(1)
				}
			})
		}
		work.Wait()
		if taken.Load() != mostOpen || len(c.asks.notes(x)) != 5 || ctx.Err() != nil {
			t.Errorf("%d were taken, %d noted, %v", taken.Load(), len(c.asks.notes(x)), ctx.Err())
		}
		if r := c.elicit(t.Context(), "s", shallIt); r.Action != accepted {
			t.Errorf("one more, when none was open, came to %s", r.Action)
		}
	})
}
