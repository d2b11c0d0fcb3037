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

// Kept is a set in its stored form: what people defined. What is built in comes with the program.
type Kept struct {
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

// Keep is the set as it is stored. What holds one and writes many bytes writes this in its place: what a Marshaler
// returns is read once more.
func (s Set) Keep() Kept {
	own := maps.Clone(s.types)
	maps.DeleteFunc(own, func(_ string, d Definition) bool { return d.Source == troupe.BuiltIn })
	return Kept{own, s.broken}
}

// MarshalJSON implements json.Marshaler.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.Keep()) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Set) UnmarshalJSON(data []byte) error {
	var k Kept
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
