package console

import (
	"fmt"
	"reflect"
	"slices"
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

// shortPath is the least that a path is cut to before words are left out.
const shortPath = 20

// Shorten makes a line at most w columns wide. Long paths lose their middle first: how they begin and end says
// most. Then it ends behind a whole word, if that leaves half of it.
func Shorten(s string, w int) string {
	words, whole := strings.Split(s, " "), s
	for over := ansi.StringWidth(s) - w; over > 0; over = ansi.StringWidth(s) - w {
		longest := -1
		for i, word := range words {
			if n := ansi.StringWidth(word); strings.Contains(word, "/") && n > shortPath &&
				(longest < 0 || n > ansi.StringWidth(words[longest])) {
				longest = i
			}
		}
		if longest < 0 {
			break
		}
		words[longest] = Middle(words[longest], max(ansi.StringWidth(words[longest])-over, shortPath))
		s = strings.Join(words, " ")
	}
	if ansi.StringWidth(s) <= w {
		return s
	}
	cut := ansi.Truncate(whole, max(w-2, 0), "")
	if i := strings.LastIndexByte(whole[:min(len(cut)+1, len(whole))], ' '); i > len(cut)/2 {
		return strings.TrimRight(whole[:i], " ") + " …"
	}
	return ansi.Truncate(whole, w, "…")
}

// Middle makes a word at most w columns wide by its middle: its end, which tells it from others, is the longer part.
func Middle(s string, w int) string {
	n := ansi.StringWidth(s)
	if n <= w || w < 3 {
		return ansi.Truncate(s, w, "…")
	}
	end := w * 3 / 5
	return ansi.Truncate(s, w-1-end, "") + "…" + ansi.TruncateLeft(s, n-end, "")
}

// Say prints a text, at a terminal in lines that break between words.
func (c *Console) Say(text string) error {
	_, err := fmt.Fprintln(c.Out, WrapText(Clean(text), c.room()))
	return err
}

// Printf prints what a format says. No value has a line of its own, or does anything to a terminal, whatever its type.
func (c *Console) Printf(format string, values ...any) error {
	_, err := fmt.Fprintf(c.Out, format, flat(values)...)
	return err
}

// Sprintf is the text that Printf prints.
func Sprintf(format string, values ...any) string { return fmt.Sprintf(format, flat(values)...) }

// painted is a text that was made to be printed as it is.
type painted string

// flat makes a harmless line of every value that is a text, of whatever type.
func flat(values []any) []any {
	out := slices.Clone(values)
	for i, v := range values {
		_, fails := v.(error)
		if _, as := v.(painted); !as && (fails || reflect.ValueOf(v).Kind() == reflect.String) {
			out[i] = flatten(fmt.Sprint(v))
		}
	}
	return out
}

func flatten(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(Clean(s)) }

// room is how wide a line may be; 0: as wide as it is.
func (c *Console) room() int {
	if !c.OutTTY {
		return 0
	}
	return c.Width
}
