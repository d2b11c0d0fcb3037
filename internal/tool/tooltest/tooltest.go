// Package tooltest is the suite that every tool passes: whatever a model sends, a tool
// answers with a clear error or does its work, and never panics, hangs or lies about what
// it would touch.
package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

// MaxDescription is the most bytes that a tool may take to explain itself.
const MaxDescription = 2048

// Runner checks one Runner. Valid is an input that it accepts in env, and class what a
// call with it must declare.
func Runner(t *testing.T, r tool.Descriptor, env tool.Env, valid string, class troupe.Class) {
	t.Helper()
	Spec(t, r.Spec())
	Inputs(t, r.Spec(), valid, func(input string) error {
		_, err := r.Prepare(env, input)
		return err
	})
	t.Run("access", func(t *testing.T) {
		p := prepare(t, r, env, valid)
		a := p.Access()
		if a.Class != class || class != r.Class {
			t.Errorf("class %d, its descriptor's %d, want %d", a.Class, r.Class, class)
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
	previews(t, r, env, valid)
	backgrounds(t, r, env, valid)
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

// previews checks what a person who is asked to allow the call would be shown.
func previews(t *testing.T, r tool.Runner, env tool.Env, valid string) {
	t.Helper()
	p := prepare(t, r, env, valid)
	v, ok := p.(tool.Previewer)
	if !ok {
		return
	}
	t.Run("preview", func(t *testing.T) {
		text, _ := v.Preview(env)
		if strings.TrimSpace(text) == "" || !utf8.ValidString(text) {
			t.Errorf("it shows %q", text)
		}
		// What is shown is what is judged, and what would run.
		if command := p.Access().Command; !strings.Contains(text, command) {
			t.Errorf("it shows %q and would run %q", text, command)
		}
	})
}

// inBackground is the parameter by which a model asks for a call in the background.
const inBackground = "run_in_background"

// backgrounds checks that a tool which advertises to run in the background can, and that no
// other says so.
func backgrounds(t *testing.T, r tool.Descriptor, env tool.Env, valid string) {
	t.Helper()
	_, can := prepare(t, r, env, valid).(tool.Backgrounder)
	if says := schema(t, r.Spec()).Properties[inBackground] != nil; can != says || can != r.Background {
		t.Errorf("it can run in the background: %v; it says so: %v; its descriptor: %v", can, says, r.Background)
	}
	if !can {
		return
	}
	t.Run("background", func(t *testing.T) {
		ask := func(v any) (tool.Prepared, string, bool) {
			p := prepare(t, r, env, with(t, valid, inBackground, v))
			back, ok := p.(tool.Backgrounder)
			if !ok {
				t.Fatalf("asked %v it is a %T", v, p)
			}
			name, ok := back.Background()
			return p, name, ok
		}
		for _, v := range []any{nil, false} {
			if _, _, ok := ask(v); ok {
				t.Errorf("asked %v it would run in the background", v)
			}
		}
		p, name, ok := ask(true)
		if !ok || strings.TrimSpace(name) != name || name == "" || len(name) > 200 ||
			strings.ContainsFunc(name, unicode.IsControl) {
			t.Fatalf("name %q, %v", name, ok)
		}
		fore, _, _ := ask(false)
		if d := cmp.Diff(fore.Access(), p.Access()); d != "" {
			t.Errorf("in the background the call declares something else:\n%s", d)
		}
		env := env
		env.Log = filepath.Join(t.TempDir(), "made", "on the way", "log.txt")
		out, err := p.Run(t.Context(), env)
		if err != nil || out.IsError || len(out.Blocks) == 0 {
			t.Fatalf("%+v %v", out, err)
		}
		info, err := os.Stat(env.Log)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("its log: %v %v", info, err)
		}
		if got, err := prepare(t, r, env, valid).Run(t.Context(), env); err != nil ||
			cmp.Diff(evidence(got), evidence(out)) != "" {
			t.Errorf("the evidence of the same call differs: %+v and %+v, %v", got.Evidence, out.Evidence, err)
		}
	})
}

// evidence is what was measured, but for how long it took.
func evidence(o tool.Output) troupe.Evidence {
	e := o.Evidence
	e.Commands = slices.Clone(e.Commands)
	for i := range e.Commands {
		e.Commands[i].DurationMS = 0
	}
	return e
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

// with is a JSON object with one member set to v, or without it if v is nil.
func with(t *testing.T, object, key string, v any) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatalf("valid input: %v", err)
	}
	if members[key] = v; v == nil {
		delete(members, key)
	}
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Malformed derives inputs that a tool must refuse from its schema and one valid input.
func Malformed(t *testing.T, spec troupe.Tool, valid string) map[string]string {
	t.Helper()
	set := func(key string, v any) string { return with(t, valid, key, v) }
	var base map[string]any
	if err := json.Unmarshal([]byte(valid), &base); err != nil {
		t.Fatalf("valid input: %v", err)
	}
	body := strings.TrimSuffix(strings.TrimSpace(valid), "}")
	bad := map[string]string{
		"nothing": "", "null": "null", "array": "[]", "string": `"x"`, "number": "7", "empty object": "{}",
		"broken": "{", "words": "sorry, I cannot", "cut": body, "trailing": valid + "}", "comma": body + ",}",
		"two": valid + valid, "single quotes": `{'a': 1}`, "deep": strings.Repeat("[", 100_000),
		"deep objects": strings.Repeat(`{"a":`, 100_000), "invalid UTF-8": body + `,"x":"` + "\xff" + `"}`,
		"unknown": set("no_such_parameter", 1), "raw NUL": "\x00" + valid,
		"long key": set(strings.Repeat("k", 100_000), 1),
		"10 MB":    set("no_such_parameter", strings.Repeat("x", 10<<20)),
	}
	s := schema(t, spec)
	if len(s.Required) == 0 { // a call without arguments means something
		delete(bad, "nothing")
		delete(bad, "empty object")
	}
	for _, name := range s.Required {
		bad["without "+name] = set(name, nil)
		bad["null "+name] = set(name, json.RawMessage("null"))
	}
	for name, p := range s.Properties {
		for kind, v := range map[string]any{"object": map[string]any{"a": 1}, "array": []int{1}, "fraction": 1.5,
			"huge": json.RawMessage("1e400")} {
			bad[fmt.Sprintf("%s as %s", name, kind)] = set(name, v)
		}
		if base[name] != nil {
			twice, err := json.Marshal(base[name])
			if err != nil {
				t.Fatal(err)
			}
			bad[name+" twice"] = fmt.Sprintf("%s,%q:%s}", body, name, twice)
		}
		if p.Type == "string" {
			bad[name+" as bool"] = set(name, true)
			bad[name+" with NUL"] = set(name, "a\x00b")
			bad[name+" with half a pair"] = set(name, json.RawMessage(`"\ud800"`))
			bad[name+" of 10 MB"] = set(name, strings.Repeat("x", 10<<20))
		} else {
			bad[name+" as text"] = set(name, "many")
			bad[name+" as empty text"] = set(name, "")
		}
		if p.Type == "integer" {
			bad[name+" negative"] = set(name, -1)
		}
	}
	return bad
}
