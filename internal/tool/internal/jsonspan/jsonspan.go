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
	walk(text, at, func(d *json.Decoder, end func() int) {
		m := Member{Name: Span{From: end()}}
		m.Name.From += len(text[m.Name.From:]) - len(strings.TrimLeft(text[m.Name.From:], Blanks+","))
		key, _ := d.Token()
		m.Key, _ = key.(string)
		m.Name.To = end()
		m.Value = value(d, end)
		out = append(out, m)
	})
	return out
}

// Items are those of the array that stands at a place.
func Items(text string, at Span) []Span {
	var out []Span
	walk(text, at, func(d *json.Decoder, end func() int) { out = append(out, value(d, end)) })
	return out
}

// walk calls fn at each member or item. end is where what was read last ends.
func walk(text string, at Span, fn func(d *json.Decoder, end func() int)) {
	d := json.NewDecoder(strings.NewReader(at.Of(text)))
	_, _ = d.Token() // the bracket
	for d.More() {
		fn(d, func() int { return at.From + int(d.InputOffset()) })
	}
}

func value(d *json.Decoder, end func() int) Span {
	var raw json.RawMessage
	_ = d.Decode(&raw)
	return Span{end() - len(raw), end()}
}
