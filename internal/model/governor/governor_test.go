package governor_test

import (
	"fmt"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/governor"
)

func after(d time.Duration, fn func()) func() {
	t := time.AfterFunc(d, fn)
	return func() { t.Stop() }
}

func throttled(wait time.Duration) error {
	return &model.Error{Fault: troupe.FaultRetry, Throttled: true, RetryAfter: wait}
}

func newGovernor(limit int) *governor.Governor {
	return governor.New(governor.Options{Max: func(string) int { return limit }, Now: time.Now, After: after})
}

func TestWithoutTroubleEverybodyGoes(t *testing.T) {
	t.Parallel()
	g := newGovernor(0)
	for i := range 1000 {
		if now, _ := g.Enter("p", nil); !now {
			t.Fatalf("call %d had to wait", i)
		}
	}
}

func TestFixedLimit(t *testing.T) {
	t.Parallel()
	g := newGovernor(2)
	var order []int
	for i := range 5 {
		if now, _ := g.Enter("p", func() { order = append(order, i) }); now != (i < 2) {
			t.Fatalf("call %d went at once: %v", i, now)
		}
	}
	if now, _ := g.Enter("other", nil); !now {
		t.Error("another provider's lane is full of this one's calls")
	}
	g.Leave("p", nil)
	g.Leave("p", nil)
	if got := fmt.Sprint(order); got != "[2 3]" {
		t.Errorf("after two had left, %s went", got)
	}
}

func TestWhoGivesUpIsPassedOver(t *testing.T) {
	t.Parallel()
	g := newGovernor(1)
	g.Enter("p", nil)
	_, cancel := g.Enter("p", func() { t.Error("went after it had given up") })
	gone := false
	g.Enter("p", func() { gone = true })
	cancel()
	if n, _ := g.Waiting("p"); n != 1 {
		t.Errorf("%d wait", n)
	}
	if g.Leave("p", nil); !gone {
		t.Error("the next one did not go")
	}
}

// TestRetryAfter: an hour is an hour for everybody, without anybody asking in between.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGovernor(0)
		g.Enter("p", nil)
		g.Leave("p", throttled(time.Hour))
		began := time.Now()
		var went []time.Duration
		for range 3 {
			g.Enter("p", func() {
				went = append(went, time.Since(began))
				g.Leave("p", nil)
			})
		}
		if n, until := g.Waiting("p"); n != 3 || until.Sub(began) != time.Hour {
			t.Errorf("%d wait, until %s", n, until.Sub(began))
		}
		<-time.After(2 * time.Hour)
		synctest.Wait()
		if got := fmt.Sprint(went); got != "[1h0m0s 1h0m0s 1h0m0s]" {
			t.Errorf("they went after %s", got)
		}
	})
}

// TestPausedAgain: a provider that wants to be left alone a second time is, and what waits goes
// on by itself after each pause, also where no other call ends that could wake it.
func TestPausedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGovernor(0)
		began := time.Now()
		var went []time.Duration
		for range 3 {
			if now, _ := g.Enter("p", nil); !now {
				t.Fatal("the lane is not free")
			}
			g.Leave("p", throttled(time.Minute))
			g.Enter("p", func() {
				went = append(went, time.Since(began))
				g.Leave("p", nil)
			})
			<-time.After(time.Hour)
			synctest.Wait()
		}
		if got := fmt.Sprint(went); got != "[1m0s 1h1m0s 2h1m0s]" {
			t.Errorf("they went after %s", got)
		}
	})
}

// clock is virtual time with one thing at a time.
type clock struct {
	now    time.Time
	events []event
}

type event struct {
	at time.Time
	fn func()
}

func (c *clock) after(d time.Duration, fn func()) func() {
	c.events = append(c.events, event{c.now.Add(d), fn})
	return func() {}
}

func (c *clock) run() {
	for len(c.events) > 0 {
		sort.SliceStable(c.events, func(i, j int) bool { return c.events[i].at.Before(c.events[j].at) })
		e := c.events[0]
		c.events = c.events[1:]
		c.now = e.at
		e.fn()
	}
}

// TestHundredAtOnce: 200 agents against a service that serves ten calls at once. All of them
// are served in the end, and the service turns away little more than the first wave.
func TestHundredAtOnce(t *testing.T) {
	t.Parallel()
	const agents, limit, turns = 200, 10, 5
	var c clock
	g := governor.New(governor.Options{Now: func() time.Time { return c.now }, After: c.after})
	busy, refused, served := 0, 0, 0
	var call func(left, attempt int)
	serve := func(left, attempt int) {
		if busy >= limit {
			refused++
			c.after(0, func() { // the answer takes its way
				g.Leave("p", throttled(0))
				c.after(time.Second<<min(attempt, 6), func() { call(left, attempt+1) })
			})
			return
		}
		busy++
		c.after(100*time.Millisecond, func() {
			busy--
			served++
			g.Leave("p", nil)
			if left > 1 {
				call(left-1, 0)
			}
		})
	}
	call = func(left, attempt int) {
		if now, _ := g.Enter("p", func() { serve(left, attempt) }); now {
			serve(left, attempt)
		}
	}
	for range agents {
		call(turns, 0)
	}
	c.run()
	if served != agents*turns {
		t.Fatalf("%d of %d calls were served", served, agents*turns)
	}
	t.Logf("%d calls, %d of them refused, %s", served+refused, refused, c.now.Sub(time.Time{}))
	// The first wave has to find the limit; after that one call in some ten tries for more.
	if refused > agents+served/limit {
		t.Errorf("the service had to refuse %d calls", refused)
	}
}
