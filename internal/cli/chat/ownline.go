package chat

import (
	"context"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// ownLine is the status line of a person's settings. Its command runs beside the conversation, one at a time, and what
// changes while it runs has it run again.
type ownLine struct {
	on      bool
	wanted  bool
	due     <-chan time.Time // when it runs next; nil: nothing has changed
	running bool
	came    chan cameLine // room for one: the command's goroutine never waits for the conversation
	stop    context.CancelFunc
	shown   wire.StatusLine
	told    string // the failure that was told
}

type cameLine struct {
	line wire.StatusLine
	err  error
}

// ownPause is how long changes are gathered before the status line runs again, and ownRows how many rows of it are
// shown.
const (
	ownPause = 300 * time.Millisecond
	ownRows  = 3
)

// stand says anew what the conversation works with, in the line of our own and in that of the settings.
func stand(v *conversation) {
	v.board.status = statusLine(v)
	v.own.want()
}

// want has the line run, soon.
func (o *ownLine) want() {
	if !o.on {
		return
	}
	if o.running || o.due != nil {
		o.wanted = o.running
		return
	}
	o.due = time.After(ownPause)
}

// run begins to run the line for what the conversation is now.
func (o *ownLine) run(ctx context.Context, v *conversation) {
	model, mode, _ := v.standing()
	q := wire.StatusQuery{Cwd: v.trees.next.Cwd, Model: model, Mode: mode, Columns: v.width()}
	if v.tree != nil {
		q.Root = v.tree.root
	}
	ctx, o.stop = context.WithCancel(ctx)
	o.due, o.running = nil, true
	setup, came := v.trees.api.Setup(), o.came
	go func() {
		line, err := setup.StatusLine(ctx, q)
		came <- cameLine{line, err}
	}()
}

// take shows what the line said. A failure is told once.
func (o *ownLine) take(v *conversation, c cameLine) {
	o.stop()
	o.running = false
	if c.err != nil {
		c.line.Failed = c.err.Error()
	}
	if c.line.Failed != "" && c.line.Failed != o.told {
		v.say("troupe: the status line of the settings fails: " + console.Clean(c.line.Failed))
		o.told = c.line.Failed
	}
	v.own.shown = c.line
	v.board.own = ownText(c.line, v.width(), v.color)
	v.flow("")
	if o.wanted {
		o.wanted = false
		o.want()
	}
}

// close ends the line, and waits until nothing of it runs.
func (o *ownLine) close() {
	if o.running {
		o.stop()
		<-o.came
		o.running = false
	}
}

// ownText is what a status line printed, as rows of the screen: its colors stay, where there are any, and nothing else
// that moves a terminal.
func ownText(line wire.StatusLine, width int, color bool) (rows []string) {
	padding := min(line.Padding, max(width-20, 0))
	for text := range strings.Lines(strings.TrimRight(line.Text, "\n")) {
		if len(rows) == ownRows {
			break
		}
		text = strings.Repeat(" ", padding) + harmless(strings.TrimRight(text, "\r\n"), color)
		rows = append(rows, ansi.Truncate(text, max(width-1, 20), "…"))
	}
	return rows
}

// harmless is a line of a program without what a terminal would act on. Its colors stay if color is set, and end with
// the line.
func harmless(text string, color bool) string {
	var b strings.Builder
	colored := false
	for state := byte(0); text != ""; {
		seq, width, n, next := ansi.DecodeSequence(text, state, nil)
		text, state = text[n:], next
		switch {
		case width > 0 || seq >= "\u00a0": // what joins to the character before has no width
			b.WriteString(console.Clean(seq))
		case seq == "\t":
			b.WriteByte(' ')
		case isColor(seq) && color:
			b.WriteString(seq)
			colored = true
		}
	}
	if colored {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// isColor: it sets how text is drawn, and does nothing else.
func isColor(seq string) bool {
	rest, ok := strings.CutPrefix(seq, "\x1b[")
	rest, ends := strings.CutSuffix(rest, "m")
	return ok && ends && strings.Trim(rest, "0123456789;:") == ""
}
