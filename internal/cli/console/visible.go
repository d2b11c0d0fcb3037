package console

import "github.com/troupe-dev/troupe"

// VisibleLine is troupe.VisibleLine.
func VisibleLine(s string) string { return troupe.VisibleLine(s) }

// Visible is troupe.Visible.
func Visible(s string) string { return troupe.Visible(s) }
