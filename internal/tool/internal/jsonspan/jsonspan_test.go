package jsonspan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool/internal/jsonspan"
)

// FuzzSpans: the parts of a text stand where they are said to, and nothing lies between them but
// brackets, commas, colons and blanks.
func FuzzSpans(f *testing.F) {
	f.Add(" {\"a\" : [1, \"x\\\"]\" ,{}],\r\n\"a\":-0.0e1 } ")
	f.Add(`[{"":null},[[]],"é😀",  true]`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			t.Skip("the fuzzer made no JSON")
		}
		check(t, text, jsonspan.Span{To: len(text)})
	})
}

func check(t *testing.T, text string, at jsonspan.Span) {
	whole, end := at.Of(text), at.From
	between := func(to int, most string) {
		t.Helper()
		for ; end < to; end++ {
			if c := text[end]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				if most == "" || c != most[0] {
					t.Fatalf("%q stands before %d of %q", c, to, text)
				}
				most = most[1:]
			}
		}
	}
	var first byte
	for i := range len(whole) {
		if first = whole[i]; first != ' ' && first != '\t' && first != '\r' && first != '\n' {
			break
		}
	}
	mark := string(first)
	switch first {
	case '{':
		for _, m := range jsonspan.Members(text, at) {
			between(m.Name.From, mark)
			var key string
			if err := json.Unmarshal([]byte(m.Name.Of(text)), &key); err != nil || key != m.Key {
				t.Fatalf("key %q of %q: %v", m.Key, m.Name.Of(text), err)
			}
			end, mark = m.Name.To, ","
			between(m.Value.From, ":")
			check(t, text, m.Value)
			end = m.Value.To
		}
		between(at.To, strings.TrimPrefix(mark, ",")+"}")
	case '[':
		for _, v := range jsonspan.Items(text, at) {
			between(v.From, mark)
			check(t, text, v)
			end, mark = v.To, ","
		}
		between(at.To, strings.TrimPrefix(mark, ",")+"]")
	default:
		if !json.Valid([]byte(whole)) {
			t.Fatalf("%q is no value", whole)
		}
	}
}
