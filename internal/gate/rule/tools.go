package rule

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Tools is what the gate knows of the tools there are, and of those that rules may be about
// though they are not here. It does not change.
type Tools struct {
	facts     []troupe.ToolFacts
	byName    map[string]*troupe.ToolFacts
	canonical map[string]string // by name in lower case, former ones too: the name
	meant     map[string]string // by what people write who probably mean it, without separators: the name
}

// UnknownHolder is the Holder of a tool that is not known.
const UnknownHolder troupe.Holder = -1

// NewTools makes the gate's view of tools.
func NewTools(facts []troupe.ToolFacts) *Tools {
	t := &Tools{
		facts: facts, byName: make(map[string]*troupe.ToolFacts), canonical: make(map[string]string),
		meant: make(map[string]string),
	}
	for i := range facts {
		f := &facts[i]
		t.byName[f.Name], t.canonical[strings.ToLower(f.Name)] = f, f.Name
		if f.OldName != "" {
			t.canonical[strings.ToLower(f.OldName)] = f.Name
		}
		for _, name := range slices.Concat(f.Aliases, f.Misspellings) {
			t.meant[withoutSeparators(name)] = f.Name
		}
	}
	return t
}

// Facts returns what is known of a tool, of one that is not known its name.
func (t *Tools) Facts(name string) *troupe.ToolFacts {
	if f := t.byName[name]; f != nil {
		return f
	}
	return &troupe.ToolFacts{Name: name, Class: troupe.ClassExec, Holder: UnknownHolder}
}

// Known reports whether rules about a tool mean something, here or elsewhere.
func (t *Tools) Known(name string) bool { return t.Facts(t.Canonical(name)).Holder != UnknownHolder }

// Canonical writes the name of a tool as it is written now.
func (t *Tools) Canonical(name string) string {
	if now, ok := t.canonical[strings.ToLower(name)]; ok {
		return now
	}
	return name
}

// narrowed are the tools that people write rules about: those of which something can stand in
// parentheses, or for which they have other names.
func (t *Tools) narrowed() []string {
	var out []string
	for _, f := range t.facts {
		if f.Argument != troupe.NoArgument || len(f.Misspellings) > 0 {
			out = append(out, f.Name)
		}
		if f.OldName != "" {
			out = append(out, f.OldName)
		}
	}
	return out
}

// misspelt is the tool that a name probably means which no tool has: one slip of the pen away,
// or what other programs call it. It is "" if the name is fine, or means none.
func (t *Tools) misspelt(name string) string {
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, MCPPrefix) {
		return ""
	}
	known := t.narrowed()
	if slices.Contains(known, name) {
		return ""
	}
	plain := withoutSeparators(name)
	short := strings.TrimSuffix(plain, "tool")
	for _, k := range known {
		k := strings.ToLower(k)
		if len(name) >= 4 && oneTypo(lower, k) || short != plain && (short == k || oneTypo(short, k)) {
			return t.Canonical(k)
		}
	}
	return t.meant[short]
}

// withoutSeparators is a name in lower case and one piece.
func withoutSeparators(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-.", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// withParentheses names the tools whose rules have parentheses, for people.
func (t *Tools) withParentheses() string {
	var names []string
	for _, f := range t.facts {
		if f.Argument != troupe.NoArgument {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

// EditsFiles: a tool whose calls change the files that they name.
func EditsFiles(f *troupe.ToolFacts) bool {
	return f.Argument == troupe.PathArgument && f.Class == troupe.ClassEdit
}
