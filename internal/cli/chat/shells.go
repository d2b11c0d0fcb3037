package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
		if t.Kind != troupe.TaskShell || string(t.ID) != word && t.Path+"/"+string(t.ID) != word {
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
	text, whole, err := tailOf(t.Output)
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
	end := "── end of " + string(t.ID)
	if !whole {
		end = "── that is its end; all of it: " + console.Line(t.Output, 0)
	}
	v.say(end)
	return nil
}

// tailOf reads the end of a file, and says whether that is all of it.
func tailOf(name string) (text string, whole bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", false, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	from := max(0, info.Size()-outputTail)
	data, err := io.ReadAll(io.NewSectionReader(f, from, outputTail))
	text = strings.ToValidUTF8(string(data), "\uFFFD")
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, from == 0, err
}
