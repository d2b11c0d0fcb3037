package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// answered is what --json prints.
type answered struct {
	Request string `json:"request"`
	Allow   bool   `json:"allow"`
	Session bool   `json:"session"`
	Folder  bool   `json:"folder,omitempty"`
	Always  bool   `json:"always"`
	// Effect is "answered", or "waits" if nobody runs the session now.
	Effect string `json:"effect"`
}

const (
	allowWord = "allow"
	denyWord  = "deny"
)

// takeWord finds the word among the arguments; what is left is the request, if one is named. The
// word may come first or last.
func takeWord(args []string) (ref []string, word string, ok bool) {
	n := len(args)
	switch {
	case n < 1 || n > 2:
		return nil, "", false
	case args[n-1] == allowWord || args[n-1] == denyWord:
		return args[:n-1], args[n-1], true
	case args[0] == allowWord || args[0] == denyWord:
		return args[1:], args[0], true
	}
	return nil, "", false
}

// newAnswer makes the command.
func newAnswer(c *console.Console) *cobra.Command {
	var asJSON bool
	var ans wire.Answer
	cmd := &cobra.Command{
		// Without brackets: what writes the usage line would move an optional word to its end.
		Use: "answer REQUEST allow|deny", Short: "Allow or deny a permission request",
		Long: `Answer a permission request, from any terminal. REQUEST is its id, as troupe requests shows
it, or the beginning of its id. You can leave it out if exactly one request is open, and you
can also write it after allow or deny.`,
		Example: `troupe answer allow
troupe answer 9m20 deny --note "use the test database"
troupe answer 9m20 allow --session   # and calls like it, for all agents of the session
troupe answer 9m20 allow --folder    # and for all files of the folder
troupe answer 9m20 allow --always    # and saves a rule for this folder`,
		Args: func(_ *cobra.Command, args []string) error {
			ref, word, ok := takeWord(args)
			if !ok {
				return console.Usage("troupe answer takes a request and a word: troupe answer 9m20 allow, or deny")
			}
			if len(ref) > 0 && ref[0] == "" {
				return console.Usage("the request is empty; is a variable not set?")
			}
			if word == denyWord && (ans.Session || ans.Wider || ans.Always) {
				return console.Usage("--session, --folder and --always go with allow only")
			}
			return nil
		},
		ValidArgsFunction: c.Requests,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			ref, word, _ := takeWord(args)
			ans.Allow = word == allowWord
			return answer(ctx, c, a, ref, ans, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&ans.Session, "session", false, "Allow it, and calls like it, for the rest of the session")
	cmd.Flags().BoolVar(&ans.Wider, "folder", false,
		"Allow it for all files of the same folder, for the rest of the session")
	cmd.Flags().BoolVar(&ans.Always, "always", false, "Always allow it in this folder: saves a rule")
	cmd.Flags().StringVar(&ans.Note, "note", "", "Message for the agent")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func answer(ctx context.Context, c *console.Console, a api.API, ref []string, ans wire.Answer, asJSON bool) error {
	r, err := a.Request(ctx, strings.Join(ref, ""))
	if err != nil {
		return err
	}
	if (ans.Session || ans.Always) && r.Grant == "" {
		return &troupe.UserError{
			Problem: fmt.Sprintf("no rule would allow %s from now on", r.ID),
			Hint:    fmt.Sprintf("Allow it this once: troupe answer %s allow", r.ID), Code: troupe.ExitUsage,
		}
	}
	if ans.Wider {
		if r.Wider == "" {
			return &troupe.UserError{
				Problem: fmt.Sprintf("no rule about a folder would allow %s", r.ID),
				Hint:    fmt.Sprintf("Allow it alone: troupe answer %s allow", r.ID), Code: troupe.ExitUsage,
			}
		}
		r.Grant = r.Wider
	}
	t, err := a.Tree(ctx, r.Root)
	if err != nil {
		return err
	}
	if err := a.Answer(ctx, r.ID, ans); err != nil {
		return err
	}
	out := answered{Request: r.ID, Allow: ans.Allow, Session: ans.Session, Folder: ans.Wider,
		Always: ans.Always, Effect: "answered"}
	if !t.Running {
		out.Effect = "waits"
	}
	if asJSON {
		return c.JSON(out)
	}
	return tellAnswer(c, t, r, out)
}

func tellAnswer(c *console.Console, t wire.Tree, r wire.Request, out answered) error {
	word := "denied"
	switch {
	case out.Always:
		word = fmt.Sprintf("allowed, and %s from now on, which is written in %s", console.VisibleLine(r.Grant),
			console.VisibleLine(r.File))
	case out.Session || out.Folder:
		word = fmt.Sprintf("allowed, and %s for this session", console.VisibleLine(r.Grant))
	case out.Allow:
		word = "allowed"
	}
	_, err := fmt.Fprintf(c.Out, "%s: %s: %s\n", console.VisibleLine(r.Path), word, actionText(r))
	if err == nil && out.Effect == "waits" {
		_, err = fmt.Fprintln(c.Out, later(t))
	}
	return err
}

// actionText shows what was decided about: a change or a script by its lines, each marked, so that
// none of them can pass for words of ours.
func actionText(r wire.Request) string {
	lines := strings.Split(console.Visible(strings.TrimRight(r.Action, "\n")), "\n")
	if len(lines) == 1 {
		return console.Line(lines[0], 100)
	}
	return console.VisibleLine(r.Tool) + "\n  │ " + strings.Join(lines, "\n  │ ")
}
