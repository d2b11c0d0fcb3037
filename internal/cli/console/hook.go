package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// slowHook is how long a hook may take before it is worth a line.
const slowHook = 5 * time.Second

// Hook is what a person should know of a run of a hook, in one line; "" if it is nothing.
func Hook(b troupe.HookRan) string {
	name := fmt.Sprintf("hook %q of %s", Line(b.Name, 60), b.Event)
	took := time.Duration(b.DurationMS) * time.Millisecond
	switch {
	case b.Effect == troupe.HookFailed:
		return name + " failed: " + Line(b.Why, 400)
	case b.GoesOn:
		return name + " does not let the agent end yet: " + Line(cmp.Or(b.Why, "it gives no reason"), 400)
	case b.Effect == troupe.HookDenied && b.Coord != nil && b.Event == troupe.HookPreToolUse && b.Message == "":
		return "" // the call says who denied it, and why
	case b.Effect == troupe.HookDenied && b.Message != "":
		return name + " refused: " + Line(cmp.Or(b.Why, "it gives no reason"), 400) + "; " + Line(b.Message, 400)
	case b.Effect == troupe.HookDenied:
		return name + " refused: " + Line(cmp.Or(b.Why, "it gives no reason"), 400)
	case b.Effect == troupe.HookStopped:
		return name + " ended the run: " + Line(cmp.Or(b.Why, "it gives no reason"), 400)
	case b.Message != "":
		return name + ": " + Line(b.Message, 400)
	case took >= slowHook && !b.Async:
		return name + " took " + took.Round(time.Second).String()
	}
	return ""
}

// Denial is why a call was denied, behind the mark that says that it was: what somebody answered says so itself.
func Denial(why string) (mark, text string) {
	if strings.HasPrefix(why, "denied by ") {
		return "", why
	}
	return "denied: ", why
}
