package session

import (
	"fmt"
	"testing"
	"time"
)

// TestColdIsForgotten: what is known of beginnings is bounded: what is cold by now goes first, then what is warm, and
// never one that a call is under way of, for which others may wait.
func TestColdIsForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	known := func(n int, of func(i int) *coldPrefix) *coldPrefixes {
		cold := &coldPrefixes{known: map[string]*coldPrefix{}}
		for i := range n {
			cold.known[fmt.Sprint(i)] = of(i)
		}
		return cold
	}
	warm := func(int) *coldPrefix { return &coldPrefix{until: now.Add(time.Minute)} }
	underway := func(int) *coldPrefix { return &coldPrefix{first: &coldCall{}} }
	lapsed := func(i int) *coldPrefix {
		if i < 10 {
			return &coldPrefix{until: now}
		}
		return warm(i)
	}
	for name, x := range map[string]struct {
		n           int
		of          func(int) *coldPrefix
		least, most int
	}{
		"there is room":     {maxPrefixes - 1, lapsed, maxPrefixes - 1, maxPrefixes - 1},
		"all are warm":      {maxPrefixes, warm, maxPrefixes - 1, maxPrefixes - 1},
		"some are cold":     {maxPrefixes, lapsed, maxPrefixes - 11, maxPrefixes - 10},
		"all are under way": {maxPrefixes, underway, maxPrefixes, maxPrefixes},
	} {
		cold := known(x.n, x.of)
		if cold.forget(now); len(cold.known) < x.least || len(cold.known) > x.most {
			t.Errorf("%s: of %d there are %d", name, x.n, len(cold.known))
		}
	}
}

// TestColdLeft: a call that has gone on by itself is not called back when what it waited for begins.
func TestColdLeft(t *testing.T) {
	t.Parallel()
	stopped := 0
	left, stays := &coldCall{timer: func() { stopped++ }}, &coldCall{}
	p := &coldPrefix{waiting: []*coldCall{left, stays}}
	cold := &coldPrefixes{known: map[string]*coldPrefix{"": p}}
	if cold.leave(left); len(p.waiting) != 1 || p.waiting[0] != stays || stopped != 1 {
		t.Errorf("%d wait, %d timers were stopped", len(p.waiting), stopped)
	}
}
