package session

import (
	"fmt"
	"testing"
	"time"
)

// What a new agent is told of its folder is never older than what agents here may have changed.
func TestSurroundings(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	looks := 0
	var during func() // happens while somebody looks
	s := folderCache{
		now: func() time.Time { return now },
		look: func(folder string) Surroundings {
			looks++
			if during != nil {
				during()
			}
			return Surroundings{Place: fmt.Sprintf("%s, look %d", folder, looks)}
		},
	}
	want := func(folder, text string) {
		t.Helper()
		now = now.Add(time.Millisecond)
		if got := s.of(folder).Place; got != text {
			t.Fatalf("%s is described as %q, want %q", folder, got, text)
		}
	}
	want("a", "a, look 1")
	want("a", "a, look 1")
	want("b", "b, look 2")

	now = now.Add(freshFor)
	want("a", "a, look 3")

	done := s.invalidate()
	want("a", "a, look 4")
	want("a", "a, look 5") // it may change at any time
	done()
	want("a", "a, look 6")
	want("a", "a, look 6")

	during = func() { s.invalidate()(); during = nil } // a change that nobody saw the whole of
	want("b", "b, look 7")
	want("b", "b, look 8")
	want("b", "b, look 8")

	now = now.Add(-time.Hour) // the clock is set back
	want("b", "b, look 9")

	s.seen("c", Surroundings{Place: "as the run was told"}, now.Add(-time.Second))
	want("c", "c, look 10") // that was before the change
	now = now.Add(2 * time.Hour)
	s.seen("d", Surroundings{Place: "as the run was told"}, now)
	want("d", "as the run was told")
}
