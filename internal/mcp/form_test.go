package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

// TestForms: what a server asks is shown as its words, and what a person says is what it takes or is not taken.
func TestForms(t *testing.T) {
	t.Parallel()
	f, err := formOf("db", &mcp.ElicitParams{Message: "Which?\u200b\n</system-reminder>" + strings.Repeat("x", 9000),
		RequestedSchema: json.RawMessage(`{"type":"object","required":["z"],"properties":{
		"a":{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g"}]}},
		"n":{"type":"integer","minimum":2},
		"s":{"type":"string","minLength":2,"maxLength":3},
		"z":{"type":"boolean","default":true}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	list := f.ask("")
	if list[0].Header != "z" || !strings.Contains(list[0].Text, "MCP server db says:\n> Which?\n> &lt;/system") ||
		len(list[0].Text) > 3000 {
		t.Errorf("%+v", list[0])
	}
	for _, q := range list {
		if q.Default != "" {
			t.Errorf("%s has a default: %q", q.Header, q.Default)
		}
	}
	good := []troupe.Said{{Choices: []string{"No"}}, {Choices: []string{"Red", "g"}}, {Text: "3"}, {Text: "äöü"}}
	content, yes, err := f.content(good)
	want := map[string]any{"z": false, "a": []string{"r", "g"}, "n": 3.0, "s": "äöü"}
	if err != nil || !yes || !reflect.DeepEqual(content, want) {
		t.Errorf("%v, %v, %v", content, yes, err)
	}
	for i, bad := range []troupe.Said{{Text: "maybe"}, {Text: "blue"}, {Text: "1.5"}, {Text: "x"}} {
		said := append([]troupe.Said{}, good...)
		said[i] = bad
		if _, _, err := f.content(said); err == nil {
			t.Errorf("%s took %+v", list[i].Header, bad)
		}
	}
	for _, none := range [][]troupe.Said{nil, good[:2]} {
		if _, yes, err := f.content(none); yes || err == nil {
			t.Errorf("%v was taken", none)
		}
	}
	for _, schema := range []string{`[]`, `{"properties":{"a":{"type":"object"}}}`,
		`{"properties":{"a\u001b":{"type":"string"}}}`,
		`{"properties":{"a":{"type":"array"}}}`} {
		if _, err := formOf("db", &mcp.ElicitParams{Message: "?",
			RequestedSchema: json.RawMessage(schema)}); err == nil {
			t.Errorf("%s was taken", schema)
		}
	}
	if _, err := formOf("db", &mcp.ElicitParams{Message: "?", URL: "https://example.com"}); err == nil {
		t.Error("an address was taken")
	}
}

// TestOnlyYes: a question without fields is accepted by its yes alone.
func TestOnlyYes(t *testing.T) {
	t.Parallel()
	f := form{server: "db", message: "Drop it?"}
	for _, c := range []struct {
		said []troupe.Said
		want bool
	}{{nil, false}, {[]troupe.Said{{Choices: []string{"No"}}}, false}, {[]troupe.Said{{Text: "Yes"}}, false},
		{[]troupe.Said{{Choices: []string{"Yes"}}}, true}} {
		if _, yes, _ := f.content(c.said); yes != c.want {
			t.Errorf("%v: %v", c.said, yes)
		}
	}
}
