package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// FuzzAppendText: what is written of a text is read as that text.
func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", "eight by", "two\nlines, and more\n", "a \"b\" \\ <c>&", "\x00\x1f\x7f",
		"\u2028é 語 🙂", "1234567\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		var got string
		if err := json.Unmarshal(appendText(nil, s), &got); err != nil || got != s {
			t.Errorf("%q became %q, %v", s, got, err)
		}
	})
}

// TestAppendJSON: a set is written as encoding/json would write its stored form, and read again as it was.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	types := map[string]Definition{
		"b": {Name: "B", Prompt: "<x> & \"y\"\n\u2028é", Origin: Origin{Source: "f"}, Starts: []string{}},
		"a": {Name: "a", All: true, Beside: Beside{Hooks: json.RawMessage(`{ "Stop" : "<a>" }`)}},
	}
	broken := map[string]Problem{"c": {Path: "c.md", Line: 3, Text: "it is broken"}}
	for _, k := range []kept{{}, {Types: types}, {Broken: broken}, {Types: types, Broken: broken}} {
		s := Set{types: map[string]Definition{"main": {Name: Main, Origin: Origin{Source: troupe.BuiltIn}}},
			broken: k.Broken}
		apart := kept{Types: map[string]Definition{}, Broken: k.Broken, Prompts: map[string]string{}}
		for key, d := range k.Types {
			s.types[key] = d
			if d.Prompt != "" {
				apart.Prompts[key] = d.Prompt
			}
			d.Prompt = ""
			apart.Types[key] = d
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		if err := enc.Encode(apart); err != nil {
			t.Fatal(err)
		}
		got, err := s.AppendJSON([]byte("x"))
		if err != nil || !sameJSON(t, got[1:], want.Bytes()) || got[0] != 'x' {
			t.Errorf("%s\nwant %s, %v", got, &want, err)
		}
		older, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range [][]byte{got[1:], older} {
			var back Set
			if err := json.Unmarshal(doc, &back); err != nil {
				t.Fatal(err)
			}
			for _, d := range k.Types {
				got := back.types[front.Fold(d.Name)]
				d.Hooks, got.Hooks = nil, nil // they are kept in another spelling
				if diff := cmp.Diff(d, got); diff != "" {
					t.Errorf("of %s: %s", doc, diff)
				}
			}
			if len(back.broken) != len(k.Broken) {
				t.Errorf("of %s: %v is broken", doc, back.broken)
			}
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Error(err)
	}
	return cmp.Equal(x, y)
}
