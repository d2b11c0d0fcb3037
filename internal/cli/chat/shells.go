package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// command finds a command in the background by its id, also one that has ended; nil: there is none.
func (v *conversation) command(ctx context.Context, word string) (*wire.Task, error) {
	tasks, err := v.trees.api.Tasks(ctx, v.tree.root)
	if err != nil {
		return nil, err
	}
	var found *wire.Task
	for i, t := range tasks {
		if t.Kind.OfSession() || string(t.ID) != word && t.Path+"/"+string(t.ID) != word {
			continue
		}
		if found != nil {
			return nil, &troupe.UserError{Problem: fmt.Sprintf("several agents have a command %s", word),
				Hint: fmt.Sprintf("Name it with its agent: %s/%s.", found.Path, found.ID)}
		}
		found = &tasks[i]
	}
	return found, nil
}

// stopCommand ends a command in the background.
func (v *conversation) stopCommand(ctx context.Context, t *wire.Task) error {
	if t.Status != troupe.TaskRunning || t.Left {
		v.say(fmt.Sprintf("%s is not at work (%s).", t.ID, console.EndWord(string(t.Status))))
		return nil
	}
	err := v.tree.held(ctx, func() error {
		return v.trees.api.Stop(ctx, t.Session, wire.Stop{Task: t.ID})
	})
	if err == nil {
		v.say(fmt.Sprintf("%s is stopped; its agent is told.", t.ID))
	}
	return err
}

// orCommand shows a command, if one was found.
func orCommand(v *conversation, t *wire.Task, err error) error {
	if err != nil {
		return err
	}
	return showCommand(v, t)
}

// Bounds of what is shown of a command's output.
const (
	outputTail = 64 << 10
	outputRows = 40
)

// showCommand shows the end of what a command in the background has printed, and where all of it is.
func showCommand(v *conversation, t *wire.Task) error {
	text, end, err := tailOf(t.Output)
	whole := end <= outputTail
	switch {
	case t.Output == "" || errors.Is(err, fs.ErrNotExist):
		return &troupe.UserError{Problem: fmt.Sprintf("there is no output of %s any more", t.ID),
			Hint: "/tasks lists the commands in the background."}
	case err != nil:
		return fmt.Errorf("read the output of %s: %w", t.ID, err)
	}
	state := console.EndWord(string(t.Status))
	if t.Status == troupe.TaskRunning {
		state = "at work for " + console.Duration(t.DurationMS)
	}
	v.say(fmt.Sprintf("── %s %s · %s", t.ID, console.Line(t.Name, 100), state))
	lines := strings.Split(strings.TrimRight(console.Clean(text), "\n"), "\n")
	if over := len(lines) - outputRows; over > 0 {
		lines, whole = lines[over:], false
	}
	if len(lines) == 1 && lines[0] == "" {
		lines[0] = "(nothing was printed yet)"
	}
	v.flow(strings.Join(lines, "\n") + "\n")
	below := "── end of " + string(t.ID)
	if !whole {
		below = "── that is its end; all of it: " + console.Line(t.Output, 0)
	}
	v.say(below)
	return nil
}

// tailOf reads the last outputTail bytes of a file, and says where that ended.
func tailOf(name string) (text string, end int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	from := max(0, info.Size()-outputTail)
	data, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	text = strings.ToValidUTF8(string(data), "\uFFFD")
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, from + int64(len(data)), err
}

// output is what a command in the background prints while it is followed. All of it but the last line is whole.
type output struct {
	task  wire.Task
	at    int64 // what was shown of its file
	quiet int   // how often there was nothing new
}

// take is what was printed since. Of very much only the end is shown.
func (o *output) take() string {
	f, err := os.Open(o.task.Output)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil || info.Size() <= o.at {
		o.quiet++
		return ""
	}
	from, note := o.at, ""
	if skipped := info.Size() - outputTail - from; skipped > 0 {
		from += skipped
		note = fmt.Sprintf("… %d bytes are not shown here; all of it: %s\n", skipped, console.Line(o.task.Output, 0))
	}
	data, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return ""
	}
	o.at, o.quiet = from+int64(len(data)), 0
	text := console.Clean(strings.ToValidUTF8(string(data), "\uFFFD"))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return note + text
}

// ended reports whether the end of the command is among events.
func (o *output) ended(events []troupe.Event) bool {
	for _, e := range events {
		b, ok := e.Body.(troupe.MailDelivered)
		if ok && e.Session == o.task.Session && slices.ContainsFunc(b.Mail, func(m troupe.Mail) bool {
			return m.Ended != nil && !m.Ended.Kind.OfSession() && m.Ended.Task == o.task.ID
		}) {
			return true
		}
	}
	return false
}

// followCommand shows the end of what a command has printed, and what it prints from here on.
func (v *conversation) followCommand(t *wire.Task) error {
	text, end, err := tailOf(t.Output)
	if err != nil {
		return showCommand(v, t)
	}
	v.say(fmt.Sprintf("── %s %s · at work for %s", t.ID, console.Line(t.Name, 100), console.Duration(t.DurationMS)))
	lines := strings.Split(strings.TrimRight(console.Clean(text), "\n"), "\n")
	if over := len(lines) - pastRows(v.s.Height()); over > 0 {
		lines = lines[over:]
		v.say(fmt.Sprintf("… %s before; all of it: %s", console.Count(over, "line"), console.Line(t.Output, 0)))
	}
	if text != "" {
		v.flow(strings.Join(lines, "\n") + "\n")
	}
	v.stay(&transcript{id: t.Session, out: &output{task: *t, at: end}})
	return nil
}

// quietBeats is how often a command that is followed prints nothing before it is looked for: its end is told to
// its agent, which may be waiting for something else.
const quietBeats = 5

// lookAfter goes back to the conversation if the command that is followed has ended.
func (v *conversation) lookAfter(ctx context.Context) {
	if v.beside == nil || v.beside.out == nil || v.beside.out.quiet < quietBeats {
		return
	}
	o := v.beside.out
	o.quiet = 0
	t, err := v.command(ctx, o.task.Path+"/"+string(o.task.ID))
	if err == nil && t != nil && t.Status == troupe.TaskRunning && !t.Left {
		return
	}
	v.back()
	v.m.returned = v.board.now()
}
