package live

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// Board is the list of what is to be done in a tree, as its events tell it.
type Board struct {
	// Width is how much room a line has: of a long one the subject is cut, and not whose it is or what it waits for. 0:
	// none is cut.
	Width int

	items []troupe.BoardItem
	lines map[string]string // as they were told last
}

// Take follows an event. It returns a line for each item that reads otherwise now.
func (b *Board) Take(e troupe.BoardChanged) (lines []string) {
	for _, it := range e.Items {
		same := func(x troupe.BoardItem) bool { return x.ID == it.ID }
		switch i := slices.IndexFunc(b.items, same); {
		case it.Status == troupe.BoardDeleted:
			b.items = slices.DeleteFunc(b.items, same)
		case i < 0:
			b.items = append(b.items, it)
		default:
			b.items[i] = it
		}
		line := b.line(it, 0)
		if b.lines == nil {
			b.lines = make(map[string]string)
		}
		if b.lines[it.ID] != line {
			lines = append(lines, b.line(it, b.Width))
		}
		b.lines[it.ID] = line
	}
	return lines
}

// Read follows all that has happened to the board of a tree so far.
func (b *Board) Read(ctx context.Context, a api.Sessions, root troupe.SessionID) error {
	events, err := a.Events(ctx, root, 0, 0)
	if err != nil {
		return err
	}
	for _, e := range events {
		if changed, ok := e.Body.(troupe.BoardChanged); ok {
			b.Take(changed)
		}
	}
	return nil
}

// Write prints the items, with their comments below them.
func (b *Board) Write(w io.Writer) error {
	for _, it := range b.items {
		for _, l := range append([]string{b.line(it, b.Width)}, Comments(it, 0)...) {
			if _, err := fmt.Fprintln(w, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// Items are those that are on the board.
func (b *Board) Items() []troupe.BoardItem { return b.items }

// Lines are the items, one each.
func (b *Board) Lines() (lines []string) {
	for _, it := range b.items {
		lines = append(lines, b.line(it, b.Width))
	}
	return lines
}

// Short is as much of the list as fits into a few lines: from the first item that is not completed on. It is empty
// once all are.
func (b *Board) Short(most int) []string {
	first := slices.IndexFunc(b.items, func(x troupe.BoardItem) bool { return x.Status != troupe.BoardCompleted })
	if first < 0 {
		return nil
	}
	if len(b.items) <= most {
		return b.Lines()
	}
	done := 0
	for _, it := range b.items {
		if it.Status == troupe.BoardCompleted {
			done++
		}
	}
	from := min(first, len(b.items)-(most-1))
	lines := b.Lines()[from : from+most-1]
	return append(lines, fmt.Sprintf("… %d of %d are done", done, len(b.items)))
}

// itemLine is one item with its tick, and what is said behind its subject.
func itemLine(it troupe.BoardItem, behind string, width int) string {
	mark, text := "☐", it.Subject
	switch it.Status {
	case troupe.BoardPending:
	case troupe.BoardInProgress:
		mark = "▶"
		if it.ActiveForm != "" {
			text = it.ActiveForm
		}
	case troupe.BoardCompleted:
		mark = "☑"
	case troupe.BoardDeleted:
		mark, text = "✗", text+" (taken off the list)"
	}
	mark, text = mark+" "+it.ID+" ", console.Line(text, 160)
	if width > 0 {
		const least = 12
		text = ansi.Truncate(text, max(least, width-ansi.StringWidth(mark+behind)), "…")
	}
	return mark + text + behind
}

// line is an item with whose it is and what it waits for.
func (b *Board) line(it troupe.BoardItem, width int) string {
	var open []string
	for _, id := range it.BlockedBy {
		if slices.ContainsFunc(b.items, func(x troupe.BoardItem) bool {
			return x.ID == id && x.Status != troupe.BoardCompleted
		}) {
			open = append(open, id)
		}
	}
	behind := ""
	if it.Owner != "" {
		behind = " (" + console.Line(it.Owner, 40) + ")"
	}
	if len(open) > 0 && it.Status != troupe.BoardCompleted && it.Status != troupe.BoardDeleted {
		behind += ", waits for " + strings.Join(open, ", ")
	}
	return itemLine(it, behind, width)
}

// Comments are what agents have put down about an item from the n-th on, one line each.
func Comments(it troupe.BoardItem, n int) (lines []string) {
	for _, c := range it.Comments[min(n, len(it.Comments)):] {
		lines = append(lines, fmt.Sprintf("    %s: %s", console.Line(c.By, 40), console.Line(c.Text, 1000)))
	}
	return lines
}

// Team says what a session has become of a team it is.
func Team(b troupe.TeamChanged) string {
	if b.Team == nil {
		return "leads no team any more"
	}
	text := "leads the team " + b.Team.Name
	if b.Team.Description != "" {
		text += ": " + b.Team.Description
	}
	if len(b.Members) == 0 {
		return text
	}
	names := make([]string, len(b.Members))
	for i, m := range b.Members {
		names[i] = m.Name
	}
	return text + "; with " + strings.Join(names, ", ") + ", who wait for its words"
}

// TellsBoard reports whether a call that went well is told by what it changed on the list.
func TellsBoard(tool string) bool { return tool == "TaskCreate" || tool == "TaskUpdate" }
