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
