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

// TestMakings: a folder that takes long is told of after a while, and now and then until it is there.
func TestMakings(t *testing.T) {
	t.Parallel()
	var said []string
	s := NewStalls(func(text string) { said = append(said, text) })
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	tells := func(second, done int) {
		d := wire.Delta{Session: "a", Stage: troupe.StageWorkspace, Done: done, All: 1_250_000}
		s.See(wire.Batch{Deltas: []wire.Delta{d}}, at.Add(time.Duration(second)*time.Second))
	}
	s.See(wire.Batch{Events: []troupe.Event{{Session: "a", Body: troupe.Created{Name: "fix"}}}}, at)
	tells(0, 10)
	tells(2, 20)
	tells(3, 999)
	tells(12, 100_000)
	tells(13, 1_000_000)
	s.See(wire.Batch{Events: []troupe.Event{{Session: "a", Body: troupe.WorkspaceReady{}}}}, at.Add(14*time.Second))
	tells(60, 5) // it is made again
	s = NewStalls(func(text string) { said = append(said, text) })
	s.Know([]wire.Session{{ID: "r"}, {ID: "a", Name: "fix"}}) // as where the session goes on
	tells(0, 1)
	tells(4, 2)
	want := []string{"fix: making its folder: 999 of 1,250,000 files",
		"fix: making its folder: 1,000,000 of 1,250,000 files", "fix: making its folder: 2 of 1,250,000 files"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
}
