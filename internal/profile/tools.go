package profile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// toolList is what a tools line says.
type toolList struct {
	all      bool
	names    []string // sorted, canonical
	starts   []string // types of Agent(…); nil: it does not say
	missing  []string // names of tools that are not here
	problems []string
	notes    []string
	broken   bool // nothing of it can be relied on
}

// readTools reads a tools line: names in a list, or in one text between commas and blanks,
// or a star. What cannot be read means no tools.
func readTools(v front.Value, known []troupe.ToolFacts) toolList { return readNames(v, known, false) }

// readWithout reads a line of tools that agents do not get. In doubt they do not.
func readWithout(v front.Value, known []troupe.ToolFacts) toolList { return readNames(v, known, true) }

func readNames(v front.Value, known []troupe.ToolFacts, without bool) toolList {
	var words []string
	switch v.Kind {
	case front.Text:
		words = front.Names(v.Text)
	case front.List:
		// In [Agent(a, b), Read] YAML ends an item at the first comma.
		words = front.Names(strings.Join(v.List, ","))
	case front.Nothing:
	default:
		return toolList{broken: true, problems: []string{"cannot be read, so these agents get no tools; write names " +
			"with commas between them, a list, or *"}}
	}
	if len(words) == 0 && v.Kind != front.List {
		return toolList{broken: true, problems: []string{"is empty, so these agents get no tools; write * for all, " +
			"or leave it out"}}
	}
	for _, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return !toolRune(r) }) ||
			w != "*" && !strings.ContainsFunc(w, unicode.IsLetter) {
			return toolList{problems: []string{fmt.Sprintf("cannot be read at %q, so these agents get no tools; "+
				"write names with commas between them, a list, or *", w)}, broken: true}
		}
	}
	var out toolList
	for _, w := range words {
		out.word(w, known, without)
	}
	out.names = sorted(out.names)
	return out
}

// word takes one name up.
func (l *toolList) word(w string, known []troupe.ToolFacts, without bool) {
	if w == "*" {
		l.all = true
		return
	}
	name, inside, narrow := strings.Cut(w, "(")
	name = strings.TrimSpace(name)
	if server, ok := serverTools(name); ok && !narrow {
		l.names = append(l.names, server)
		return
	}
	full, hint := front.ToolName(name, known)
	if full == "" && without {
		l.deny(name, known)
	}
	switch {
	case full == "":
		l.missing = append(l.missing, name)
		l.problems = append(l.problems, fmt.Sprintf("names %q, which is not a tool here%s", w, hint))
		return
	case without: // denied in part: denied
	case narrow && slices.ContainsFunc(known, func(t troupe.ToolFacts) bool {
		return t.Name == full && t.Schedule == troupe.Birth
	}):
		l.starts = append(l.starts, front.Names(strings.TrimSuffix(strings.TrimSpace(inside), ")"))...)
		if l.starts == nil {
			l.starts = []string{}
		}
	case narrow:
		l.missing = append(l.missing, w)
		l.problems = append(l.problems, fmt.Sprintf("names %q; parentheses are for Agent alone, and without them it "+
			"would get more than was meant, so it does not get this tool", w))
		return
	}
	if !strings.EqualFold(full, name) {
		l.notes = append(l.notes, fmt.Sprintf("names %q, which is %s here", name, full))
	}
	l.names = append(l.names, full)
}

// deny takes away what a word may mean that is no tool's name: all that a star stands for, or the nearest name.
func (l *toolList) deny(word string, known []troupe.ToolFacts) {
	near := ""
	if !strings.Contains(word, "*") {
		var all []string
		for _, k := range known {
			all = append(all, k.Name)
		}
		near = troupe.Nearest(word, all)
	}
	for _, k := range known {
		begin, end, star := strings.Cut(strings.ToLower(word), "*")
		plain := strings.ToLower(k.Name)
		if k.Name == near || star && strings.HasPrefix(plain, begin) &&
			strings.HasSuffix(plain, strings.Trim(end, "*")) ||
			slices.Contains(k.Misspellings, strings.ToLower(word)) {
			l.names = append(l.names, k.Name)
		}
	}
}

// toolRune is what may be in a tool's name, or in parentheses after it.
func toolRune(r rune) bool {
	return strings.ContainsRune("_-.:*() ,/", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
