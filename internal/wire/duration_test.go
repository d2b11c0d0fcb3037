package wire

import (
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// TestClockSetBack: nothing takes less than no time, whatever the clock says.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	live := troupe.Session{StartedAt: now.Add(time.Hour)}
	ended := troupe.Session{StartedAt: now.Add(time.Hour), EndedAt: now}
	if a, b := DurationMS(live, now), DurationMS(ended, now); a != 0 || b != 0 {
		t.Errorf("%d ms and %d ms", a, b)
	}
}
