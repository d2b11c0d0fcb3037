package console_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestDeniedOnce: a denial is told once, and by its own words where it has some.
func TestDeniedOnce(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]string{"no rule allows it": "denied: no rule allows it",
		"denied by the user: not now": "denied by the user: not now"} {
		if mark, text := console.Denial(why); mark+text != want {
			t.Errorf("%q is told as %q", why, mark+text)
		}
	}
	no := troupe.HookRan{Event: troupe.HookPreToolUse, Name: "guard", Effect: troupe.HookDenied, Why: "not now",
		Coord: &troupe.Coord{Reply: 1}}
	if got := console.Hook(no); got != "" {
		t.Errorf("beside the call, which says it, the hook is told: %s", got)
	}
	no.Coord = nil
	if got := console.Hook(no); got == "" {
		t.Error("a hook that refuses something else than a call is not told")
	}
}
