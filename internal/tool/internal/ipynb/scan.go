package ipynb

import (
	"encoding/json"
	"strings"
)

// What follows takes apart text that is known to be valid JSON, and says where its values
// stand. Nothing is decoded that need not be, so nothing can be written back differently.

// span is a piece of the text.
type span struct{ from, to int }

func (s span) of(text string) string { return text[s.from:s.to] }

type member struct {
	key   string // decoded
	name  span   // as it is written
	value span
}

const blanks = " \t\r\n"

func skipBlanks(text string, i int) int {
	for i < len(text) && strings.IndexByte(blanks, text[i]) >= 0 {
		i++
	}
	return i
}

// valueAt is the value that begins at i.
func valueAt(text string, i int) span {
	end := i
	switch text[i] {
	case '"':
		end = stringEnd(text, i)
	case '{', '[':
		end = bracketEnd(text, i)
	default:
		for end < len(text) && strings.IndexByte(blanks+",]}", text[end]) < 0 {
			end++
		}
	}
	return span{i, end}
}

// bracketEnd is where the object or array ends that begins at i.
func bracketEnd(text string, i int) int {
	for depth := 0; ; i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// stringEnd is where the string ends that begins at i.
func stringEnd(text string, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// members are those of the object at obj.
func members(text string, obj span) []member {
	var out []member
	i := skipBlanks(text, obj.from+1)
	for text[i] != '}' {
		m := member{name: valueAt(text, i)}
		m.key = decodeString(m.name.of(text))
		i = skipBlanks(text, m.name.to) + 1 // the colon
		m.value = valueAt(text, skipBlanks(text, i))
		out = append(out, m)
		if i = skipBlanks(text, m.value.to); text[i] == ',' {
			i = skipBlanks(text, i+1)
		}
	}
	return out
}

// items are those of the array at arr.
func items(text string, arr span) []span {
	var out []span
	i := skipBlanks(text, arr.from+1)
	for text[i] != ']' {
		v := valueAt(text, i)
		out = append(out, v)
		if i = skipBlanks(text, v.to); text[i] == ',' {
			i = skipBlanks(text, i+1)
		}
	}
	return out
}

func decodeString(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return "" // no string
	}
	return s
}

// quote writes a string the way notebooks do: nothing is escaped that need not be.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ':
			const hex = "0123456789abcdef"
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
