package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/reach"
	"github.com/troupe-dev/troupe/internal/wire"
)

type answerHome interface {
	reach.Home
	Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error)
}

// answered is what --json prints.
type answered struct {
	Request string `json:"request"`
	Allow   bool   `json:"allow"`
	Session bool   `json:"session"`
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
		Use: "answer REQUEST allow|deny", Short: "Allow or deny what an agent asked for",
		Long: `Answer a request, from any terminal. REQUEST is its id, as troupe requests shows it, or any
beginning of it that no other has; it may be left out while exactly one is open, and may stand
behind the word as well.`,
		Example: `troupe answer allow
troupe answer 9m20 deny --note "use the test database"
troupe answer 9m20 allow --session   # and the like of it, for all agents of the session
troupe answer 9m20 allow --always    # and written down, for this folder from now on`,
		Args: func(_ *cobra.Command, args []string) error {
			if _, _, ok := takeWord(args); !ok {
				return console.Usage("troupe answer takes a request and a word: troupe answer 9m20 allow, or deny")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, word, _ := takeWord(args)
			ans.Allow = word == allowWord
			if (ans.Session || ans.Always) && !ans.Allow {
				return console.Usage("--session and --always go with allow only")
			}
			return c.With(cmd.Context(), func(a *app.App) error {
				return answer(cmd.Context(), c, a, ref, ans, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&ans.Session, "session", false, "Allow the like of it from now on, in the whole session")
	cmd.Flags().BoolVar(&ans.Always, "always", false, "Allow it from now on, in this folder: the rule is written down")
	cmd.Flags().StringVar(&ans.Note, "note", "", "Words for the agent")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func answer(ctx context.Context, c *console.Console, h answerHome, args []string, a wire.Answer, asJSON bool) error {
	open, err := h.Requests(ctx, "")
	if err != nil {
		return err
	}
	r, err := chooseRequest(open, args)
	if err != nil {
		return err
	}
	if (a.Session || a.Always) && r.Grant == "" {
		return &troupe.UserError{
			Problem: fmt.Sprintf("no rule would allow %s from now on", r.ID),
			Hint:    fmt.Sprintf("Allow it this once: troupe answer %s allow", r.ID), Code: console.ExitUsage,
		}
	}
	return reach.Act(ctx, c, h, r.Root, func(p reach.Place) error {
		if err := p.Answer(ctx, r.ID, a); err != nil {
			return err
		}
		out := answered{Request: r.ID, Allow: a.Allow, Session: a.Session, Always: a.Always, Effect: "answered"}
		if !p.Tree.Running {
			out.Effect = "waits"
		}
		if asJSON {
			return c.JSON(out)
		}
		return tellAnswer(c, p, r, out)
	})
}

// chooseRequest finds the request that is meant.
func chooseRequest(open []wire.Request, args []string) (wire.Request, error) {
	if len(args) == 0 {
		switch len(open) {
		case 0:
			return wire.Request{}, &troupe.UserError{Problem: "no request is open", Hint: "Somebody may have answered it, or its time was over.", Code: console.ExitUsage, Err: troupe.ErrNotFound}
		case 1:
			return open[0], nil
		}
		return wire.Request{}, &troupe.UserError{
			Problem: fmt.Sprintf("%d requests are open; say which is meant", len(open)),
			Hint:    "`troupe requests` lists them.", Code: console.ExitUsage, Err: troupe.ErrAmbiguous,
		}
	}
	ref := args[0]
	var found []wire.Request
	for _, r := range open {
		if r.ID == ref {
			return r, nil
		}
		if ref != "" && strings.HasPrefix(r.ID, ref) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return wire.Request{}, &troupe.UserError{
			Problem: fmt.Sprintf("no open request begins with %q", ref),
			Hint:    "`troupe requests` lists them. Somebody may have answered it, or its time was over.", Code: console.ExitUsage, Err: troupe.ErrNotFound,
		}
	case 1:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i, r := range found {
		ids[i] = r.ID
	}
	return wire.Request{}, &troupe.UserError{
		Problem: fmt.Sprintf("%q begins the ids of several requests: %s", ref, strings.Join(ids, ", ")),
		Hint:    "Type more of the id.", Code: console.ExitUsage, Err: troupe.ErrAmbiguous,
	}
}

func tellAnswer(c *console.Console, p reach.Place, r wire.Request, out answered) error {
	word := "denied"
	switch {
	case out.Always:
		word = fmt.Sprintf("allowed, and %s from now on, which is written in %s", console.VisibleLine(r.Grant), console.VisibleLine(r.File))
	case out.Session:
		word = fmt.Sprintf("allowed, and %s from now on", console.VisibleLine(r.Grant))
	case out.Allow:
		word = "allowed"
	}
	_, err := fmt.Fprintf(c.Out, "%s: %s: %s\n", console.VisibleLine(r.Path), word, actionText(r))
	if err == nil && out.Effect == "waits" {
		_, err = fmt.Fprintln(c.Out, p.Later())
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
