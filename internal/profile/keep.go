package profile

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// kept is a set in its stored form: what people defined. What is built in comes with the program.
type kept struct {
	Types  map[string]Definition `json:"types,omitempty"`
	Broken map[string]Problem    `json:"broken,omitempty"`
}

func builtInSet() Set {
	s := Set{types: map[string]Definition{}, broken: map[string]Problem{}}
	for _, d := range builtins() {
		s.types[front.Fold(d.Name)] = d
	}
	return s
}

// MarshalJSON implements json.Marshaler.
func (s Set) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil) }

// AppendJSON writes the set behind data. A program that is written in one piece is written in less room, and read less
// often, than by way of MarshalJSON: there may be hundreds of definitions.
func (s Set) AppendJSON(data []byte) ([]byte, error) {
	keys, size := []string{}, 0
	for key, d := range s.types {
		if d.Source != troupe.BuiltIn {
			keys, size = append(keys, key), size+len(d.Prompt)+len(d.Description)+len(d.Source)+200
		}
	}
	slices.Sort(keys)
	out := bytes.NewBuffer(slices.Grow(data, size+size/16))
	enc := json.NewEncoder(out)
	comma := "{"
	if len(keys) > 0 {
		comma = `{"types":{`
		for _, key := range keys {
			out.WriteString(comma)
			if err := encode(out, enc, key); err != nil {
				return nil, err
			}
			out.WriteByte(':')
			if err := encode(out, enc, s.types[key]); err != nil {
				return nil, err
			}
			comma = ","
		}
		out.WriteByte('}')
	}
	if len(s.broken) > 0 {
		out.WriteString(comma + `"broken":`)
		if err := encode(out, enc, s.broken); err != nil {
			return nil, err
		}
		comma = ","
	}
	if comma == "{" {
		out.WriteString(comma)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// encode writes a value without the end of a line behind it.
func encode(out *bytes.Buffer, enc *json.Encoder, v any) error {
	err := enc.Encode(v)
	if err == nil {
		out.Truncate(out.Len() - 1)
	}
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Set) UnmarshalJSON(data []byte) error {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*s = builtInSet()
	for _, d := range k.Types {
		s.types[front.Fold(d.Name)] = d
	}
	for key, p := range k.Broken {
		s.broken[front.Fold(key)] = p
		delete(s.types, front.Fold(key))
	}
	return nil
}

// Hooked are all definitions with hooks that were read, also those that do not count or whose name another one has.
func (s Set) Hooked() []Definition { return s.hooked }

// Or is the set with those types of another that it says nothing of. A tree goes on with what it was
// told there is, as far as that was not replaced.
func (s Set) Or(before Set) Set {
	out := Set{types: maps.Clone(s.types), broken: maps.Clone(s.broken)}
	for key, d := range before.types {
		_, broken := s.broken[key]
		if now, ok := s.types[key]; !broken && (!ok || now.Source == troupe.BuiltIn) {
			out.types[key] = d
		}
	}
	return out
}

// Renewed is the set with what another one, read later, has new or changed, and the names of that. What came by a flag
// stays, and so does what is gone or cannot be used any more: agents were told of it. A type whose hooks or servers are
// others stays as it is too: both are those that the run began with. A new one with hooks is not there yet: it may not
// work without its own.
func (s Set) Renewed(by Set) (now Set, names []string) {
	now = Set{types: maps.Clone(s.types), broken: maps.Clone(s.broken)}
	for key, d := range by.types {
		had, there := s.types[key]
		if d.Source == troupe.BuiltIn || d.Scope == ScopeFlag || !bytes.Equal(had.Hooks, d.Hooks) ||
			there && (had.Scope == ScopeFlag || !same(had.Servers, d.Servers) || same(had, d)) {
			continue
		}
		now.types[key] = d
		delete(now.broken, key)
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return now, names
}

// same reports whether two definitions, or parts of them, are stored the same way.
func same[T any](a, b T) bool {
	if reflect.DeepEqual(a, b) {
		return true // which is quickly seen, and nearly always so
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
