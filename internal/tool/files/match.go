package files

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// span is a piece of a text, by byte offsets.
type span struct{ from, to int }

// fitLineEndings writes the two strings of an edit with the line endings of the file.
// Models write \n whatever the file has, because that is what Read shows them.
func fitLineEndings(content, old, new string) (string, string) {
	crlf := strings.Count(content, "\r\n")
	if crlf == 0 {
		if strings.Contains(old, "\r\n") {
			return strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(new, "\r\n", "\n")
		}
		return old, new
	}
	old, new = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(new, "\r\n", "\n")
	if 2*crlf >= strings.Count(content, "\n") {
		new = strings.ReplaceAll(new, "\n", "\r\n")
	}
	return old, new
}

// find returns where old (with \n for every line ending) occurs in content, overlapping
// occurrences included when there are exactly such: text that could be replaced in two
// ways is not unique.
func find(content, old string) []span {
	flat, cr := content, []int(nil)
	if strings.Contains(content, "\r\n") && !strings.Contains(old, "\r") {
		flat, cr = flatten(content)
	}
	var out []span
	for at := 0; ; {
		i := strings.Index(flat[at:], old)
		if i < 0 {
			break
		}
		out = append(out, span{at + i, at + i + len(old)})
		at += i + len(old)
	}
	if len(out) == 1 {
		if i := strings.LastIndex(flat, old); i != out[0].from {
			out = append(out, span{i, i + len(old)})
		}
	}
	for i := range out {
		out[i] = span{unflatten(cr, out[i].from), unflatten(cr, out[i].to)}
	}
	return out
}

// flatten turns \r\n into \n and returns where, in the result, a \r was left out.
func flatten(s string) (string, []int) {
	var b strings.Builder
	b.Grow(len(s))
	var cr []int
	for {
		i := strings.Index(s, "\r\n")
		if i < 0 {
			b.WriteString(s)
			return b.String(), cr
		}
		b.WriteString(s[:i])
		cr = append(cr, b.Len())
		b.WriteByte('\n')
		s = s[i+2:]
	}
}

// unflatten is the offset in the original text of an offset in the flattened one.
func unflatten(cr []int, at int) int { return at + sort.SearchInts(cr, at) }

// replace puts new in the place of each span; the second of two that overlap is kept.
func replace(content string, spots []span, new string) string {
	var b strings.Builder
	b.Grow(len(content) + len(spots)*len(new))
	at := 0
	for _, s := range spots {
		if s.from < at {
			continue
		}
		b.WriteString(content[at:s.from])
		b.WriteString(new)
		at = s.to
	}
	b.WriteString(content[at:])
	return b.String()
}

func listLines(content string, spots []span) string {
	const most = 10
	var out []string
	line, at := 1, 0
	for i, s := range spots {
		if i == most {
			out = append(out, "…")
			break
		}
		line += strings.Count(content[at:s.from], "\n")
		at = s.from
		out = append(out, strconv.Itoa(line))
	}
	return strings.Join(slices.Compact(out), ", ")
}

// whyNotFound helps the model to see what it got wrong about the text it meant.
func whyNotFound(content, old string) string {
	if stripped, ok := stripNumbers(old); ok && len(find(content, stripped)) > 0 {
		return "old_string was not found as it is written: leave out the line numbers that Read puts before each line."
	}
	lines := strings.SplitAfter(content, "\n")
	want := trimLines(strings.Split(old, "\n"))
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	for len(want) > 0 && want[0] == "" {
		want = want[1:]
	}
	if len(want) == 0 {
		return "old_string was not found."
	}
	have := trimLines(lines)
	for i := 0; i+len(want) <= len(have); i++ {
		if !slices.Equal(have[i:i+len(want)], want) {
			continue
		}
		from := len(strings.Join(lines[:i], ""))
		to := from + max(0, len(strings.Join(lines[i:i+len(want)], ""))-1)
		return "old_string was not found; it differs in white space from:\n" + snippet(content, from, to)
	}
	if i := slices.Index(have, want[0]); i >= 0 && len(want) > 1 {
		return fmt.Sprintf("old_string was not found. Its first line is line %d of the file, but what follows differs.",
			i+1)
	}
	return "old_string was not found."
}

func trimLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.Fields(l), " ")
	}
	return out
}

// stripNumbers removes the numbers that Read puts before lines; false if there are none.
func stripNumbers(s string) (string, bool) {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		number, rest, ok := strings.Cut(l, "\t")
		if _, err := strconv.Atoi(strings.TrimSpace(number)); !ok || err != nil {
			return "", false
		}
		lines[i] = rest
	}
	return strings.Join(lines, "\n"), true
}
