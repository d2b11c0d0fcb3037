package profile

import (
	"encoding/json"
	"maps"

	"github.com/troupe-dev/troupe"
)

// kept is a set in its stored form: what people defined. What is built in comes with the program.
type kept struct {
	Types  map[string]Definition `json:"types,omitempty"`
	Broken map[string]Problem    `json:"broken,omitempty"`
}

func builtInSet() Set {
	s := Set{types: map[string]Definition{}, broken: map[string]Problem{}}
	for _, d := range builtins() {
		s.types[fold(d.Name)] = d
	}
	return s
}

// MarshalJSON implements json.Marshaler.
func (s Set) MarshalJSON() ([]byte, error) {
	own := maps.Clone(s.types)
	maps.DeleteFunc(own, func(_ string, d Definition) bool { return d.Source == troupe.BuiltIn })
	return json.Marshal(kept{own, s.broken})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Set) UnmarshalJSON(data []byte) error {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*s = builtInSet()
	for _, d := range k.Types {
		s.types[fold(d.Name)] = d
	}
	for key, p := range k.Broken {
		s.broken[fold(key)] = p
		delete(s.types, fold(key))
	}
	return nil
}

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
