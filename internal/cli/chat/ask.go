package chat

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// askLines is how much of a long action is shown; v shows the rest.
const askLines = 40

// showRequest draws a request: who asks, why, exactly what for, and what can be answered.
func showRequest(r wire.Request, waiting int, whole bool, local *time.Location) string {
	var b strings.Builder
	what := r.Tool
	if r.Calls > 1 {
		what += fmt.Sprintf(" (%d calls)", r.Calls)
	}
	if r.Reason == troupe.WaitQuestion {
		what = "a question"
	}
	fmt.Fprintf(&b, "┏━ %s asks: %s\n", console.Line(r.Path, 80), console.Line(what, 60))
	if r.Why != "" {
		fmt.Fprintf(&b, "┃ why: %s\n", console.Line(r.Why, 300))
	}
	lines := strings.Split(strings.TrimRight(visible(r.Action), "\n"), "\n")
	hidden := 0
	if len(lines) > askLines && !whole {
		hidden = len(lines) - askLines
		lines = lines[:askLines]
	}
	for _, l := range lines {
		b.WriteString("┃   " + l + "\n")
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "┃   … %d more lines; v shows all\n", hidden)
	}
	if !r.Running {
		b.WriteString("┃ No process waits for this just now; the answer is kept for when one does.\n")
	}
	b.WriteString("┗━ ")
	if r.Reason == troupe.WaitQuestion {
		b.WriteString("write your answer, or n for none")
	} else {
		b.WriteString("y once")
		if r.Grant != "" {
			b.WriteString(" · a this session: " + visible(console.Line(r.Grant, 200)))
		}
		b.WriteString(" · n no, or n and why")
	}
	if !r.Until.IsZero() {
		fmt.Fprintf(&b, " · denied at %s", r.Until.In(local).Format("15:04"))
	}
	if waiting > 0 {
		fmt.Fprintf(&b, " · %d more wait", waiting)
	}
	return b.String() + "\n"
}

// visible shows a text with everything in it that a terminal would not: control characters,
// characters without a width, spaces that are none, and letters that turn the direction.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == ' ':
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("    ")
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector) || blank(r):
			fmt.Fprintf(&b, "\\u{%x}", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// blank lists letters that look like nothing.
func blank(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800, 0x034f, 0x17b4, 0x17b5, utf8Error:
		return true
	}
	return false
}

const utf8Error = '\uFFFD'
