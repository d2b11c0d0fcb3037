package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

// FuzzForm: what is sent to a server as a person's answer fits the form that it sent, as the protocol reads one: all
// that is required is there, and every value within its type, choices and bounds. The rest is no answer.
func FuzzForm(f *testing.F) {
	for _, form := range []string{
		`{"required":["z"],"properties":{"a":{"type":"array",
			"items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g"}]}},
			"n":{"type":"integer","minimum":2},"s":{"type":"string","minLength":2,"maxLength":3},
			"z":{"type":"boolean"}}}`,
		`{"required":["a"],"properties":{"a":{"type":"string","enum":["(leave it out)","x"]}}}`,
		`{"properties":{"a":{"type":"string","enum":["a","A"],"enumNames":["one","One"]}}}`,
		`{"properties":{"a":{"type":"string","enum":["a"],"oneOf":[{"const":"b"}]}}}`,
		`{"properties":{"a":{"type":"array","minItems":2,"maxItems":2,"items":{"enum":["a","b","c"]}}}}`,
		`{"properties":{"a":{"type":"number","oneOf":[{"const":"a"}]},"b":{"type":"number","maximum":1}}}`,
	} {
		for _, said := range []string{"a", "1", "1\n2", "Yes\nRed\n3\nxyz", "A\nB", "(leave it out)"} {
			f.Add(form, said, "a")
			f.Add(form, said, "2")
		}
	}
	f.Fuzz(func(t *testing.T, schema, choices, text string) {
		q := &mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(schema)}
		form, err := formOf("db", q)
		if err != nil || len(form.fields) == 0 {
			return
		}
		var said []troupe.Said
		for _, q := range form.ask("") {
			s := troupe.Said{Text: text}
			for _, c := range strings.Split(choices, "\n") {
				if q.Option(c) != "" {
					s.Choices = append(s.Choices, c)
				}
			}
			if s, err = q.Settle(s); err != nil {
				return
			}
			said = append(said, s)
		}
		content, yes, err := form.content(said)
		if err != nil || !yes {
			return
		}
		var sent any
		if data, err := json.Marshal(content); err != nil || json.Unmarshal(data, &sent) != nil {
			t.Fatalf("%v cannot be sent: %v", content, err)
		}
		rs, err := asTheProtocol(t, schema).Resolve(nil)
		if err != nil {
			return // bounds that contradict each other
		}
		if err := rs.Validate(sent); err != nil {
			t.Fatalf("%s\nwas sent %v\n%v", schema, sent, err)
		}
	})
}

// asTheProtocol is a form with only that in it which the protocol knows of a field of its type.
func asTheProtocol(t *testing.T, form string) *jsonschema.Schema {
	var in struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal([]byte(form), &in); err != nil {
		t.Fatal(err)
	}
	anyOf := func(list []option) (out []*jsonschema.Schema) {
		for _, o := range list {
			out = append(out, &jsonschema.Schema{Const: jsonschema.Ptr[any](o.Const)})
		}
		return out
	}
	enum := func(list []string) (out []any) {
		for _, v := range list {
			out = append(out, v)
		}
		return out
	}
	out := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		p := in.Properties[name]
		s := &jsonschema.Schema{Type: p.Type}
		switch p.Type {
		case "string":
			s.Enum, s.AnyOf = enum(p.Enum), anyOf(p.OneOf)
			if len(p.Enum) == 0 && len(p.OneOf) == 0 {
				s.MinLength, s.MaxLength = p.MinLength, p.MaxLength
			}
		case "array":
			s.MinItems, s.MaxItems = p.MinItems, p.MaxItems
			s.Items = &jsonschema.Schema{Type: "string", Enum: enum(p.Items.Enum), AnyOf: anyOf(p.Items.AnyOf)}
		case "number", "integer":
			s.Minimum, s.Maximum = p.Minimum, p.Maximum
		}
		out.Properties[name] = s
	}
	for _, name := range in.Required {
		if _, ok := in.Properties[name]; ok {
			out.Required = append(out.Required, name)
		}
	}
	return out
}
