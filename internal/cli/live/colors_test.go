package live

import (
	"fmt"
	"strings"
	"testing"

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
