package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// askTrust shows a person what a folder's own files would allow, before anything of it counts,
// and asks. Whatever is not a yes leaves it as it is.
func askTrust(ctx context.Context, c *console.Console, a api.Trusting, cwd string) error {
	list, err := a.Untrusted(ctx, cwd)
	if err != nil {
		return err
	}
	for _, u := range list {
		if u.TooMuch != "" {
			if _, err := fmt.Fprintf(c.Out, "%s cannot be trusted, so Troupe works here with your own settings alone: "+
				"%s.\n", console.VisibleLine(c.ShortPath(u.Folder)), console.VisibleLine(u.TooMuch)); err != nil {
				return err
			}
			continue
		}
		if yes, err := asksFor(c, u); err != nil {
			return err
		} else if !yes {
			continue
		}
		if err := a.Trust(ctx, wire.Trust{Cwd: cwd, Folder: u.Folder, Hash: u.Hash}); err != nil {
			return err
		}
	}
	return nil
}

// asksFor shows all that a folder would allow, a screen at a time, and asks at its end. Before that there is only a no.
func asksFor(c *console.Console, u wire.Untrusted) (bool, error) {
	rows := trustRows(c, u)
	for page := pageRows(c); len(rows) > page; rows = rows[page:] {
		fmt.Fprintln(c.Out, strings.Join(rows[:page], "\n"))
		dropTyped(c.In)
		fmt.Fprintf(c.Out, "%s more. Enter shows them, n + Enter trusts nothing: ",
			console.Count(len(rows)-page, "row"))
		if word, err := readWord(c.In); err != nil || word == "n" || word == "no" {
			return false, err
		}
	}
	fmt.Fprintln(c.Out, strings.Join(rows, "\n"))
	dropTyped(c.In)
	question := "Trust them, until they change? Without it Troupe works here with your own settings alone"
	if u.Changed {
		question += ", and refuses what hooks that you had trusted look at"
	}
	question += ". y/n + Enter? "
	if _, err := fmt.Fprint(c.Out, console.WrapText(strings.TrimSpace(question), c.Width)+" "); err != nil {
		return false, err
	}
	word, err := readWord(c.In)
	return word == "y" || word == "yes", err
}

// dropTyped forgets what was typed at a terminal before a question stands there: it answers none. What was meant for
// the conversation is typed again. What is typed once the question is there counts, so this comes before it.
func dropTyped(in io.Reader) {
	if f, ok := in.(interface{ Fd() uintptr }); ok && term.IsTerminal(f.Fd()) {
		flush(int(f.Fd()))
	}
}

// pageRows is how many rows are shown at a time: as many as the terminal has, but for the question.
func pageRows(c *console.Console) int {
	const usual, least = 24, 6
	rows := usual
	if f, ok := c.Out.(interface{ Fd() uintptr }); ok {
		if _, n, err := term.GetSize(f.Fd()); err == nil && n > 0 {
			rows = n
		}
	}
	return max(rows-3, least)
}

// trustRows are what is shown of a folder, in rows of the terminal.
func trustRows(c *console.Console, u wire.Untrusted) (rows []string) {
	add := func(mark, text string) {
		const in = "  " // what goes on in a further row is not taken for another line
		room := 0
		if c.Width > 0 {
			room = max(c.Width-len(mark)-len(in), 1)
		}
		for i, row := range console.Wrap(console.VisibleLine(text), room) {
			if i == 1 {
				mark = strings.Repeat(" ", len(mark)) + in
			}
			rows = append(rows, mark+row)
		}
	}
	head := c.ShortPath(u.Folder) + " has settings of its own that would allow agents more than yours do"
	if u.Changed {
		head += ", and they have changed since you trusted them (+ new, - gone, ~ the file has other contents)"
	}
	add("", head+":")
	added := map[string]bool{}
	for _, line := range u.Added {
		added[line] = true
	}
	for _, line := range u.Lines {
		mark := "    "
		switch {
		case added[line]:
			mark = "  + "
		case slices.Contains(u.Edited, line):
			mark = "  ~ "
		}
		add(mark, line)
	}
	for _, line := range u.Gone {
		add("  - ", line)
	}
	if u.Wide != "" {
		add("", "Mind: "+u.Wide+".")
	}
	return rows
}

// readWord reads one line, and not a byte more: what follows is for the conversation.
func readWord(in io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for len(line) < 1<<10 {
		n, err := in.Read(b)
		if n > 0 && b[0] == '\n' {
			break
		}
		line = append(line, b[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("read the answer: %w", err)
		}
	}
	return strings.ToLower(strings.TrimSpace(string(line))), nil
}
