package render_test

import (
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
