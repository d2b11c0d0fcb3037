package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestFit: lines that have no room break between words, what is said of a label stays in its column, colours are no
// words, and what was begun without an end is written at once.
func TestFit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"short\n": "short\n",
		"kept     job/fixer: worktree fixer-vbwx9p: branch troupe/fixer\n": "kept     job/fixer: worktree\n" +
			"         fixer-vbwx9p: branch\n         troupe/fixer\n",
		"    --take       Of files that conflict take this side\n": "    --take       Of files that conflict\n" +
			"                 take this side\n",
		"    --a-very-long-name-of-a-flag  What it does is told below\n": "    --a-very-long-name-of-a-flag  What\n" +
			"        it does is told below\n",
		"one two /a/path/that/is/longer/than/the/whole/row/is three\n": "one two\n" +
			"/a/path/that/is/longer/than/the/whole/row/is\nthree\n",
		"\x1b[1mbold words that\x1b[0m go on \x1b[32mand on and on and on\x1b[0m\n": "\x1b[1mbold words that\x1b[0m " +
			"go on \x1b[32mand on and on and\non\x1b[0m\n",
		"blank behind it               \x1b[0m                    \n": "",
		"y/n? ": "y/n? ",
	} {
		var b strings.Builder
		c := &Console{Out: &b, OutTTY: true, Width: 40}
		c.Fit()
		if _, err := fmt.Fprint(c.Out, in); err != nil {
			t.Fatal(err)
		}
		if want != "" && b.String() != want {
			t.Errorf("%q becomes\n%q, want\n%q", in, b.String(), want)
		}
		for line := range strings.Lines(b.String()) {
			if n := ansi.StringWidth(line); n > 40 && !strings.HasPrefix(line, "/") {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
	var b strings.Builder
	c := &Console{Out: &b, OutTTY: true, Width: 20}
	c.Fit()
	if err := c.JSON(strings.Repeat("word ", 10)); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("JSON is broken: %q, %v", b.String(), err)
	}
}
