package console

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Wrap breaks a line into rows of at most w columns: between words where it can, and within
// what is longer than a row, such as a path. Of the spaces at a break one is dropped. With no
// w there is one row.
func Wrap(s string, w int) []string {
	var rows []string
	for w > 0 && ansi.StringWidth(s) > w {
		i := len(ansi.Truncate(s, max(w, 2), ""))
		j := i
		if s[i] != ' ' {
			j = strings.LastIndexByte(s[:i], ' ')
		}
		if strings.TrimSpace(s[:max(j, 0)]) == "" {
			rows, s = append(rows, s[:i]), s[i:]
			continue
		}
		rows, s = append(rows, s[:j]), s[j+1:]
	}
	return append(rows, s)
}

// WrapText wraps every line of a text. The rows of a line begin as far in as it does.
func WrapText(s string, w int) string {
	if w <= 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		text := strings.TrimLeft(l, " ")
		indent := l[:len(l)-len(text)]
		if len(indent) > w/2 {
			text, indent = l, ""
		}
		lines[i] = indent + strings.Join(Wrap(text, w-len(indent)), "\n"+indent)
	}
	return strings.Join(lines, "\n")
}
