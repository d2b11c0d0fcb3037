package troupe

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MostShown is how many characters a thing that runs by itself may have, as a person is shown it before they trust a
// project or enable a plugin. What is longer does not run.
const MostShown = 3_900

// TooLong says why something that a stranger wrote does not run: it is too long to be shown whole. "" if it is not.
func TooLong(text string) string {
	if n := utf8.RuneCountInString(text); n > MostShown {
		return fmt.Sprintf("with its %d characters it cannot be shown whole when trust is asked for, which ends at "+
			"%d; "+
			"put it into a script", n, MostShown)
	}
	return ""
}

// Visible writes out every character that cannot be seen for what it is: controls, marks that turn the direction of
// writing, joiners, spaces that are not spaces, and bytes that are no characters. Lines stay lines.
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
		case Unseen(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// manyBlanks is from how many blanks on these are counted and not shown: what stands behind them would be off the
// screen.
const manyBlanks = 9

// VisibleLine is Visible on one line: line breaks are written out as well, and a long run of blanks is told by its
// length.
func VisibleLine(s string) string {
	s = strings.ReplaceAll(Visible(s), "\n", `\n`)
	if !strings.Contains(s, strings.Repeat(" ", manyBlanks)) {
		return s
	}
	var b strings.Builder
	for s != "" {
		text := strings.TrimLeft(s, " ")
		if n := len(s) - len(text); n >= manyBlanks {
			fmt.Fprintf(&b, " ‹%d blanks› ", n)
		} else {
			b.WriteString(s[:n])
		}
		end := strings.IndexByte(text, ' ')
		if end < 0 {
			end = len(text)
		}
		b.WriteString(text[:end])
		s = text[end:]
	}
	return b.String()
}
