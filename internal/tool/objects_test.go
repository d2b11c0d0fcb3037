package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe/internal/tool"
)

type pair struct {
	key  string
	deep []int
}

func listFields(in *[]pair) []tool.Field {
	return []tool.Field{{Name: "pairs", Required: true, Min: 1, Max: 2, Objects: func() []tool.Field {
		*in = append(*in, pair{})
		p := &(*in)[len(*in)-1]
		return []tool.Field{
			{Name: "key", String: &p.key, Required: true, NotEmpty: true},
			{Name: "deep", Max: 3, Objects: func() []tool.Field {
				p.deep = append(p.deep, 0)
				return []tool.Field{{Name: "n", Int: &p.deep[len(p.deep)-1], Min: 1, Required: true}}
			}},
		}
	}}}
}

// TestObjects: what the schema of a list of objects allows the decoder takes, and the other way round; what is wrong is
// said with its place.
func TestObjects(t *testing.T) {
	t.Parallel()
	raw := tool.Schema(listFields(new([]pair)))
	if want := `{"type":"object","properties":{"pairs":{"type":"array","items":{"type":"object","properties":{` +
		`"key":{"type":"string","minLength":1},"deep":{"type":"array","items":{"type":"object","properties":{` +
		`"n":{"type":"integer","minimum":1}},"required":["n"]},"maxItems":3}},"required":["key"]},"minItems":1,` +
		`"maxItems":2}},"required":["pairs"]}`; string(raw) != want {
		t.Errorf("schema\n got %s\nwant %s", raw, want)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for in, problem := range map[string]string{
		`{"pairs":[{"key":"a"}]}`: "",
		` { "pairs" : [ { "key" : "]}" , "deep" : [ { "n" : 1 } , {"n":2} ] } , {"key":"b"} ] } `: "",
		`{"pairs":[]}`:                           "`pairs` must have at least 1 items, got 0",
		`{"pairs":[{"key":"a"},{},{"key":"c"}]}`: "at most 2 items, got 3",
		`{"pairs":[{"key":"a"},{}]}`:             "item 2 of `pairs`: `key` is required",
		`{"pairs":[7]}`:                          "item 1 of `pairs` must be an object, got a number",
		`{"pairs":"[]"}`:                         "`pairs` must be a list of objects, got a string",
		`{"pairs":[{"key":"a","deep":[{"n":0}]}]}`: "item 1 of `pairs`: item 1 of `deep`: `n` must be at least 1, " +
			"got 0",
	} {
		var got []pair
		err := tool.Decode("T", in, listFields(&got))
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if valid := resolved.Validate(v) == nil; valid != (err == nil) {
			t.Errorf("%s: schema says %v, decoder says %v", in, valid, err)
		}
		var ie *tool.InputError
		if problem != "" && (!errors.As(err, &ie) || !strings.Contains(ie.Problem, problem)) {
			t.Errorf("%s: %v, want %s", in, err, problem)
		}
		if problem == "" && (got[0].key == "" || len(got[0].deep) == 2 && got[0].deep[1] != 2) {
			t.Errorf("%s: read %+v", in, got)
		}
	}
}
