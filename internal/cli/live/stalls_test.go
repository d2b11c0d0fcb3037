package live

import (
	"slices"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestStalls: a call that brings nothing is told of once, after 30 seconds; one that has begun to answer is not.
func TestStalls(t *testing.T) {
	t.Parallel()
	var said []string
	s := NewStalls(func(text string) { said = append(said, text) })
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	sealed := func(ids ...troupe.SessionID) (b wire.Batch) {
		for _, id := range ids {
			b.Events = append(b.Events, troupe.Event{Session: id, Body: troupe.CallSealed{}})
		}
		return b
	}
	s.See(sealed("a", "b"), at)
	s.See(wire.Batch{Deltas: []wire.Delta{{Session: "b", Text: "I"}}}, at.Add(time.Second))
	s.Look(at.Add(29 * time.Second))
	if len(said) > 0 {
		t.Errorf("too soon: %q", said)
	}
	s.Look(at.Add(30 * time.Second))
	s.Look(at.Add(90 * time.Second))
	s.See(sealed("a", "c"), at.Add(100*time.Second))
	s.Look(at.Add(140 * time.Second))
	s.See(sealed("a"), at.Add(150*time.Second))
	s.See(wire.Batch{Events: []troupe.Event{{Session: "a", Body: troupe.ModelFailed{}}}}, at.Add(151*time.Second))
	s.Look(at.Add(300 * time.Second))
	s.Look(at.Add(-time.Hour)) // the clock was set back
	want := []string{"main: waiting for the model: no answer for 30s, given up at 5 min",
		"2 agents: waiting for the model: no answer for 30s, given up at 5 min"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}
