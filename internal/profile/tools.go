package profile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
)

// toolList is what a tools line says.
type toolList struct {
	all      bool
	names    []string // sorted, canonical
	problems []string
	broken   bool // nothing of it can be relied on
}

// readTools reads a tools line: names in a list, or in one text between commas and blanks,
// or a star. What cannot be read means no tools.
func readTools(v value, known []troupe.ToolFacts) toolList { return readNames(v, known, false) }

// readWithout reads a line of tools that agents do not get. In doubt they do not.
func readWithout(v value, known []troupe.ToolFacts) toolList { return readNames(v, known, true) }

func readNames(v value, known []troupe.ToolFacts, without bool) toolList {
	var words []string
	switch v.kind {
	case valueText:
		words = splitNames(v.text)
	case valueList:
		for _, item := range v.list {
			words = append(words, strings.TrimSpace(item))
		}
	case valueNothing:
		return toolList{broken: true, problems: []string{"is empty, so these agents get no tools; write * for all, " +
			"or leave it out"}}
	default:
		return toolList{broken: true, problems: []string{"cannot be read, so these agents get no tools; write names " +
			"with commas between them, a list, or *"}}
	}
	if len(words) == 0 && v.kind == valueText {
		return toolList{broken: true, problems: []string{"is empty, so these agents get no tools; write * for all, " +
			"or leave it out"}}
	}
	var out toolList
	for _, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return !toolRune(r) }) ||
			w != "*" && !strings.ContainsFunc(w, unicode.IsLetter) {
			return toolList{problems: []string{fmt.Sprintf("cannot be read at %q, so these agents get no tools; "+
				"write names with commas between them, a list, or *", w)}, broken: true}
		}
	}
	for _, w := range words {
		if w == "*" {
			out.all = true
			continue
		}
		if without { // denied in part: denied
			w, _, _ = strings.Cut(w, "(")
			if w = strings.TrimSpace(w); w == "*" {
				continue
			}
		}
		name, problem := toolName(w, known)
		if problem != "" {
			out.problems = append(out.problems, problem)
		} else if !slices.Contains(out.names, name) {
			out.names = append(out.names, name)
		}
	}
	slices.Sort(out.names)
	return out
}

// toolRune is what may be in a tool's name, or in parentheses after it.
func toolRune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r == ':' || r == '*' || r == '(' || r == ')' || r == ' ' || r == ',' ||
		r == '/' ||
		unicode.IsLetter(r) || unicode.IsDigit(r)
}

func toolName(word string, known []troupe.ToolFacts) (name, problem string) {
	if strings.ContainsAny(word, "()") {
		return "", fmt.Sprintf("names %q; parentheses are not supported here so far, and without them it would get "+
			"more than was meant, so it does not get this tool", word)
	}
	plain := strings.ToLower(word)
	hint := ""
	for _, k := range known {
		switch {
		case strings.EqualFold(k.Name, word), k.OldName != "" && strings.EqualFold(k.OldName, word),
			slices.Contains(k.Aliases, plain):
			return k.Name, ""
		case slices.Contains(k.Misspellings, plain):
			hint = "; " + k.Name + " was probably meant"
		}
	}
	return "", fmt.Sprintf("names %q, which is not a tool here%s", word, hint)
}

// splitNames splits at commas and blanks outside parentheses.
func splitNames(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		case ',', ' ', '\t', '\n', '\r':
			return depth == 0
		}
		return false
	})
}
