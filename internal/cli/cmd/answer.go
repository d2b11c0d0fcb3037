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
	var pick picked
	var edits bool
	cmd := &cobra.Command{
		// Without brackets: what writes the usage line would move an optional word to its end.
		Use: "answer REQUEST allow|deny", Short: "Answer a request: allow or deny it, or choose",
		Long: `Answer a request, from any terminal. REQUEST is its id, as troupe requests shows
it, or the beginning of its id. You can leave it out if exactly one request is open, and you
can also write it after allow or deny. A question is answered with --choice, --text or both in
the place of the word; deny says that you will not answer it. Allowing a plan ends plan mode;
deny --note WORDS says what to change.`,
		Example: `troupe answer allow
troupe answer 9m20 deny --note "use the test database"
troupe answer 9m20 allow --session   # and calls like it, for all agents of the session
troupe answer 9m20 allow --folder    # and for all files of the folder
troupe answer 9m20 allow --always    # and saves a rule for this folder
troupe answer 9m20 --choice SQLite   # of the options of a question, by label or number
troupe answer 9m20 --choice Store=2 --text "Name=billing"   # of several questions`,
		Args: func(_ *cobra.Command, args []string) error {
			ref, word, ok := takeWord(args)
			if pick.any() && !ok && len(args) < 2 {
				ref, ok = args, true
			}
			if pick.any() && word == denyWord {
				return console.Usage("--choice and --text answer a question; deny says that there is no answer")
			}
			if !ok {
				return console.Usage("troupe answer takes a request and a word: troupe answer 9m20 allow, or deny")
			}
			if len(ref) > 0 && ref[0] == "" {
				return console.Usage("the request is empty; is a variable not set?")
			}
			if word == denyWord && (ans.Session || ans.Wider || ans.Always || edits) {
				return console.Usage("--session, --folder, --always and --accept-edits go with allow only")
			}
			return nil
		},
		ValidArgsFunction: c.Requests,
		RunE: inHome(c, func(ctx context.Context, a api.API, args []string) error {
			ref, word, ok := takeWord(args)
			if !ok {
				ref = args
			}
			ans.Allow = word == allowWord || pick.any()
			if edits {
				ans.Mode = troupe.ModeAcceptEdits
			}
			return answer(ctx, c, a, ref, ans, pick, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&ans.Session, "session", false, "Allow it, and calls like it, for the rest of the session")
	cmd.Flags().BoolVar(&ans.Wider, "folder", false,
		"Allow it for all files of the same folder, for the rest of the session")
	cmd.Flags().BoolVar(&ans.Always, "always", false, "Always allow it in this folder: saves a rule")
	cmd.Flags().BoolVar(&edits, "accept-edits", false, "Of a plan: allow it, and edits in the folder without asking")
	cmd.Flags().StringArrayVar(&pick.choices, "choice", nil,
		"Of a question: an option, by label or number; QUESTION=OPTION where there are several questions")
	cmd.Flags().StringArrayVar(&pick.texts, "text", nil,
		"Of a question: an answer in your own words; of a tool that a client carries out: what came of it")
	cmd.Flags().StringVar(&ans.Note, "note", "", "Message for the agent")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func answer(ctx context.Context, c *console.Console, a api.API, ref []string, ans wire.Answer, pick picked,
	asJSON bool) error {
	r, err := a.Request(ctx, strings.Join(ref, ""))
	if err != nil {
		return err
	}
	if r.Kind == troupe.RequestTool && len(pick.choices) == 0 && len(pick.texts) > 0 {
		ans.Result = &troupe.Carried{Text: strings.Join(pick.texts, "\n")}
	} else if pick.any() {
		if ans.Answers, err = pick.answers(r); err != nil {
			return err
		}
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
	case out.Allow && r.Kind == troupe.RequestQuestion:
		word = "answered"
	case out.Allow && r.Kind == troupe.RequestPlan:
		word = "approved"
	case r.Kind == troupe.RequestPlan:
		word = "not approved; it goes on planning"
	case out.Allow:
		word = "allowed"
	}
	_, err := fmt.Fprintf(c.Out, "%s: %s: %s\n", console.VisibleLine(r.Path), word, actionText(r))
	if err == nil && out.Effect == "waits" {
		_, err = fmt.Fprintln(c.Out, console.Later(t))
	}
	return err
}

// actionText shows what was decided about: a change or a script by its lines, each marked, so that
// none of them can pass for words of ours.
func actionText(r wire.Request) string {
	lines := strings.Split(console.Source(strings.TrimRight(r.Action, "\n")), "\n")
	if len(lines) == 1 {
		return console.Line(lines[0], 100)
	}
	return console.VisibleLine(r.Tool) + "\n  │ " + strings.Join(lines, "\n  │ ")
}
