package shell

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// clean makes output fit for a model: no escape sequences and no control characters but
// tab and newline, a newline for each kind of line end, and whole UTF-8.
func clean(b []byte) string {
	if !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == utf8.RuneError
	}) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == 0x1b:
			i += escape(b[i:])
		case c == '\r':
			// A lone return begins the line anew: progress bars. Each state becomes a line.
			if i++; i == len(b) || b[i] != '\n' {
				out.WriteByte('\n')
			}
		case c == '\n' || c == '\t' || c >= ' ' && c < 0x7f:
			out.WriteByte(c)
			i++
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r > 0x9f {
				out.WriteRune(r) // a broken byte comes as U+FFFD
			}
			i += size
		}
	}
	return out.String()
}

// escape is the length of the escape sequence that b begins with, as far as it goes.
func escape(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	i := 1
	switch b[1] {
	case '[': // parameters, then one final byte
		for i = 2; i < len(b) && b[i] >= 0x20 && b[i] < 0x40; i++ {
		}
	case ']', 'P', 'X', '^', '_': // a string, up to BEL or ESC \
		for i = 2; i < len(b); i++ {
			switch b[i] {
			case 0x07:
				return i + 1
			case 0x1b:
				if i+1 < len(b) && b[i+1] == '\\' {
					return i + 2
				}
				return i
			case '\n':
				return i // not a string after all
			}
		}
		return i
	default:
		for i < len(b) && b[i] >= 0x20 && b[i] < 0x30 {
			i++
		}
	}
	if i < len(b) && b[i] >= 0x30 && b[i] < 0x7f {
		i++
	}
	return i
}
