package console

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
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
		case hidden(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func hidden(r rune) bool {
	switch {
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800: // letters without ink
		return true
	}
	return !unicode.IsPrint(r)
}
