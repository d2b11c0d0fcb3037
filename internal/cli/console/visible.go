package console

import (
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
)

// VisibleLine is troupe.VisibleLine.
func VisibleLine(s string) string { return troupe.VisibleLine(s) }

// Visible is troupe.Visible.
func Visible(s string) string { return troupe.Visible(s) }

var indents = regexp.MustCompile(`(?m)^[-+ ]*\t+`)

// Source is Visible of lines of a file or a diff, which begin with spaces instead of tabs: within a line a tab is
// written out as one, before it that only hides how deep the line is.
func Source(text string) string {
	return Visible(indents.ReplaceAllStringFunc(text, func(s string) string {
		return strings.ReplaceAll(s, "\t", "    ")
	}))
}
