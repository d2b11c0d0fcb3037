package profile

import (
	"encoding/json"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestAppendJSON: a set is written as encoding/json would write its stored form.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	types := map[string]Definition{
		"b": {Name: "B", Prompt: "<x> & \"y\"\n\u2028é", Origin: Origin{Source: "f"}, Starts: []string{}},
		"a": {Name: "a", All: true, Beside: Beside{Hooks: json.RawMessage(`{ "Stop" : "<a>" }`)}},
	}
	broken := map[string]Problem{"c": {Path: "c.md", Line: 3, Text: "it is broken"}}
	for _, k := range []kept{{}, {Types: types}, {Broken: broken}, {types, broken}} {
		want, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		s := Set{types: map[string]Definition{"main": {Name: Main, Origin: Origin{Source: troupe.BuiltIn}}},
			broken: k.Broken}
		for key, d := range k.Types {
			s.types[key] = d
		}
		got, err := s.AppendJSON([]byte("x"))
		if err != nil || string(got) != "x"+string(want) {
			t.Errorf("%s\nwant %s, %v", got, want, err)
		}
		if got, err := json.Marshal(s); err != nil || string(got) != string(want) {
			t.Errorf("%s\nwant %s, %v", got, want, err)
		}
	}
}
