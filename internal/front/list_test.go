package front

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
)

// simpleListing is a list as it was first written: each text anew for each length that is tried.
func simpleListing(head string, list []Entry, room int, rest string) string {
	if len(list) == 0 {
		return ""
	}
	words := func(s string, most int) string {
		s = strings.Map(func(r rune) rune {
			switch {
			case r == '<':
				return '‹'
			case r == '>':
				return '›'
			case !unicode.IsPrint(r):
				return -1
			}
			return r
		}, strings.Join(strings.Fields(s), " "))
		if s == "" {
			return "(no description)"
		}
		if runes := []rune(s); len(runes) > most {
			s = strings.TrimSpace(string(runes[:most])) + "…"
		}
		return s
	}
	lines := make([]string, len(list))
	for most := maxWords; ; most = most * 2 / 3 {
		size := len(head)
		for i, e := range list {
			lines[i] = fmt.Sprintf("- %s: %s\n", e.Name, words(e.Text, most))
			size += len(lines[i])
		}
		if size <= room {
			return head + strings.Join(lines, "")
		}
		if most < minWords {
			break
		}
	}
	n, size := 0, len(head)+200
	for ; n < len(lines) && size+len(lines[n]) <= room; n++ {
		size += len(lines[n])
	}
	return head + strings.Join(lines[:n], "") + fmt.Sprintf("- and %d more. %s\n", len(lines)-n, rest)
}

// FuzzListing: however long the texts are and whatever stands in them, the list is the one that the simple way makes.
func FuzzListing(f *testing.F) {
	f.Add("plain words", "  two  blanks ", 90)
	f.Add("<tag>\nand a line", strings.Repeat("é ü ", 200), 700)
	f.Add("\x00\u200b\xff", strings.Repeat("word ", 100), 250)
	f.Add("", "~", 0)
	f.Fuzz(func(t *testing.T, a, b string, room int) {
		list := []Entry{{"a", a}, {"b", b}, {"c", a + b}, {"d", b + " " + a}}
		if got, want := Listing("head\n", list, room, "rest"),
			simpleListing("head\n", list, room, "rest"); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	})
}
