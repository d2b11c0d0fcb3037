package app

import (
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store/sqlite"
)

// TestLostEventsStayOnTheBill: what a session's row says that the lost end of its log has cost is all kept, each
// kind for itself.
func TestLostEventsStayOnTheBill(t *testing.T) {
	t.Parallel()
	const id = "0123456789ab"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bill := troupe.Tally{Usage: troupe.Usage{Input: 1, Output: 20, CacheRead: 300, CacheWrite: 4000}, Cost: 50_000,
		Turns: 6, ToolUses: 7}
	log := []troupe.Event{{Root: id, Session: id, Seq: 1, At: now,
		Body: troupe.Created{Cwd: "/x", Profile: troupe.Profile{Type: "main"}}}}
	out, err := rebuild(now)(log, sqlite.Loss{Why: "it is damaged", Events: 9,
		Row: troupe.Session{ID: id, Root: id, Tally: bill}})
	if err != nil {
		t.Fatal(err)
	}
	if out.Session.Tally != bill || out.End.Tally != bill {
		t.Errorf("the session's bill is %+v, its run's %+v, want %+v", out.Session.Tally, out.End.Tally, bill)
	}
}
