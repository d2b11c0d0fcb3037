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

// TestBoardLinesFit: of a line that has no room the subject is cut, so that what has changed is seen.
func TestBoardLinesFit(t *testing.T) {
	t.Parallel()
	b := Board{Width: 50}
	it := troupe.BoardItem{ID: "2", Subject: "Check the release notes for errors of every kind, including dates",
		Status: troupe.BoardPending}
	got := b.Take(troupe.BoardChanged{Items: []troupe.BoardItem{it}})
	it.Owner, it.BlockedBy = "Ann", []string{"1"}
	got = append(got, b.Take(troupe.BoardChanged{Items: []troupe.BoardItem{
		{ID: "1", Subject: "one", Status: troupe.BoardPending}, it}})...)
	b.Width = 60 // the terminal is wider by now: nothing is told again for that
	got = append(got, b.Take(troupe.BoardChanged{Items: []troupe.BoardItem{it}})...)
	want := []string{"☐ 2 Check the release notes for errors of every k…", "☐ 1 one",
		"☐ 2 Check the release notes fo… (Ann), waits for 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
