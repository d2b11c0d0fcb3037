// Package tooltest is the suite that every tool passes: whatever a model sends, a tool
// answers with a clear error or does its work, and never panics, hangs or lies about what
// it would touch.
package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// MaxDescription is the most bytes that a tool may take to explain itself.
const MaxDescription = 2048

// Runner checks one Runner. Valid is an input that it accepts in env, and class what a
// call with it must declare.
func Runner(t *testing.T, r tool.Runner, env tool.Env, valid string, class troupe.Class) {
	t.Helper()
	Spec(t, r.Spec())
	Inputs(t, r.Spec(), valid, func(input string) error {
		_, err := r.Prepare(env, input)
		return err
	})
	t.Run("access", func(t *testing.T) {
		p := prepare(t, r, env, valid)
		a := p.Access()
		if a.Class != class {
			t.Errorf("class %d, want %d", a.Class, class)
		}
		for _, path := range slices.Concat(a.Reads, a.Writes) {
			if !filepath.IsAbs(path) || path != filepath.Clean(path) {
				t.Errorf("declares %q, which is not absolute and clean", path)
			}
		}
		if d := cmp.Diff(a, prepare(t, r, env, valid).Access()); d != "" {
			t.Errorf("the same input declares different access:\n%s", d)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// A tool that does not look at its context hangs here, or does work nobody wants.
		out, err := prepare(t, r, env, valid).Run(ctx, env)
		if err == nil && !out.IsError {
			t.Error("it ran although its context was cancelled")
		}
		if class != troupe.ClassRead {
			for _, f := range out.Evidence.Files {
				if f.Wrote {
					t.Errorf("it wrote %s although its context was cancelled", f.Path)
				}
			}
		}
	})
}

func prepare(t *testing.T, r tool.Runner, env tool.Env, input string) tool.Prepared {
	t.Helper()
	p, err := r.Prepare(env, input)
	if err != nil {
		t.Fatalf("the valid input is refused: %v", err)
	}
	return p
}

// Spec checks what a model is told about a tool.
func Spec(t *testing.T, spec troupe.Tool) {
	t.Helper()
	t.Run("spec", func(t *testing.T) {
		if spec.Name == "" || spec.Description == "" || len(spec.Description) >= MaxDescription {
			t.Errorf("name %q, description of %d bytes", spec.Name, len(spec.Description))
		}
		if s := spec.Description; s != strings.TrimSpace(s) {
			t.Error("the description begins or ends with white space")
		}
		s := schema(t, spec)
		if s.Type != "object" {
			t.Errorf("the schema's type is %q", s.Type)
		}
		for _, name := range s.Required {
			if s.Properties[name] == nil {
				t.Errorf("%q is required but has no property", name)
			}
		}
	})
}

func schema(t *testing.T, spec troupe.Tool) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
		t.Fatalf("schema: %v", err)
	}
	if _, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		t.Fatalf("schema: %v", err)
	}
	return &s
}

// Inputs checks how a tool's input is decoded: decode accepts valid, and answers everything
// in Malformed with a *tool.InputError that names the tool.
func Inputs(t *testing.T, spec troupe.Tool, valid string, decode func(input string) error) {
	t.Helper()
	t.Run("inputs", func(t *testing.T) {
		if err := decode(valid); err != nil {
			t.Errorf("the valid input is refused: %v", err)
		}
		for name, input := range Malformed(t, spec, valid) {
			err := decode(input)
			var ie *tool.InputError
			switch {
			case err == nil:
				t.Errorf("%s: accepted", name)
			case !errors.As(err, &ie):
				t.Errorf("%s: %T %v, want *tool.InputError", name, err, err)
			case ie.Tool != spec.Name || ie.Problem == "" || len(ie.Problem) > 1000:
				t.Errorf("%s: tool %q, problem of %d bytes: %.200q", name, ie.Tool, len(ie.Problem), ie.Problem)
			}
		}
	})
}

// Malformed derives inputs that a tool must refuse from its schema and one valid input.
func Malformed(t *testing.T, spec troupe.Tool, valid string) map[string]string {
	t.Helper()
	var base map[string]any
	if err := json.Unmarshal([]byte(valid), &base); err != nil {
		t.Fatalf("valid input: %v", err)
	}
	with := func(key string, v any) string {
		out := map[string]any{}
		for k, old := range base {
			out[k] = old
		}
		if out[key] = v; v == nil {
			delete(out, key)
		}
		b, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	body := strings.TrimSuffix(strings.TrimSpace(valid), "}")
	bad := map[string]string{
		"nothing": "", "null": "null", "array": "[]", "string": `"x"`, "number": "7", "empty object": "{}",
		"broken": "{", "words": "sorry, I cannot", "cut": body, "trailing": valid + "}", "comma": body + ",}",
		"two": valid + valid, "single quotes": `{'a': 1}`, "deep": strings.Repeat("[", 100_000),
		"deep objects": strings.Repeat(`{"a":`, 100_000), "invalid UTF-8": body + `,"x":"` + "\xff" + `"}`,
		"unknown": with("no_such_parameter", 1), "raw NUL": "\x00" + valid, "long key": with(strings.Repeat("k", 100_000), 1),
		"10 MB": with("no_such_parameter", strings.Repeat("x", 10<<20)),
	}
	s := schema(t, spec)
	for _, name := range s.Required {
		bad["without "+name] = with(name, nil)
		bad["null "+name] = with(name, json.RawMessage("null"))
	}
	for name, p := range s.Properties {
		for kind, v := range map[string]any{"object": map[string]any{"a": 1}, "array": []int{1}, "fraction": 1.5, "huge": json.RawMessage("1e400")} {
			bad[fmt.Sprintf("%s as %s", name, kind)] = with(name, v)
		}
		if base[name] != nil {
			twice, err := json.Marshal(base[name])
			if err != nil {
				t.Fatal(err)
			}
			bad[name+" twice"] = fmt.Sprintf("%s,%q:%s}", body, name, twice)
		}
		if p.Type == "string" {
			bad[name+" as bool"] = with(name, true)
			bad[name+" with NUL"] = with(name, "a\x00b")
			bad[name+" with half a pair"] = with(name, json.RawMessage(`"\ud800"`))
			bad[name+" of 10 MB"] = with(name, strings.Repeat("x", 10<<20))
		} else {
			bad[name+" as text"] = with(name, "many")
			bad[name+" as empty text"] = with(name, "")
		}
		if p.Type == "integer" {
			bad[name+" negative"] = with(name, -1)
		}
	}
	return bad
}
