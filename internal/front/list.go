package front

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Entry is a line of a list that models read: a name, and what it is for.
type Entry struct{ Name, Text string }

// maxWords is enough to choose by. Some files in the wild hold pages of examples, which every session would pay
// for. With less than minWords entries cannot be told apart.
const (
	maxWords = 300
	minWords = 40
)

// Listing is entries below a head. Where the list is longer than room, in bytes, the texts are shortened, and at last
// entries are left out: rest, with their number, tells how to find those.
func Listing(head string, list []Entry, room int, rest string) string {
	if len(list) == 0 {
		return ""
	}
	lines := make([]line, len(list))
	for i, e := range list {
		lines[i] = line{"- " + e.Name + ": ", clean(e.Text)}
	}
	most := maxWords
	for ; ; most = most * 2 / 3 {
		size := len(head)
		for _, l := range lines {
			size += l.size(most)
		}
		if size <= room {
			return listed(head, lines, most)
		}
		if most < minWords {
			break
		}
	}
	n, size := 0, len(head)+200 // the words behind the list
	for ; n < len(lines) && size+lines[n].size(most) <= room; n++ {
		size += lines[n].size(most)
	}
	return listed(head, lines[:n], most) + fmt.Sprintf("- and %d more. %s\n", len(lines)-n, rest)
}

// line is one of a list, whose text may be shortened.
type line struct{ head, text string }

func (l line) size(most int) int {
	text, more := shortened(l.text, most)
	return len(l.head) + len(text) + len(more) + len("\n")
}

func listed(head string, lines []line, most int) string {
	var b strings.Builder
	b.WriteString(head)
	for _, l := range lines {
		text, more := shortened(l.text, most)
		b.WriteString(l.head + text + more + "\n")
	}
	return b.String()
}

// fewEntries are named whole where one was asked for that there is not.
const fewEntries = 12

// Find completes an error about an entry that there is not: those whose names and texts hold most of the words
// that were asked for, best first. With few entries it names all. what they are is in the plural: "types".
func Find(words string, list []Entry, what string) string {
	if len(list) <= fewEntries {
		names := make([]string, len(list))
		for i, e := range list {
			names[i] = e.Name
		}
		return "the " + what + " are " + strings.Join(names, ", ")
	}
	asked := strings.FieldsFunc(strings.ToLower(words), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	score := make(map[string]int, len(list))
	for _, e := range list {
		name, text := strings.ToLower(e.Name), strings.ToLower(e.Text)
		for _, w := range asked {
			switch {
			case strings.Contains(name, w):
				score[e.Name] += 3
			case strings.Contains(text, w):
				score[e.Name]++
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return score[b.Name] - score[a.Name] })
	if score[list[0].Name] == 0 {
		return fmt.Sprintf("none of the %d %s has these words in its name or description; try others", len(list), what)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "of %d %s these fit best:", len(list), what)
	for _, e := range list[:fewEntries] {
		if score[e.Name] > 0 {
			fmt.Fprintf(&b, "\n- %s: %s", e.Name, oneLine(e.Text, maxWords))
		}
	}
	return b.String()
}

// oneLine is a text as it stands in a list, at most so many characters of it.
func oneLine(s string, most int) string {
	text, more := shortened(clean(s), most)
	return text + more
}

// shortened are the first characters of a text, and the mark of what is left out.
func shortened(s string, most int) (text, more string) {
	if len(s) <= most {
		return s, ""
	}
	n := 0
	for i := range s {
		if n == most {
			return strings.TrimSpace(s[:i]), "…"
		}
		n++
	}
	return s, ""
}

// clean makes a stranger's text safe to stand in a list: it cannot begin a line or a tag of its own.
func clean(s string) string {
	if isClean(s) {
		return s
	}
	s = strings.Join(strings.Fields(s), " ")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '<':
			return '‹'
		case r == '>':
			return '›'
		case !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, s)
	if s == "" {
		return "(no description)"
	}
	return s
}

// isClean: most texts are plain ASCII with single blanks, and stay as they are.
func isClean(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return before != ' '
}
