package profile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// kept is a set in its stored form: what people defined. What is built in comes with the program.
type kept struct {
	Types  map[string]Definition `json:"types,omitempty"`
	Broken map[string]Problem    `json:"broken,omitempty"`
	// Prompts are those of the types, which are most of a set. Older documents have them in the types.
	Prompts map[string]string `json:"prompts,omitempty"`
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
	w := setWriter{data: slices.Grow(data, size+size/16)}
	w.enc = json.NewEncoder(&w)
	w.members("types", keys, func(key string) {
		d := s.types[key]
		d.Prompt = ""
		w.value(d)
	})
	w.members("broken", slices.Sorted(maps.Keys(s.broken)), func(key string) { w.value(s.broken[key]) })
	prompted := slices.DeleteFunc(keys, func(key string) bool { return s.types[key].Prompt == "" })
	w.members("prompts", prompted, func(key string) { w.data = appendText(w.data, s.types[key].Prompt) })
	if w.some {
		return append(w.data, '}'), w.err
	}
	return append(w.data, "{}"...), w.err
}

// setWriter writes the members of one object.
type setWriter struct {
	data []byte
	enc  *json.Encoder // into data
	some bool
	err  error
}

func (w *setWriter) Write(p []byte) (int, error) {
	w.data = append(w.data, p...)
	return len(p), nil
}

// members writes a member of the object that is an object itself, unless it is empty.
func (w *setWriter) members(name string, keys []string, value func(key string)) {
	open := byte('{')
	if w.some {
		open = ','
	}
	for i, key := range keys {
		if i == 0 {
			w.data = append(append(append(w.data, open, '"'), name...), `":{`...)
			w.some = true
		} else {
			w.data = append(w.data, ',')
		}
		w.data = append(appendText(w.data, key), ':')
		value(key)
	}
	if len(keys) > 0 {
		w.data = append(w.data, '}')
	}
}

// value writes a value without the end of a line behind it.
func (w *setWriter) value(v any) {
	if err := w.enc.Encode(v); err != nil {
		w.err = cmp.Or(w.err, err)
		return
	}
	w.data = w.data[:len(w.data)-1]
}

// appendText writes a text in JSON, eight bytes at a time where none of them needs another form: encoding/json, which
// looks at each, took longer for hundreds of prompts than all else of their document.
func appendText(data []byte, s string) []byte {
	data = append(data, '"')
	for len(s) > 0 {
		n := plainText(s)
		data, s = append(data, s[:n]...), s[n:]
		if s == "" {
			break
		}
		switch c := s[0]; c {
		case '"', '\\':
			data = append(data, '\\', c)
		case '\n':
			data = append(data, '\\', 'n')
		default:
			data = fmt.Appendf(data, `\u%04x`, c)
		}
		s = s[1:]
	}
	return append(data, '"')
}

// plainText is how many bytes at the beginning of a text stand in JSON as they are.
func plainText(s string) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	// A byte of x is below n where x-n borrows and x has no high bit; it is c where x^c is below 1.
	below := func(x, n uint64) uint64 { return (x - ones*n) &^ x & high }
	for ; len(s)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64([]byte(s[n : n+8]))
		if odd := below(x, ' ') | below(x^ones*'"', 1) | below(x^ones*'\\', 1); odd != 0 {
			return n + bits.TrailingZeros64(odd)/8
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Set) UnmarshalJSON(data []byte) error {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*s = builtInSet()
	for key, d := range k.Types {
		d.Prompt = cmp.Or(k.Prompts[key], d.Prompt)
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

// Refusing is the set with those MCP servers refused that its definitions bring in themselves and that there is a
// reason to refuse.
func (s Set) Refusing(why func(d Definition, server entry.Entry) string) Set {
	s.types = maps.Clone(s.types)
	for key, d := range s.types {
		d.Servers.Only = slices.Clone(d.Servers.Only)
		for i, r := range d.Servers.Only {
			if r.Inline != nil {
				d.Servers.Only[i].Bad = cmp.Or(r.Bad, why(d, *r.Inline))
			}
		}
		s.types[key] = d
	}
	return s
}

// Renewed is the set with what another one, read later, has new or changed, and the names of that. What came by a flag
// stays, a stored one does for the run, and so does what is gone or cannot be used any more: agents were told of it. A
// type whose hooks or servers are others stays as it is too: both are those that the run began with. A new one with
// hooks is not there yet: it may not work without its own.
func (s Set) Renewed(by Set) (now Set, names []string) {
	now = Set{types: maps.Clone(s.types), broken: maps.Clone(s.broken)}
	for key, d := range by.types {
		had, there := s.types[key]
		if d.Source == troupe.BuiltIn || d.Scope == ScopeFlag || d.Scope == ScopeStored ||
			!bytes.Equal(had.Hooks, d.Hooks) ||
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
