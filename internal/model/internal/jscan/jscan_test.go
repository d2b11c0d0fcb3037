package jscan

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestObjectAndArray(t *testing.T) {
	t.Parallel()
	in := []byte(` { "a" : [1, {"x":"]}\""}, "\\"], "b":"q\"}" ,"c":-1.5e3,"d":{}, "e":null } `)
	want := map[string]string{"a": `[1, {"x":"]}\""}, "\\"]`, "b": `"q\"}"`, "c": `-1.5e3`, "d": `{}`, "e": `null`}
	got := map[string]string{}
	if !Object(in, func(k, v []byte) bool { got[string(k)] = string(v); return true }) {
		t.Fatal("a valid object was refused")
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %s, want %s", k, got[k], v)
		}
	}
	var elems []string
	Array([]byte(want["a"]), func(v []byte) bool { elems = append(elems, string(v)); return true })
	if len(elems) != 3 || elems[1] != `{"x":"]}\""}` {
		t.Errorf("elements = %q", elems)
	}
	if v, ok := Get(in, "c"); !ok || string(v) != "-1.5e3" {
		t.Errorf("Get(c) = %s, %v", v, ok)
	}
	for _, broken := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"`, `{"a":"\"`, `{"a":[1}`,
		`{a:1}`, `[`, `{"a":}`} {
		if Object([]byte(broken), func(_, _ []byte) bool { return true }) {
			t.Errorf("Object(%q) was taken for whole", broken)
		}
	}
}

// FuzzScan holds the scanner against encoding/json: what is valid there is walked alike
// here, strings have the same text, and nothing panics on the rest.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":"c\nd\u00e9\ud83d\ude00"}],"x":""}`))
	f.Add([]byte(`{"a":"\ud800","b":"\"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		whole := Object(b, func(_, v []byte) bool {
			n++
			Array(v, func([]byte) bool { return true })
			AppendUnquoted(nil, v)
			return true
		})
		var ref map[string]json.RawMessage
		if json.Unmarshal(b, &ref) == nil && ref != nil && (!whole || n < len(ref)) {
			t.Errorf("encoding/json finds %d members in %q, we %d (whole: %v)", len(ref), b, n, whole)
		}
		var s string
		if json.Unmarshal(b, &s) == nil && b[0] == '"' && b[len(b)-1] == '"' {
			if got, ok := AppendUnquoted(nil, b); !ok || string(got) != s {
				t.Errorf("unquoted %s = %q %v, want %q", b, got, ok, s)
			}
		}
		q := AppendQuoted(nil, string(b))
		var back string
		if err := json.Unmarshal(q, &back); err != nil {
			t.Fatalf("quoted %q is not JSON: %v", b, err)
		}
		if utf8.Valid(b) && back != string(b) {
			t.Errorf("quoted and back: %q, want %q", back, b)
		}
		if again, ok := AppendUnquoted(nil, q); !ok || !bytes.Equal(again, []byte(back)) {
			t.Errorf("own unquoting of %s gives %q", q, again)
		}
	})
}
