package troupe

import (
	"fmt"
	"strings"
	"unicode"
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

// Clean makes text from elsewhere safe to print, and leaves it the text it is: what is not seen is written out, as
// Visible does, but for line breaks, tabs, spaces of other kinds, icons, and the joiners and selectors of form without
// which emoji and some scripts cannot be written.
func Clean(s string) string {
	if strings.IndexFunc(s, hides) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	var before rune
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i-1])
			before = 0
		case !hides(r) || joins(before, r, s[i:]):
			b.WriteRune(r)
			before = r
		default:
			fmt.Fprintf(&b, `\u{%04x}`, r)
			before = 0
		}
	}
	return b.String()
}

// hides reports whether a character moves the cursor, turns the direction of writing, or is not there to be seen.
func hides(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || !Unseen(r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	case unicode.IsPrint(r):
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point)
}

// joins reports whether a joiner or a selector of form belongs to what stands before it.
func joins(before, r rune, rest string) bool {
	const (
		text, emoji       = 0xfe0e, 0xfe0f
		nonJoiner, joiner = 0x200c, 0x200d
		keycap            = "\u20e3"
	)
	switch r {
	case text, emoji:
		return strings.HasPrefix(rest, keycap) ||
			before > unicode.MaxASCII && !hides(before) && !unicode.IsLetter(before)
	case nonJoiner, joiner:
		if unicode.In(before, unicode.So, unicode.Sk) || before == emoji {
			return true
		}
		return unicode.In(before, unicode.L, unicode.Mn, unicode.Mc) && !hides(before) &&
			!unicode.In(before, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Inherited)
	}
	return false
}
