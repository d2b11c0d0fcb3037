// Package requests is `troupe requests`: what agents ask for and nobody has answered yet.
package requests

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

type home interface {
	Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error)
}

// New makes the command.
func New(c *console.Console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "requests", Short: "List what agents ask for permission to do", Args: console.NoArgs,
		Long: `List the open requests of all sessions: who asks, why, and the exact action, with
characters that cannot be seen written out. Requests outlive the process that asked.`,
		Example: "troupe requests\ntroupe answer 9m20 allow",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd.Context(), func(a *app.App) error { return execute(cmd.Context(), c, a, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

func execute(ctx context.Context, c *console.Console, h home, asJSON bool) error {
	list, err := h.Requests(ctx, "")
	if err != nil {
		return err
	}
	if asJSON {
		if list == nil {
			list = []wire.Request{}
		}
		return c.JSON(list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.Out, "No requests are open.")
		return err
	}
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		Write(c.Out, r, c.Now())
	}
	return nil
}

// Write shows one request whole. Every line of what an agent wrote is marked, so that none
// of it can pass for words of ours.
func Write(w io.Writer, r wire.Request, now time.Time) {
	fmt.Fprintf(w, "%s  %s asks for %s\n", r.ID, Line(r.Path), Line(r.Tool))
	fmt.Fprintf(w, "  why      %s\n", Line(r.Why))
	if r.Rule != "" {
		fmt.Fprintf(w, "  rule     %s\n", Line(r.Rule))
	}
	for i, line := range strings.Split(Visible(strings.TrimRight(r.Action, "\n")), "\n") {
		label := ""
		if i == 0 {
			label = "action"
		}
		fmt.Fprintf(w, "  %-8s │ %s\n", label, line)
	}
	if r.Calls > 1 {
		fmt.Fprintf(w, "  calls    the answer is for %d calls\n", r.Calls)
	}
	fmt.Fprintf(w, "  since    %s (%s)%s\n", r.Since.Local().Format("2006-01-02 15:04:05"), console.Duration(now.Sub(r.Since).Milliseconds()), until(r, now))
	if !r.Running {
		fmt.Fprintf(w, "  waits    nobody is running it now; go on with: troupe -p --resume %s\n", r.Root)
	}
	always := ""
	if r.Grant != "" {
		always = fmt.Sprintf("   (--session: %s from now on)", Line(r.Grant))
	}
	fmt.Fprintf(w, "  answer   troupe answer %s allow|deny%s\n", r.ID, always)
}

func until(r wire.Request, now time.Time) string {
	switch left := r.Until.Sub(now); {
	case r.Until.IsZero():
		return ""
	case left <= 0:
		return ", its time is over"
	default:
		return fmt.Sprintf(", denied in %s unless answered", console.Duration(left.Milliseconds()))
	}
}

// Line is Visible on one line, with line breaks written out as well.
func Line(s string) string { return strings.ReplaceAll(Visible(s), "\n", `\n`) }

// Visible writes out every character that cannot be seen for what it is: controls, marks
// that turn the direction of writing, joiners, spaces that are not spaces, and bytes that are
// no characters. Lines stay lines.
func Visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == ' ':
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func hidden(r rune) bool {
	switch {
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800: // letters without ink
		return true
	}
	return !unicode.IsPrint(r)
}
