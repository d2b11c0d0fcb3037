package troupe_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"go test ./... && echo “ü”\nx": "go test ./... && echo “ü”\nx",
		"a\tb\r\x1b[2K\x7f":            `a\tb\u{000d}\u{001b}[2K\u{007f}`,
		"rm \u202e/\u2066x\u200b":      `rm \u{202e}/\u{2066}x\u{200b}`,
		"a\u00a0b\u3000c\ufeff":        `a\u{00a0}b\u{3000}c\u{feff}`,
		"x\ufe0f\u3164\U000e0041":      `x\u{fe0f}\u{3164}\u{e0041}`,
		"\xff\xfe\ufffd":               `\xff\xfe` + "\ufffd",
	} {
		if got := troupe.Visible(in); got != want {
			t.Errorf("Visible(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestVisibleLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"true # see docs\nid\u2028id":            `true # see docs\nid\u{2028}id`,
		"x" + strings.Repeat(" ", 5000) + "; id": "x ‹5000 blanks› ; id",
		"a  b" + strings.Repeat(" ", 8) + "c":    "a  b        c",
		strings.Repeat(" ", 9):                   " ‹9 blanks› ",
	} {
		if got := troupe.VisibleLine(in); got != want {
			t.Errorf("VisibleLine(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("rm -rf \u202e/ \x1b[0m\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := troupe.Visible(s)
		if !utf8.ValidString(v) || strings.Count(v, "\n") != strings.Count(s, "\n") {
			t.Errorf("Visible(%q) = %q", s, v)
		}
		for _, r := range v {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("Visible(%q) leaves %U", s, r)
			}
		}
		line := troupe.VisibleLine(s)
		if troupe.Visible(v) != v || troupe.VisibleLine(line) != line {
			t.Errorf("Visible(%q) is not settled", s)
		}
		if strings.ContainsAny(line, "\n") || strings.Contains(line, strings.Repeat(" ", 10)) {
			t.Errorf("VisibleLine(%q) = %q", s, line)
		}
	})
}
