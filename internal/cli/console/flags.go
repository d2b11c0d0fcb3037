package console

import (
	"strings"

	"github.com/troupe-dev/troupe"
)

// Flags says what the check of a result found; "" if that is nothing.
func Flags(flags []troupe.Flag) string {
	var out []string
	for _, f := range flags {
		out = append(out, Line(f.Why, 0)+" ("+Line(f.Rule, 0)+")")
	}
	if out == nil {
		return ""
	}
	return "its result " + strings.Join(out, "; ")
}

// Verified says what came of the check of a result by an agent; "" if there was to be none.
func Verified(v *troupe.Verified) string {
	if v == nil {
		return ""
	}
	return Check(v.Name, v.Verdict, v.Why, len(v.Commands))
}

// Check is the same of its parts.
func Check(name, verdict, why string, commands int) string {
	if verdict == "" {
		return "its work was not verified: " + Line(why, 0)
	}
	return "its work was verified by " + Line(name, 0) + " (" + Count(commands, "command") + "): " + Line(verdict, 0)
}
