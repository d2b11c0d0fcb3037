package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestColors: an agent's name is painted in the color of its definition, each in another one, also that of a main
// agent; where there is no color nothing is.
func TestColors(t *testing.T) {
	t.Parallel()
	show := func(color bool, depth int, name string) string {
		var b strings.Builder
		New(&b, color, 0, "/").Show([]troupe.Event{{Session: "a", Body: troupe.Created{Name: "kid", Depth: depth,
			Profile: troupe.Profile{Type: "painted", Color: name}}},
			{Session: "a", Body: troupe.Ended{Outcome: troupe.Outcome{Status: troupe.Completed}}}})
		return b.String()
	}
	seen := make(map[int]string)
	for _, name := range troupe.Colors() {
		code := console.AgentColor(name, 0)
		if before := seen[code]; code == 0 || before != "" {
			t.Errorf("%s has the code %d, as %q", name, code, before)
		}
		seen[code] = name
		for depth := range 2 {
			if got := show(true, depth, name); !strings.HasPrefix(got, fmt.Sprintf("\x1b[%dm└ kid ", code)) {
				t.Errorf("%s: %q", name, got)
			}
		}
		if got := show(false, 1, name); strings.ContainsRune(got, 0x1b) {
			t.Errorf("%s without color: %q", name, got)
		}
	}
	if got := show(true, 0, "#ff0000"); !strings.HasPrefix(got, "└ kid ") {
		t.Errorf("a color that is not known: %q", got)
	}
}

// TestLinesFit: on a narrow terminal what is longer than a row goes on below it, between words and below the words that
// it goes on with, painted or not.
func TestLinesFit(t *testing.T) {
	t.Parallel()
	for _, color := range []bool{false, true} {
		var b strings.Builder
		v := New(&b, color, 60, "/")
		v.Show([]troupe.Event{
			{Session: "a", Body: troupe.Created{Name: "kid", Depth: 1, Profile: troupe.Profile{Type: "worker",
				Beginning: troupe.Beginning{Notes: []string{
					"the tool WebFetch was left out, because the administrator allows none of the web"}}}}},
			{Session: "a", Body: troupe.RequestOpened{RequestBody: troupe.RequestBody{Decision: troupe.Decision{
				Why: "no rule allows to run it, and what it wants is outside of the folder"}}}},
		})
		rows := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		for i, row := range rows {
			text := ansi.Strip(row)
			if ansi.StringWidth(row) > 60 || !strings.HasPrefix(text, "│ kid ") &&
				!strings.HasPrefix(text, strings.Repeat(" ", 21)) {
				t.Errorf("row %d: %q", i, row)
			}
		}
		whole := strings.Join(strings.Fields(strings.ReplaceAll(ansi.Strip(b.String()), "│ kid", "")), " ")
		if len(rows) < 4 || !strings.Contains(whole, "left out, because the administrator allows none of the web") {
			t.Errorf("%d rows: %q", len(rows), whole)
		}
	}
}
