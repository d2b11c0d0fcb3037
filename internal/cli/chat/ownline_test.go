//go:build unix

package chat

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestStatusLineOfSettings: what the command of the settings prints stands below the line of our own, on no more than
// three rows that fit the screen. It runs anew for what has changed, and a failure is told once.
func TestStatusLineOfSettings(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		f := newFake(func(f *fake, what string) { f.says("heard " + what) })
		f.line = func(q wire.StatusQuery) wire.StatusLine {
			begun := "nothing yet"
			if q.Root != "" {
				begun = "begun"
			}
			return wire.StatusLine{Command: "sh line.sh", Padding: 2, Text: fmt.Sprintf(
				"%s · %s · %s · %d columns%s\n\x1b[31mred\x1b[2Jline\x1b[0m\x1b]8;;http://a\atext\x1b]8;;\a\n3\n4\n",
				q.Model, q.Mode, begun, q.Columns, strings.Repeat(" long", 20))}
		}
		return f
	}
	screensOf(t, "statusline", f, wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModePlan}},
		func(p *person, _ *fake) {
			p.shows("opus · plan · nothing yet ·")
			p.Keys("hello\r")
			p.shows("opus · plan · begun ·")
			p.shows("heard hello")
			p.sees("\n  3\n>")
		})
}

// TestStatusLineFails: the conversation goes on without it, and is told once.
func TestStatusLineFails(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	runs := 0
	f.line = func(wire.StatusQuery) wire.StatusLine {
		runs++
		text := ""
		if runs > 1 {
			text = "it ran again"
		}
		return wire.StatusLine{Command: "sh line.sh", Failed: "it ended with exit code 7: no\x1b[2J luck", Text: text}
	}
	p := sitAt(t, f, wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModePlan}}, 100)
	p.shows("troupe: the status line of the settings fails: it ended with exit code 7: no\\u{001b}[2J luck")
	p.Keys("hello\r")
	p.shows("it ran again")
	if n := strings.Count(p.Shown(), "fails: "); n != 1 {
		t.Errorf("the failure was told %d times:\n%s", n, p.Shown())
	}
}

// TestStatusLineOfAnotherWidth: once the terminal has another width the line runs for that, and until it has said
// something what it said before fits. The signal draws all screens of the process anew, so no other test runs beside
// it.
func TestStatusLineOfAnotherWidth(t *testing.T) {
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	f.line = func(q wire.StatusQuery) wire.StatusLine {
		return wire.StatusLine{Command: "sh line.sh", Text: fmt.Sprintf("for %d columns %s end", q.Columns,
			strings.Repeat("long ", 14))}
	}
	p := sitAt(t, f, wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModePlan}}, 100)
	p.shows("for 100 columns")
	p.shows(" end")
	p.Resize(60, 30)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	p.shows("for 60 columns")
	for row := range strings.Lines(p.Shown()) {
		if strings.Contains(row, "for ") && !strings.HasSuffix(strings.TrimSpace(row), "…") {
			t.Errorf("a row does not fit: %q", row)
		}
	}
}

// TestHarmless: of what a program printed, its colors stay and nothing else that a terminal would act on.
func TestHarmless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"plain":                          {"plain", "plain"},
		"\x1b[1;38;5;208mx\x1b[0m":       {"\x1b[1;38;5;208mx\x1b[0m\x1b[0m", "x"},
		"a\x1b[2Jb\x1b[10;10Hc\x1b[?25l": {"abc", "abc"},
		"\x1b]0;title\atext\x1bPq\x1b\\": {"text", "text"},
		"a\tb\rc\x00\a\b":                {"a bc", "a bc"},
		"\u009b2J\u202egnp":              {"2J\\u{202e}gnp", "2J\\u{202e}gnp"},
		"é e\u0301 漢 👩‍💻":                {"é e\u0301 漢 👩‍💻", "é e\u0301 漢 👩‍💻"},
	} {
		for i, color := range []bool{true, false} {
			if got := harmless(text, color); got != want[i] {
				t.Errorf("%q (colors %v): %q instead of %q", text, color, got, want[i])
			}
		}
	}
}
