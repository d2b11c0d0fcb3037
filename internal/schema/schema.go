// Package schema checks the results of agents against the JSON schemas that were asked for. A schema may be anybody's:
// it is bounded before it is used, and nothing is ever fetched for it.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// MaxBytes is the most that a schema may have: it is sent with every prompt of the agent.
	MaxBytes = 16 << 10
	// mostParts bounds what a value is checked against, each use of a part that is referred to counted: parts that
	// refer to others twice each would double with every step.
	mostParts = 2000
	// mostWords bounds, in bytes, what is said of one mistake.
	mostWords = 600
)

// Schema is one that can be used. It does not change.
type Schema struct{ resolved *jsonschema.Resolved }

// Parse reads a schema. The error completes a sentence that begins with its name.
func Parse(text []byte) (*Schema, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("has %d bytes, the most is %d: it is sent with every prompt", len(text), MaxBytes)
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("is no JSON: %w", err)
	}
	top, ok := root.(map[string]any)
	if !ok {
		return nil, errors.New("is no JSON schema: that is an object, such as {\"type\": \"object\"}")
	}
	if top["type"] != "object" {
		return nil, errors.New("must describe an object: its \"type\" must be \"object\"")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "$ref"} {
		if _, has := top[key]; has {
			return nil, fmt.Errorf("has %q at its top, which models' servers do not take; put it into a property", key)
		}
	}
	w := walker{root: root}
	if err := w.schema(root, true); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("is no JSON schema: %w", err)
	}
	resolved, err := s.Resolve(nil) // without a loader nothing is fetched
	if err != nil {
		return nil, fmt.Errorf("is no JSON schema: %w", err)
	}
	return &Schema{resolved}, nil
}

// Check says what is wrong with a value, in words for the model that wrote it; nil if nothing is.
func (s *Schema) Check(value []byte) error {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	err := s.resolved.Validate(v)
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "validating root: ")
	if len(text) > mostWords {
		end := mostWords
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return errors.New(text)
}

// walker looks at every part of a schema as often as a value may be checked against it.
type walker struct {
	root  any
	parts int
	via   []string // what was followed to the part that is looked at
}

func (w *walker) schema(node any, top bool) error {
	if w.parts++; w.parts > mostParts {
		return fmt.Errorf("is too large: it has more than %d parts, each use of one that \"$ref\" names counted",
			mostParts)
	}
	m, ok := node.(map[string]any)
	if !ok {
		return nil // true, false, or what is no schema, which is found out later
	}
	for key, v := range m {
		if err := w.member(key, v, top); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) member(key string, v any, top bool) error {
	switch key {
	case "$ref":
		return w.ref(v)
	case "$dynamicRef", "$recursiveRef":
		return fmt.Errorf("has a %q; refer to its own parts with \"$ref\": \"#/$defs/NAME\"", key)
	case "$id", "id":
		if _, text := v.(string); text && !top && key == "$id" {
			return errors.New("has an \"$id\" in one of its parts; leave it out")
		}
	case "type":
		return types(v)
	case "const", "enum", "default", "examples", "required":
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		named, _ := v.(map[string]any)
		for _, part := range named {
			if err := w.schema(part, false); err != nil {
				return err
			}
		}
	default:
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, part := range list {
			if _, ok := part.(map[string]any); !ok {
				continue
			}
			if err := w.schema(part, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// types finds names that are no types: the library takes any.
func types(v any) error {
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	for _, t := range list {
		switch t {
		case "object", "array", "string", "number", "integer", "boolean", "null":
		default:
			return fmt.Errorf("is no JSON schema: there is no type %v", t)
		}
	}
	return nil
}

// ref follows a reference within the schema.
func (w *walker) ref(v any) error {
	ref, _ := v.(string)
	if !strings.HasPrefix(ref, "#/") {
		return fmt.Errorf("refers to %q, and nothing is fetched for it; put that part into \"$defs\" and refer to it "+
			"as \"#/$defs/NAME\"", ref)
	}
	for _, before := range w.via {
		if before == ref {
			return fmt.Errorf("refers to %s from within itself; write out as many levels as are needed", ref)
		}
	}
	node := w.root
	for _, step := range strings.Split(ref[len("#/"):], "/") {
		m, _ := node.(map[string]any)
		part, ok := m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		if !ok {
			return fmt.Errorf("refers to %s, which is not there", ref)
		}
		node = part
	}
	w.via = append(w.via, ref)
	err := w.schema(node, false)
	w.via = w.via[:len(w.via)-1]
	return err
}
