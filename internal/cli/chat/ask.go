package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// askLines is how much of a long action is shown; v shows the rest.
const askLines = 40

// showRequest draws a request: who asks, why, exactly what for, and what can be answered.
func showRequest(r wire.Request, waiting int, whole, color bool, local *time.Location) string {
	var b strings.Builder
	what := r.Tool
	if r.Calls > 1 {
		what += fmt.Sprintf(" (%d calls)", r.Calls)
	}
	if r.Reason == troupe.WaitQuestion {
		what = "a question"
	}
	who := console.Line(r.Path, 80)
	if color {
		who = render.Agent(r.Path, who)
	}
	fmt.Fprintf(&b, "┏━ %s asks: %s\n", who, console.Line(what, 60))
	if r.Why != "" {
		fmt.Fprintf(&b, "┃ why: %s\n", console.Line(r.Why, 300))
	}
	lines := strings.Split(strings.TrimRight(console.Visible(r.Action), "\n"), "\n")
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
	for i, l := range outputLines(r) {
		if i == 0 {
			b.WriteString("┃ confined, it printed:\n")
		}
		b.WriteString("┃   │ " + l + "\n")
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
			b.WriteString(" · s this session · a always: " + console.Visible(console.Line(r.Grant, 200)))
			if r.File != "" {
				b.WriteString(" in " + console.Visible(console.Line(r.File, 200)))
			}
		}
		b.WriteString(" · n no, or n and why")
	}
	if !r.Until.IsZero() {
		form := "15:04"
		if r.Until.Sub(r.Since) >= 12*time.Hour {
			form = "Mon 15:04"
		}
		fmt.Fprintf(&b, " · denied %s unless answered", r.Until.In(local).Format(form))
	}
	if waiting > 0 {
		fmt.Fprintf(&b, " · %d more wait", waiting)
	}
	return b.String() + "\n"
}

// outputLines is the end of what a command printed before somebody was asked about it.
func outputLines(r wire.Request) []string {
	const most = 8
	text := strings.TrimSpace(r.Output)
	if text == "" {
		return nil
	}
	lines := strings.Split(console.Visible(text), "\n")
	if n := len(lines); n > most {
		lines = append([]string{fmt.Sprintf("… %d lines before", n-most)}, lines[n-most:]...)
	}
	return lines
}
