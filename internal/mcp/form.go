package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// property is one of a form's, as servers write it down.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []option `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []option `json:"anyOf"`
	} `json:"items"`
	MinItems  *int            `json:"minItems"`
	MaxItems  *int            `json:"maxItems"`
	Minimum   *float64        `json:"minimum"`
	Maximum   *float64        `json:"maximum"`
	MinLength *int            `json:"minLength"`
	MaxLength *int            `json:"maxLength"`
	Default   json.RawMessage `json:"default"`
}

type option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// read takes the schema of a form apart: an object of plain values.
func (f *form) read(schema []byte) error {
	var in struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(schema, &in); err != nil {
		return fmt.Errorf("its form is none that the protocol knows: %w", err)
	}
	if n := len(in.Properties); n > mostFields {
		return fmt.Errorf("its form has %d fields, and a person is asked at most %d things at once", n, mostFields)
	}
	names := slices.Sorted(maps.Keys(in.Properties))
	slices.SortStableFunc(names, func(a, b string) int { // as the server lists what it needs
		return cmp.Compare(order(in.Required, a), order(in.Required, b))
	})
	for _, name := range names {
		x, err := fieldOf(name, in.Properties[name])
		if err != nil {
			return err
		}
		x.required = slices.Contains(in.Required, name)
		f.fields = append(f.fields, x)
	}
	return nil
}

func order(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

func fieldOf(name string, p property) (field, error) {
	if len(name) > 60 || words(name) != name || name == "" {
		return field{}, errors.New("a field of its form has a name that cannot be shown")
	}
	x := field{name: name, kind: p.Type, low: p.Minimum, up: p.Maximum, min: p.MinLength, max: p.MaxLength,
		about: strings.TrimSuffix(cmp.Or(words(p.Title), name)+": "+words(p.Description), ": ")}
	var err error
	switch p.Type {
	case "array":
		x.many, x.min, x.max = true, p.MinItems, p.MaxItems
		err = x.choices(p.Items.AnyOf, p.Items.Enum, nil)
	case "boolean":
		x.values, x.labels = []string{"true", "false"}, []string{"Yes", "No"}
	case "string":
		err = x.choices(p.OneOf, p.Enum, p.EnumNames)
	case "number", "integer":
	default:
		err = fmt.Errorf("its form has a field of a kind that the protocol does not know: %q", words(p.Type))
	}
	if err != nil {
		return x, err
	}
	if len(p.Default) > 0 {
		x.about += " (it suggests " + words(string(p.Default)) + ")"
	}
	if len(x.labels) > mostChoices || x.many && len(x.labels) == 0 {
		return x, fmt.Errorf("a field of its form has %d choices, which cannot be shown", len(x.labels))
	}
	return x, nil
}

// choices are those of a field: titled ones, or values, which may have names beside them.
func (x *field) choices(titled []option, values, names []string) error {
	if len(titled) > 0 && len(values) > 0 {
		return errors.New("a field of its form has two lists of choices")
	}
	for _, o := range titled {
		x.values, x.labels = append(x.values, o.Const), append(x.labels,
			cmp.Or(words(o.Title), words(o.Const), "(nothing)"))
	}
	for i, v := range values {
		x.values = append(x.values, v)
		if i < len(names) {
			v = names[i]
		}
		x.labels = append(x.labels, cmp.Or(words(v), "(nothing)"))
	}
	if slices.Contains(x.labels, leaveOut) {
		return fmt.Errorf("a field of its form has the choice %q, which is how a person gives no answer to it",
			leaveOut)
	}
	return nil
}

// content is what a person said, as the server wants it. yes is false if that declines a question without fields. The
// error says what cannot be taken.
func (f form) content(said []troupe.Said) (content map[string]any, yes bool, err error) {
	content = map[string]any{}
	if len(f.fields) == 0 {
		return content, len(said) == 1 && len(said[0].Choices) == 1 && said[0].Choices[0] == "Yes", nil
	}
	if len(said) != len(f.fields) {
		return nil, false, errors.New("not every question has an answer")
	}
	for i, x := range f.fields {
		if slices.Contains(said[i].Choices, leaveOut) && !x.required {
			continue
		}
		v, err := x.value(said[i])
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", x.name, err)
		}
		content[x.name] = v
	}
	return content, true, nil
}

func (x field) value(s troupe.Said) (any, error) {
	picked := []string{}
	for _, label := range s.Choices {
		if i := slices.Index(x.labels, label); i >= 0 {
			picked = append(picked, x.values[i])
		}
	}
	if len(x.values) > 0 {
		if slices.Contains(x.values, s.Text) && !slices.Contains(picked, s.Text) {
			picked = append(picked, s.Text)
		}
		switch {
		case x.many && x.min != nil && len(picked) < *x.min:
			return nil, fmt.Errorf("it takes at least %d of its choices", *x.min)
		case x.many && x.max != nil && len(picked) > *x.max:
			return nil, fmt.Errorf("it takes at most %d of its choices", *x.max)
		case x.many && len(picked) > 0:
			return picked, nil
		case x.many || len(picked) != 1:
			return nil, errors.New("it takes one of its choices")
		case x.kind == "boolean":
			return picked[0] == "true", nil
		}
		return picked[0], nil
	}
	n := utf8.RuneCountInString(s.Text)
	switch {
	case x.kind == "string" && x.min != nil && n < *x.min:
		return nil, fmt.Errorf("it takes at least %d characters", *x.min)
	case x.kind == "string" && x.max != nil && n > *x.max:
		return nil, fmt.Errorf("it takes at most %d characters", *x.max)
	case x.kind == "string":
		return s.Text, nil
	}
	v, err := strconv.ParseFloat(s.Text, 64)
	switch {
	case err != nil || math.IsInf(v, 0) || math.IsNaN(v):
		return nil, errors.New("it takes a number")
	case x.kind == "integer" && v != math.Trunc(v):
		return nil, errors.New("it takes a whole number")
	case x.low != nil && v < *x.low:
		return nil, fmt.Errorf("it takes no number below %v", *x.low)
	case x.up != nil && v > *x.up:
		return nil, fmt.Errorf("it takes no number above %v", *x.up)
	}
	return v, nil
}
