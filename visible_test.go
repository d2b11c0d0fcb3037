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

func TestClean(t *testing.T) {
	t.Parallel()
	same := []string{"a\tb\nc", "naïve “ü” 日本\u3000語", "⚠️ ❤️‍🔥 👨‍👩‍👧 👍🏽 1️⃣ ↔️ ‼️", "10\u00a0km\u202f!",
		"می\u200cخواهم", "क्\u200dष",
		"\ue0b0", "\u06dd"}
	for _, s := range same {
		if got := troupe.Clean(s); got != s {
			t.Errorf("Clean(%q) = %q", s, got)
		}
	}
	for in, want := range map[string]string{
		"a\u200bb\u200ec\u061cd":            `a\u{200b}b\u{200e}c\u{061c}d`,
		"a\u2028b\ufeffc\u00add":            `a\u{2028}b\u{feff}c\u{00ad}d`,
		"tag\U000e0041\u3164\u115f\u2800":   `tag\u{e0041}\u{3164}\u{115f}\u{2800}`,
		"\x1b[2J\u009b\r\u202e\u2066":       `\u{001b}[2J\u{009b}\u{000d}\u{202e}\u{2066}`,
		"rm\u200c \u200dx\ufe0f1\ufe0f":     `rm\u{200c} \u{200d}x\u{fe0f}1\u{fe0f}`,
		"й\u200d👍\u200d\u200d⚠\ufe0f\ufe0f": `й\u{200d}👍` + "\u200d" + `\u{200d}⚠` + "\ufe0f" + `\u{fe0f}`,
		"\xff\u200b":                        `\xff\u{200b}`,
	} {
		if got := troupe.Clean(in); got != want {
			t.Errorf("Clean(%q) = %s, want %s", in, got, want)
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
		clean := troupe.Clean(s)
		if troupe.Clean(clean) != clean || strings.ContainsAny(clean, "\x1b\u009b\r\u200b\u202e\u2028\U000e0041") {
			t.Errorf("Clean(%q) = %q", s, clean)
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
