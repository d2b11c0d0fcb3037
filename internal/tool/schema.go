package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool/internal/jsonspan"
)

// Describe puts together a descriptor from what is known of a tool and what a model is told.
func Describe(facts troupe.ToolFacts, description string, fields []Field) Descriptor {
	d := Descriptor{ToolFacts: facts, Description: strings.TrimSpace(description), Schema: Schema(fields)}
	for _, f := range fields {
		if f.Also != "" {
			if d.also == nil {
				d.also = make(map[string]string)
			}
			d.also[f.Also] = f.Name
		}
	}
	return d
}

// Advertised is a call's input with each parameter under the name that is told to models: who looks at an input from
// outside knows only that one.
func (d Descriptor) Advertised(input string) string {
	if len(d.also) == 0 || !json.Valid([]byte(input)) || !strings.HasPrefix(strings.TrimLeft(input, jsonspan.Blanks),
		"{") {
		return input
	}
	for _, m := range slices.Backward(jsonspan.Members(input, jsonspan.Span{To: len(input)})) {
		if name, ok := d.also[m.Key]; ok {
			input = input[:m.Name.From] + strconv.Quote(name) + input[m.Name.To:]
		}
	}
	return input
}

// With is the descriptor with what does the work.
func (d Descriptor) With(r Runner) Descriptor {
	d.Runner = r
	return d
}

// Schema writes the JSON Schema of an input, in the order of the fields and without a byte
// that a model does not need: it is sent with every prompt.
func Schema(fields []Field) json.RawMessage {
	var b bytes.Buffer
	var required []string
	b.WriteString(`{"type":"object","properties":{`)
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSON(&b, f.Name)
		b.WriteByte(':')
		if f.Group != nil {
			b.Write(Schema(f.Group))
		} else {
			writeJSON(&b, f.property())
		}
		if f.Required {
			required = append(required, f.Name)
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		b.WriteString(`,"required":`)
		writeJSON(&b, required)
	}
	b.WriteByte('}')
	return b.Bytes()
}

type property struct {
	Type        string   `json:"type"`
	Items       any      `json:"items,omitempty"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	MinLength   int      `json:"minLength,omitempty"`
	Minimum     *int     `json:"minimum,omitempty"`
	Maximum     int      `json:"maximum,omitempty"`
	MinItems    int      `json:"minItems,omitempty"`
	MaxItems    int      `json:"maxItems,omitempty"`
}

type items struct {
	Type string `json:"type"`
}

func (f Field) property() property {
	p := property{Description: f.Doc, Enum: f.Enum}
	switch {
	case f.String != nil:
		p.Type = "string"
		if f.NotEmpty {
			p.MinLength = 1
		}
	case f.Int != nil:
		p.Type, p.Minimum, p.Maximum = "integer", &f.Min, f.Max
	case f.Bool != nil:
		p.Type = "boolean"
	case f.List != nil:
		p.Type, p.Items = "array", items{"string"}
	case f.Object != nil:
		p.Type = "object"
	case f.Objects != nil:
		p.Type, p.Items, p.MinItems, p.MaxItems = "array", Schema(f.Objects()), f.Min, f.Max
	}
	return p
}

// writeJSON writes v without escaping <, > and &, which would only cost bytes here.
func writeJSON(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("tool: schema of plain strings and numbers: " + err.Error())
	}
	b.Truncate(b.Len() - 1) // the newline that Encode adds
}
