package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/render"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// askLines is how much of a long action is shown; v shows the rest.
const askLines = 40

// showRequest draws a request: who asks, why, exactly what for, and what can be answered. No
// row is wider than the screen, and each has the edge before it.
func showRequest(r wire.Request, waiting int, whole bool, width int, color bool, local *time.Location) string {
	var b strings.Builder
	put := func(edge, text string) {
		for _, row := range console.Wrap(text, room(width, edge)) {
			b.WriteString(edge + row + "\n")
			edge = strings.Replace(edge, "┏━", "┃ ", 1)
		}
	}
	what := r.Tool
	if r.Calls > 1 {
		what += fmt.Sprintf(" (%d calls)", r.Calls)
	}
	if r.Kind == troupe.RequestQuestion {
		what = "a question"
	}
	who := console.Line(r.Path, 80)
	put("┏━ ", who+" asks: "+console.Line(what, 60))
	if head := b.String(); color {
		b.Reset()
		b.WriteString(strings.Replace(head, who, render.Agent(r.Path, who), 1))
	}
	if r.Why != "" {
		put("┃ ", "why: "+console.Line(r.Why, 300))
	}
	lines := strings.Split(strings.TrimRight(console.Visible(r.Action), "\n"), "\n")
	hidden := 0
	if len(lines) > askLines && !whole {
		hidden = len(lines) - askLines
		lines = lines[:askLines]
	}
	for _, l := range lines {
		put("┃   ", l)
	}
	if hidden > 0 {
		put("┃   ", fmt.Sprintf("… %s; v shows all", console.Count(hidden, "more line")))
	}
	for i, l := range outputLines(r) {
		if i == 0 {
			put("┃ ", "confined, it printed:")
		}
		put("┃   │ ", l)
	}
	if !r.Running {
		put("┃ ", "No process waits for this just now; the answer is kept for when one does.")
	}
	rows := console.Wrap(answers(r, waiting, local), room(width, "┗━ "))
	for i, row := range rows {
		edge := "┃  "
		if i == len(rows)-1 {
			edge = "┗━ "
		}
		b.WriteString(edge + row + "\n")
	}
	return b.String()
}

// room is what is left of the screen behind an edge; 0: it has no end.
func room(width int, edge string) int {
	if width <= 0 {
		return 0
	}
	return max(width-ansi.StringWidth(edge), 8)
}

// answers says what can be answered, and until when.
func answers(r wire.Request, waiting int, local *time.Location) string {
	text := "y once"
	if r.Kind == troupe.RequestQuestion {
		text = "write your answer, or n for none"
	} else {
		if r.Grant != "" {
			text += " · s this session · a always: " + console.Visible(console.Line(r.Grant, 200))
			if r.File != "" {
				text += " in " + console.Visible(console.Line(r.File, 200))
			}
		}
		text += " · n no, or n and why"
	}
	if !r.Until.IsZero() {
		form := "15:04"
		if r.Until.Sub(r.Since) >= 12*time.Hour {
			form = "Mon 15:04"
		}
		text += fmt.Sprintf(" · denied %s unless answered", r.Until.In(local).Format(form))
	}
	switch {
	case waiting == 1:
		text += " · 1 more waits"
	case waiting > 1:
		text += fmt.Sprintf(" · %d more wait", waiting)
	}
	return text
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
