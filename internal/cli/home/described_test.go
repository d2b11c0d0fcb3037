package home

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// schema is a JSON schema, as the description of the API has them.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"` // a name, or a list of them
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	More       json.RawMessage    `json:"additionalProperties"`
	Enum       []any              `json:"enum"`
	Format     string             `json:"format"`
	MaxLength  *int               `json:"maxLength"`
	MaxItems   *int               `json:"maxItems"`
}

// types are the types that a value may have; none: any.
func (s *schema) types() (out []string) {
	switch t := s.Type.(type) {
	case string:
		out = []string{t}
	case []any:
		for _, x := range t {
			out = append(out, fmt.Sprint(x))
		}
	}
	return out
}

// parameter is something of a call besides its body.
type parameter struct {
	Name, In string
	Schema   schema
}

// content is what is sent or answered, by its type.
type content map[string]struct{ Schema *schema }

// operation is one that the description tells of.
type operation struct {
	ID         string `json:"operationId"`
	Parameters []parameter
	Body       *struct{ Content content } `json:"requestBody"`
	Responses  map[string]struct{ Content content }

	method, path string
}

// sends is the schema of the JSON that an operation takes; nil: it takes none.
func (o *operation) sends() *schema {
	if o.Body == nil {
		return nil
	}
	return o.Body.Content["application/json"].Schema
}

// document is the description of the API, as a server gives it.
type document struct {
	operations []*operation // by id
	schemas    map[string]*schema
}

func readDocument(t testing.TB, b []byte) (d document) {
	t.Helper()
	var in struct {
		Paths      map[string]map[string]*operation
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(b, &in); err != nil {
		t.Fatal(err)
	}
	d.schemas = in.Components.Schemas
	for path, all := range in.Paths {
		for method, o := range all {
			o.method, o.path = strings.ToUpper(method), path
			d.operations = append(d.operations, o)
		}
	}
	slices.SortFunc(d.operations, func(a, b *operation) int { return strings.Compare(a.ID, b.ID) })
	if len(d.operations) < 70 {
		t.Fatalf("only %d operations are described", len(d.operations))
	}
	return d
}

func (d document) resolve(s *schema) *schema {
	if s != nil && s.Ref != "" {
		return d.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// check says in what a value is not as a schema has it.
func (d document) check(at string, s *schema, v any) (wrong []string) {
	if s = d.resolve(s); s == nil {
		return []string{at + " has no schema"}
	}
	is := typeOf(v)
	if types := s.types(); len(types) > 0 && !slices.Contains(types, is) &&
		(is != "integer" || !slices.Contains(types, "number")) {
		return []string{fmt.Sprintf("%s is %s, and not %v", at, is, types)}
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		wrong = append(wrong, fmt.Sprintf("%s is %v, and none of %v", at, v, s.Enum))
	}
	switch v := v.(type) {
	case string:
		if s.MaxLength != nil && len([]rune(v)) > *s.MaxLength {
			wrong = append(wrong, fmt.Sprintf("%s is too long", at))
		}
		if _, err := time.Parse(time.RFC3339, v); s.Format == "date-time" && err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", at, err))
		}
	case []any:
		for i, x := range v {
			if s.Items != nil {
				wrong = append(wrong, d.check(fmt.Sprintf("%s[%d]", at, i), s.Items, x)...)
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, at+" lacks "+name)
			}
		}
		for name, x := range v {
			p, known := s.Properties[name]
			switch more := new(schema); {
			case known:
				wrong = append(wrong, d.check(at+"."+name, p, x)...)
			case string(s.More) == "false":
				wrong = append(wrong, at+" has "+name)
			case len(s.More) > 0 && json.Unmarshal(s.More, more) == nil:
				wrong = append(wrong, d.check(at+"."+name, more, x)...)
			}
		}
	}
	return wrong
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// answers says in what an answer is not what the description promises of an operation.
func (d document) answers(o *operation, a got) (wrong []string) {
	kind := a.header.Get("Content-Type")
	said, named := o.Responses[fmt.Sprint(a.status)]
	if a.status/100 != 2 {
		said, named = o.Responses["default"]
		if kind != "application/problem+json" {
			return []string{fmt.Sprintf("a problem has the type %q", kind)}
		}
	}
	switch {
	case !named:
		return []string{fmt.Sprintf("status %d is not described", a.status)}
	case len(said.Content) == 0 && len(a.body) > 0:
		return []string{"it answers with a body, and none is described"}
	case len(said.Content) == 0:
		return nil
	}
	is, ok := said.Content[kind]
	if !ok {
		return []string{fmt.Sprintf("the type %q is not described", kind)}
	}
	if kind == "text/event-stream" {
		return nil
	}
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		return []string{"it answers with no JSON: " + err.Error()}
	}
	wrong = d.check("it", is.Schema, v)
	if a.status/100 != 2 && len(wrong) == 0 {
		p, _ := v.(map[string]any)
		if p["status"] != float64(a.status) || p["title"] == "" || p["detail"] == "" {
			wrong = append(wrong, fmt.Sprintf("a problem of %d says %v", a.status, p))
		}
	}
	return wrong
}
