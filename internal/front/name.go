package front

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/troupe-dev/troupe"
)

const maxName = 100

// BadName completes "the name …". Names stand in rules, such as Agent(NAME), in lists and in what models read.
// The colon is between a plugin's name and those of its agents.
func BadName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.TrimSpace(name) != name:
		return "begins or ends with a blank"
	case strings.HasPrefix(name, "-"):
		return "begins with a dash, as an option does"
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || strings.ContainsRune(":,()<>*\"`\\", r) {
			return fmt.Sprintf("contains %q; use letters, digits, blanks, - and _", r)
		}
	}
	return ""
}

// Fold is a name as it is looked up: two names are one if strings.EqualFold says so.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, strings.TrimSpace(name))
}

// ToolName finds the tool that a word means; "" and a hint if there is none.
func ToolName(word string, known []troupe.ToolFacts) (name, hint string) {
	plain := strings.ToLower(word)
	for _, k := range known {
		switch {
		case strings.EqualFold(k.Name, word), k.OldName != "" && strings.EqualFold(k.OldName, word),
			slices.Contains(k.Aliases, plain):
			return k.Name, ""
		case slices.Contains(k.Misspellings, plain):
			hint = "; " + k.Name + " was probably meant"
		}
	}
	return "", hint
}

// Names splits a list of tools at commas and blanks outside parentheses.
func Names(s string) []string {
	depth := 0
	for strings.Contains(s, " (") { // Agent (Explore) is Agent(Explore)
		s = strings.ReplaceAll(s, " (", "(")
	}
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

// Opening is the first heading of a text, or its first paragraph.
func Opening(text string) string {
	var paragraph []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			return strings.TrimSpace(heading)
		}
		if line == "" && len(paragraph) > 0 {
			break
		}
		if line != "" {
			paragraph = append(paragraph, line)
		}
	}
	return strings.Join(paragraph, " ")
}

// SplitPatterns takes a line of patterns for names of files apart at its commas, those within braces apart.
func SplitPatterns(line string) []string {
	depth := 0
	return strings.FieldsFunc(line, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ',' && depth <= 0
	})
}
