package console

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// VisibleLine is Visible on one line, with line breaks written out as well.
func VisibleLine(s string) string { return strings.ReplaceAll(Visible(s), "\n", `\n`) }

// Visible writes out every character that cannot be seen for what it is: controls, marks
// that turn the direction of writing, joiners, spaces that are not spaces, and bytes that are
// no characters. Lines stay lines.
func Visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == ' ':
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case troupe.Unseen(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}
