package live

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestBoardSaysWhatWaits: a task stands with those that it waits for, as long as they are not completed.
func TestBoardSaysWhatWaits(t *testing.T) {
	t.Parallel()
	var b Board
	b.Take(troupe.BoardChanged{Items: []troupe.BoardItem{
		{ID: "1", Subject: "one", Status: troupe.BoardPending},
		{ID: "2", Subject: "two", Status: troupe.BoardPending, BlockedBy: []string{"1", "9"}}}})
	if got, want := b.Lines(), []string{"☐ 1 one", "☐ 2 two, waits for 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	b.Take(troupe.BoardChanged{Items: []troupe.BoardItem{{ID: "1", Subject: "one", Status: troupe.BoardCompleted}}})
	if got, want := b.Lines(), []string{"☑ 1 one", "☐ 2 two"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
