package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Descriptor is a tool as data. It stands in the tool's own folder, and whoever deals with
// tools reads it there.
type Descriptor struct {
	troupe.ToolFacts
	// Description and Schema are what a model is told.
	Description string
	Schema      json.RawMessage
	// Runner or Intent, or neither: rules may be about the tool, and nobody can have it here.
	Runner
	// Intent decodes a call that the session's driver carries out. An error is an *InputError. Its
	// type is one of the vocabulary (troupe.Intent), and carryOut in session/tasks.go has its case.
	Intent func(input string) (troupe.Intent, error)
	// Of is the tool as an agent with this profile has it, if that depends on the profile; nil: it does not.
	Of func(p *troupe.Profile) Descriptor
	// Close releases what the tool holds; nil: nothing.
	Close func() error

	also map[string]string // parameters by other names for them
}

// Spec is what a model is told about the tool.
func (d Descriptor) Spec() troupe.Tool {
	return troupe.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema}
}

// Callable reports whether the tool can be called.
func (d Descriptor) Callable() bool { return d.Runner != nil || d.Intent != nil }

// Access is what a call declares that it would do.
func (d Descriptor) Access(env Env, input string) (troupe.Access, error) {
	if d.Intent != nil {
		in, err := d.Intent(input)
		if sp, ok := in.(troupe.Spawn); ok {
			in = sp.Settled(env.Fork)
		}
		return d.Intended(in), err
	}
	p, err := d.Prepare(env, input)
	if err != nil {
		return troupe.Access{}, err
	}
	return p.Access(), nil
}

// Intended is what carrying out an intent of the tool would do.
func (d Descriptor) Intended(in troupe.Intent) troupe.Access {
	out := troupe.Access{Class: d.Class}
	switch in := in.(type) {
	case troupe.Spawn:
		out.Agent = in.Type
	case troupe.SendMessage:
		out.Agent = in.To
	case troupe.AskClient:
		out.Client = true
	}
	return out
}

// Set is tools by name. It does not change.
type Set struct {
	byName   map[string]Descriptor
	facts    []troupe.ToolFacts
	callable []troupe.ToolFacts // sorted
	stamp    string
}

// NewSet makes a set. Two tools of one name are a mistake in the program.
func NewSet(tools ...Descriptor) Set {
	s := Set{byName: make(map[string]Descriptor, len(tools)), facts: make([]troupe.ToolFacts, 0, len(tools)),
		callable: make([]troupe.ToolFacts, 0, len(tools))}
	for _, d := range tools {
		if _, twice := s.byName[d.Name]; twice || d.Name == "" {
			panic(fmt.Sprintf("tool: two tools are named %q, or one has no name", d.Name))
		}
		s.byName[d.Name] = d
		s.facts = append(s.facts, d.ToolFacts)
		if d.Callable() {
			s.callable = append(s.callable, d.ToolFacts)
		}
	}
	slices.SortFunc(s.callable, func(a, b troupe.ToolFacts) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Known returns a tool, also one that is not here.
func (s Set) Known(name string) (Descriptor, bool) {
	d, ok := s.byName[name]
	return d, ok
}

// Find returns a tool that can be called.
func (s Set) Find(name string) (Descriptor, bool) {
	if d := s.byName[name]; d.Callable() {
		return d, true
	}
	return Descriptor{}, false
}

// Intent reports whether the driver carries out the calls of a tool: they change no file, and
// what they answer tells of running times.
func (s Set) Intent(name string) bool { return s.byName[name].Intent != nil }

// Map is the set with every tool changed by fn.
func (s Set) Map(fn func(Descriptor) Descriptor) Set {
	var out []Descriptor
	for _, f := range s.facts {
		out = append(out, fn(s.byName[f.Name]))
	}
	return NewSet(out...)
}

// With is the set with tools that only one tree has. One that is known and not here gives its place up.
func (s Set) With(more ...Descriptor) Set {
	if len(more) == 0 {
		return s
	}
	comes := make(map[string]bool, len(more))
	for i := range more {
		comes[more[i].Name] = true
	}
	out := make([]Descriptor, 0, len(s.facts)+len(more))
	for _, f := range s.facts {
		if d := s.byName[f.Name]; d.Callable() || !comes[f.Name] {
			out = append(out, d)
		}
	}
	all := NewSet(append(out, more...)...)
	h := NewHasher()
	_, _ = h.Write([]byte(s.stamp))
	var line []byte
	for i := range more {
		line = append(strconv.AppendQuote(line[:0], more[i].Name), ' ')
		line = append(strconv.AppendQuote(line, more[i].Description), ' ')
		line = append(append(line, more[i].Schema...), '\n')
		_, _ = h.Write(line)
	}
	all.stamp = h.Sum()
	return all
}

// For is the set as an agent with this profile has it.
func (s Set) For(p *troupe.Profile) Set {
	own := s
	for _, name := range p.Tools {
		d, ok := s.byName[name]
		if !ok || d.Of == nil {
			continue
		}
		d = d.Of(p)
		own.byName = maps.Clone(own.byName)
		own.byName[name] = d
		own.stamp += Hash(d.Schema)
	}
	return own
}

// Stamp tells sets apart that differ in tools which only one tree has, or which depend on a profile; "" without any.
func (s Set) Stamp() string { return s.stamp }

// Facts lists what is known of all tools, also of those that are not here, in the order given.
func (s Set) Facts() []troupe.ToolFacts { return s.facts }

// Callable lists the tools that can be called, sorted by name.
func (s Set) Callable() []troupe.ToolFacts { return s.callable }

// Specs lists what a model is told about tools. A name that no tool has any more is left out.
func (s Set) Specs(names []string) []troupe.Tool {
	out := make([]troupe.Tool, 0, len(names))
	for _, name := range names {
		if d, ok := s.Find(name); ok {
			out = append(out, d.Spec())
		}
	}
	return out
}

// Schedule says how calls of a tool may be arranged; those of one that is not known go alone.
func (s Set) Schedule(name string) troupe.Schedule {
	d, _ := s.Find(name)
	return d.Schedule
}

// Close closes every tool.
func (s Set) Close() error {
	var errs []error
	for _, d := range s.byName {
		if d.Close != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}
