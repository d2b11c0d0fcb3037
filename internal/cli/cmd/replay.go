package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/run"
)

// newReplay makes `troupe replay`.
func newReplay(c *console.Console, runner Runner) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "replay FILE -- [arguments of troupe]", Short: "Run a recorded prompt again, without a key, and compare",
		Long: `Run troupe with the arguments after --, or with the recorded ones if there are none. Models
give the recorded replies, tools return the recorded results without running, and permissions
are decided again. Messages of a recorded conversation are sent again; standard input is only
compared with them. The first request that differs from the recorded one is shown as a diff.
The replay keeps its data in a temporary folder and deletes it at the end.

Exit codes: that of the run if every request was the same; 1 if not.`,
		Example: "troupe replay fix.jsonl -- -p \"fix the failing test\" --allowed-tools Edit\n" +
			"troupe replay fix.jsonl --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, args, err := splitFile(cmd, args)
			if err != nil {
				return err
			}
			rec, err := home.Load(wholePath(c, file))
			if err != nil {
				return err
			}
			today := len(args) > 0
			if !today {
				args = rec.Header.Args
			}
			if len(args) == 0 {
				return console.Usage("%s does not say what was run; write it behind --", file)
			}
			return replay(cmd.Context(), c, runner, rec, args, today, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, `Print {"same", "calls", "mismatch"} instead of the result`)
	cmd.SetFlagErrorFunc(misplaced)
	return cmd
}

// parseReplay reads what is to be replayed. Nobody sits at a terminal there. Words that were piped in
// are today's if the arguments are, and else the recorded ones.
func parseReplay(
	c *console.Console, runner Runner, rec home.Recording, args []string, today bool,
) (asked run.Asked, said []string, err error) {
	desk := *c
	desk.InTTY = false
	if !c.InPiped || !today {
		desk.InPiped, desk.In = true, strings.NewReader("")
	}
	asked, err = runner.Parse(&desk, args, rec.Header.Prompt)
	if err != nil || asked.Way == run.InputPrompt || !c.InPiped || !today {
		return asked, nil, err
	}
	if said, err = chat.Said(c.In, asked.Way == run.InputJSON); err != nil {
		return asked, nil, fmt.Errorf("read standard input: %w", err)
	}
	if asked.Words != "" && len(said) > 0 {
		said = append([]string{asked.Words}, said...)
	}
	return asked, said, nil
}

// recordedWords is what a person said to the root, the first prompt included.
func recordedWords(p *home.Player) []string {
	first, _ := p.Prompt()
	out := []string{first}
	for _, m := range p.Words() {
		if m.Kind == troupe.MailPrompt {
			out = append(out, troupe.JoinText(m.Blocks))
		}
	}
	return out
}

// otherWords says how words differ from the recorded ones; "" if they do not. Those may have had
// files behind them. Lines that answered requests are words for nobody, and no matter. An empty
// input leaves it all to the recording.
func otherWords(said, then []string, mask func(string) string) string {
	if len(said) == 0 {
		return ""
	}
	n := 0
	for _, s := range said {
		s = mask(s)
		switch {
		case n < len(then) && sameWords(s, then[n]):
			n++
		case chat.IsAnswer(s):
		case n < len(then):
			return fmt.Sprintf("a person said something else (message %d):\n-%s\n+%s", n+1, console.Line(then[n], 200),
				console.Line(s, 200))
		default:
			return fmt.Sprintf("a person said more than the %d messages of the recording:\n+%s", len(then),
				console.Line(s, 200))
		}
	}
	if n < len(then) {
		return fmt.Sprintf("a person said less than the %d messages of the recording:\n-%s", len(then),
			console.Line(then[n], 200))
	}
	return ""
}

// sameWords compares words with recorded ones, behind which what they named may stand.
func sameWords(said, then string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(then), strings.TrimSpace(said))
	return ok && (rest == "" || rest[0] == '\n')
}

func replay(
	ctx context.Context, c *console.Console, runner Runner, rec home.Recording, args []string, today, asJSON bool,
) (err error) {
	asked, said, err := parseReplay(c, runner, rec, args, today)
	if err != nil {
		return err
	}
	asked.Output.Gone = true
	temp, err := home.MakeTemp("replay-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	variables, err := home.ReplayHome(temp.Path, rec)
	if err != nil {
		return err
	}
	stage := *c
	stage.Global.Server = home.Here
	stage.Lookup = func(name string) (string, bool) {
		if v, ok := variables[name]; ok {
			return v, true
		}
		return c.Lookup(name)
	}
	if asJSON {
		asked.Output = run.Output{Gone: true}
		stage.Out = io.Discard
	}
	return stage.With(ctx, troupe.SurfaceReplay, func(h *home.Home) error {
		p, err := h.Play(rec, asked.Begin.Cwd)
		if err != nil {
			return err
		}
		if text, _ := p.Prompt(); !today && asked.Way == run.InputPrompt && text != "" {
			asked.Begin.Prompt = text
		}
		if other := otherWords(said, recordedWords(p), h.Mask); other != "" {
			return reportDifference(c,
				home.Verdict{Mismatch: &home.Mismatch{Agent: "main", Reply: 1, Kind: "request", What: other}}, asJSON)
		}
		report, err := runner.Execute(ctx, &stage, h, asked, p)
		if err != nil {
			return err
		}
		v := p.Verdict()
		if !v.Same {
			return reportDifference(c, v, asJSON)
		}
		if asJSON {
			if err := c.JSON(v); err != nil {
				return err
			}
		}
		if asJSON {
			stage.Out, stage.Err = io.Discard, io.Discard // the exit code is all that is left to say
		}
		return runner.End(&stage, report, asked)
	})
}

// reportDifference tells the first difference.
func reportDifference(c *console.Console, v home.Verdict, asJSON bool) error {
	if asJSON {
		if err := c.JSON(v); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(c.Err, console.Clean("troupe: not as recorded: "+strings.TrimSpace(v.Mismatch.Error())))
	}
	return &console.Exit{Code: troupe.ExitFailed}
}
