package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// maxTrustLines is how many lines of what a folder would allow are shown.
const maxTrustLines = 30

// askTrust shows a person what a folder's own files would allow, before anything of it counts,
// and asks. Whatever is not a yes leaves it as it is.
func askTrust(ctx context.Context, c *console.Console, a api.Trusting, cwd string) error {
	list, err := a.Untrusted(ctx, cwd)
	if err != nil {
		return err
	}
	for _, u := range list {
		fmt.Fprintf(c.Out, "%s has settings of its own that would allow agents more than yours do",
			console.VisibleLine(c.ShortPath(u.Folder)))
		if u.Changed {
			fmt.Fprintf(c.Out, ", and they have changed since you trusted them")
		}
		fmt.Fprintln(c.Out, ":")
		for i, line := range u.Lines {
			if i == maxTrustLines {
				fmt.Fprintf(c.Out, "  … and %d more\n", len(u.Lines)-i)
				break
			}
			mark := " "
			for _, added := range u.Added {
				if added == line {
					mark = "+"
				}
			}
			fmt.Fprintf(c.Out, "  %s %s\n", mark, console.VisibleLine(line))
		}
		for _, line := range u.Gone {
			fmt.Fprintf(c.Out, "  - %s\n", console.VisibleLine(line))
		}
		if u.Wide != "" {
			fmt.Fprintf(c.Out, "Mind: %s.\n", console.VisibleLine(u.Wide))
		}
		fmt.Fprint(c.Out, "Trust them, until they change? "+
			"Without it Troupe works here with your own settings alone. y/n + Enter? ")
		word, err := readWord(c.In)
		if err != nil {
			return err
		}
		if word != "y" && word != "yes" {
			continue
		}
		if err := a.Trust(ctx, wire.Trust{Cwd: cwd, Folder: u.Folder, Hash: u.Hash}); err != nil {
			return err
		}
	}
	return nil
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
