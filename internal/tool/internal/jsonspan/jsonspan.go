// Package jsonspan says where the parts of a JSON text stand in it, so that they can be read
// and changed as they are written. Texts are known to be valid JSON.
package jsonspan

import (
	"encoding/json"
	"strings"
)

// Blanks is the white space of JSON.
const Blanks = " \t\r\n"

// Span is a piece of a text.
type Span struct{ From, To int }

// Of is the piece itself.
func (s Span) Of(text string) string { return text[s.From:s.To] }

// Member is a member of an object.
type Member struct {
	Key   string // decoded
	Name  Span   // as it is written
	Value Span
}

// Members are those of the object that stands at a place, in its order and with repeated keys
// kept: decoding into a map would let the last of them win in silence.
func Members(text string, at Span) []Member {
	var out []Member
	for next := first(text, at); text[next] != '}'; next = after(text, out[len(out)-1].Value.To) {
		m := Member{Name: Span{next, valueEnd(text, next)}}
		m.Key = key(m.Name.Of(text))
		colon := skip(text, m.Name.To)
		m.Value.From = skip(text, colon+1)
		m.Value.To = valueEnd(text, m.Value.From)
		out = append(out, m)
	}
	return out
}

// Items are those of the array that stands at a place.
func Items(text string, at Span) []Span {
	var out []Span
	for next := first(text, at); text[next] != ']'; next = after(text, out[len(out)-1].To) {
		out = append(out, Span{next, valueEnd(text, next)})
	}
	return out
}

// first is where the first member or item of what stands at a place begins, or its closing bracket.
func first(text string, at Span) int { return skip(text, skip(text, at.From)+1) }

// after is where the next one begins behind one that ends at i, or the closing bracket.
func after(text string, i int) int {
	i = skip(text, i)
	if text[i] == ',' {
		i = skip(text, i+1)
	}
	return i
}

func skip(text string, i int) int {
	for strings.IndexByte(Blanks, text[i]) >= 0 {
		i++
	}
	return i
}

// valueEnd is where the value ends that begins at i.
func valueEnd(text string, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '[':
			depth++
			continue
		case c == '}' || c == ']':
			depth--
		case depth > 0:
			continue
		default: // a number or a word
			if n := strings.IndexAny(text[i:], Blanks+",}]"); n >= 0 {
				return i + n
			}
			return len(text)
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// key decodes a name. Half of a surrogate pair in it becomes U+FFFD.
func key(name string) string {
	if strings.IndexByte(name, '\\') < 0 {
		return name[1 : len(name)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(name), &s)
	return s
}
