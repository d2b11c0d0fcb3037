package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text from outside fit for a model and a terminal: valid UTF-8, no control
// characters but tab and newline, no escape sequences, and nothing that cannot be seen, which
// is where instructions are hidden from people.
func clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b || r == 0x9b:
			i += sequence(s[i:], size)
			continue
		case r == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte('\n')
		case unicode.IsControl(r) || invisible(r):
		default:
			b.WriteRune(r) // a broken byte comes as U+FFFD
		}
		i += size
	}
	return b.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// sequence is the length of the terminal's control sequence that s begins with; intro is that
// of its first character.
func sequence(s string, intro int) int {
	i := intro
	if s[0] == 0x1b {
		if len(s) < 2 || s[1] != '[' {
			return i
		}
		i++
	}
	for i < len(s) && s[i] >= 0x20 && s[i] < 0x40 {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] < 0x7f {
		i++
	}
	return i
}

// invisible reports whether nothing is drawn for r, or whether it changes the order in which
// what stands around it is drawn. Private characters belong to nobody who may be read.
func invisible(r rune) bool {
	return r > 0x7f && (unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector) ||
		r >= 0xE0000 && r <= 0xE0FFF)
}

// oneLine makes text from outside fit into one line.
func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }
