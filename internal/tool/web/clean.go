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
	return r > 0x7f && (unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r >= 0xE0000 && r <= 0xE0FFF)
}

// escape keeps text from looking like the runtime's markers, or like the end of the block it
// stands in: all of those are names with a hyphen, or begin like "environment". It takes the
// angle bracket from any such tag, however it is spaced. Text must be clean.
func escape(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/16)
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		if s = s[i+1:]; isMarker(s) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
	}
}

// markerReach is how much of what follows an angle bracket is looked at; no marker is as long.
const markerReach = 256

func isMarker(s string) bool {
	s = strings.TrimLeftFunc(s[:min(len(s), markerReach)], func(r rune) bool {
		return r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	s = strings.ToLower(s)
	end := strings.IndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return end > 0 && s[end] == '-' || strings.HasPrefix(s, "environment")
}

// oneLine makes text from outside fit into one line.
func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// block puts text from outside between tags that it cannot forge.
func block(name, text string) string {
	return "<" + name + ">\n" + strings.TrimSpace(escape(text)) + "\n</" + name + ">"
}
