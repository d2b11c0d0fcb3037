package render_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
)

// TestRowsFit: what an agent with a long name does takes one row of a narrow terminal, and the end of its name, which
// tells it from others, stands there.
func TestRowsFit(t *testing.T) {
	t.Parallel()
	const kid = troupe.SessionID("a00000000000")
	v := render.New(root, render.Options{Width: 60, Rows: true})
	w := render.NewWork(v)
	for i, b := range []troupe.Body{born("Look at the authentication of the web shop 2", "Explore", "", root),
		troupe.Started{Run: 1}, replied(1, call(1, 0, "Bash", `{"command":"sleep 25; echo found"}`))} {
		e := troupe.Event{Root: root, Session: kid, Seq: int64(i + 1), At: time.Unix(0, 0), Body: b}
		v.Event(e)
		w.Event(e)
	}
	for _, row := range w.Rows(time.Unix(600, 0), false) {
		if strings.Contains(row, "\n") || ansi.StringWidth(row) > 59 || !strings.Contains(row, "shop 2 · Bash") {
			t.Errorf("%d columns: %q", ansi.StringWidth(row), row)
		}
	}
}

// TestBoardRows: while the main agent is at work the list of what is to be done stands below, from the first item on
// that is left; with the run it goes, and so does a list that is done. No row is wider than the terminal.
func TestBoardRows(t *testing.T) {
	t.Parallel()
	v := render.New(root, render.Options{Width: 40, Rows: true})
	w := render.NewWork(v)
	seq := int64(0)
	say := func(b troupe.Body) {
		seq++
		w.Event(troupe.Event{Root: root, Session: root, Seq: seq, At: time.Unix(0, 0), Body: b})
	}
	item := func(id string, s troupe.BoardStatus) troupe.BoardChanged {
		return troupe.BoardChanged{Items: []troupe.BoardItem{{ID: id, Subject: "Look at the authentication of the shop",
			ActiveForm: "Looking", Status: s}}}
	}
	rows := func() (out []string) {
		for _, r := range w.Rows(time.Unix(0, 0), false) {
			if ansi.StringWidth(r) > 39 {
				t.Errorf("%d columns: %q", ansi.StringWidth(r), r)
			}
			r, _, _ = strings.Cut(strings.TrimSpace(r), " Look")
			out = append(out, r)
		}
		return out
	}
	want := func(when string, want ...string) {
		t.Helper()
		if got := rows(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	say(troupe.Started{Run: 1})
	for i := range 8 {
		say(item(strconv.Itoa(i+1), troupe.BoardPending))
	}
	say(item("1", troupe.BoardCompleted))
	say(item("2", troupe.BoardInProgress))
	want("eight", "▶ 2", "☐ 3", "☐ 4", "☐ 5", "☐ 6", "… 1 of 8 are done")
	say(item("3", troupe.BoardDeleted))
	say(item("4", troupe.BoardDeleted))
	want("six", "☑ 1", "▶ 2", "☐ 5", "☐ 6", "☐ 7", "☐ 8")
	for _, id := range []string{"2", "5", "6", "7", "8"} {
		say(item(id, troupe.BoardCompleted))
	}
	want("all are done")
	say(item("9", troupe.BoardPending))
	say(troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed}})
	want("the run is over")
}
