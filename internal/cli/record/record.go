// Package record is `troupe record` and `troupe replay`: a run with all that its agents sent
// and were answered in one file, and the same run again from that file, without a key.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/chat"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Parts are what both commands need of the one that runs prompts.
type Parts struct {
	// Parse reads arguments as `troupe` itself does.
	Parse func(c *console.Console, args []string, otherwise string) (run.Asked, error)
	// Carry carries out what was asked for and shows it; a player, if there is one, plays it.
	Carry func(ctx context.Context, c *console.Console, a *app.App, asked run.Asked, p *app.Player) (wire.Run, error)
	// End prints what it came to. The error carries the exit code.
	End func(c *console.Console, report wire.Run, asked run.Asked) error
}

// New makes `troupe record`.
func New(c *console.Console, parts Parts) *cobra.Command {
	var from string
	var force bool
	cmd := &cobra.Command{
		Use: "record FILE -- [arguments of troupe]", Short: "Run a prompt and keep all that its agents sent and were answered",
		Long: `Runs what stands behind -- as troupe itself would, and writes every model call and tool
result of the whole tree to FILE: of one prompt, or of a conversation over a pipe, in lines of
words or of stream-json. Credentials are masked, as in the log. With --from, nothing is run:
FILE gets a session that is there already, such as a conversation at a terminal.`,
		Example: "troupe record fix.jsonl -- -p \"fix the failing test\" --allowed-tools Edit\ntroupe record fix.jsonl --from 7k3f",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, args, err := split(cmd, args)
			if err != nil {
				return err
			}
			switch {
			case from != "" && len(args) > 0:
				return console.Usage("--from exports a session that is there; nothing is run, so nothing can stand behind --")
			case from != "":
				return export(cmd.Context(), c, file, force, from)
			case len(args) == 0 && cmd.ArgsLenAtDash() >= 0 && c.InPiped:
				// A conversation with nothing but its words. A replay takes no arguments for none remembered.
				args = []string{"--input-format", "text"}
			case len(args) == 0:
				return console.Usage("troupe record needs something to run behind --, or a session with --from")
			}
			return record(cmd.Context(), c, parts, file, force, args)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "Export this session, by id, beginning of an id, or name")
	cmd.Flags().BoolVar(&force, "force", false, "Replace FILE if it is there")
	cmd.SetFlagErrorFunc(misplaced)
	return cmd
}

// misplaced explains a flag that the command does not have: most often it is one of troupe's
// own, and what has to stand before it is missing.
func misplaced(cmd *cobra.Command, err error) error {
	return &troupe.UserError{
		Problem: err.Error(),
		Hint:    fmt.Sprintf("What is to be run stands behind --: troupe %s FILE -- -p \"...\"", cmd.Name()), Code: console.ExitUsage, Err: err,
	}
}

// split parts FILE from the arguments behind --.
func split(cmd *cobra.Command, args []string) (string, []string, error) {
	before := args
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		before, args = args[:at], args[at:]
	} else {
		args = nil
	}
	if len(before) != 1 || before[0] == "" {
		return "", nil, console.Usage("troupe %s takes one file, and behind -- what is to be run: troupe %s FILE -- -p \"...\"", cmd.Name(), cmd.Name())
	}
	return before[0], args, nil
}

// within makes a file's path whole: --cwd is about the agents' folder, not about ours.
func within(c *console.Console, file string) string {
	if filepath.IsAbs(file) || c.Cwd == "" {
		return file
	}
	return filepath.Join(c.Cwd, file)
}

func record(ctx context.Context, c *console.Console, parts Parts, file string, force bool, args []string) error {
	file = within(c, file)
	if err := free(file, force); err != nil {
		return err
	}
	// A run of an hour shall not find out at its end that there is nowhere to write to.
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return &troupe.UserError{Problem: fmt.Sprintf("%s cannot be written: there is no folder %s", file, filepath.Dir(file)), Hint: "Make it first.", Code: console.ExitUsage, Err: err}
	}
	asked, err := parts.Parse(c, args, "")
	switch {
	case err != nil:
		return err
	case asked.Person:
		return &troupe.UserError{
			Problem: "a conversation at a terminal is not recorded while it is held: nothing was run",
			Hint:    "Hold it with troupe, then: troupe record FILE --from main. Or have its words come from a pipe, or run one prompt with -p.", Code: console.ExitUsage,
		}
	case asked.Goes():
		return &troupe.UserError{
			Problem: "a recording begins where its run begins; it cannot begin with --resume or --continue: nothing was run",
			Hint:    "Go on with the session by itself, then: troupe record FILE --from ID", Code: console.ExitUsage,
		}
	}
	return c.With(ctx, func(a *app.App) error {
		report, err := parts.Carry(ctx, c, a, asked, nil)
		if err != nil {
			return err
		}
		// What it cost to make is kept before anything else can go wrong.
		err = save(ctx, c, a, file, force, report.SessionID, args)
		return errors.Join(err, parts.End(c, report, asked))
	})
}

// free refuses a file that is there, before anything runs.
func free(file string, force bool) error {
	if force {
		return nil
	}
	return app.Unwritten(file)
}

func save(ctx context.Context, c *console.Console, a *app.App, file string, force bool, root troupe.SessionID, args []string) error {
	rec, err := a.Record(ctx, root, args)
	if err != nil {
		return err
	}
	if err := app.SaveRecording(file, rec, force); err != nil {
		return err
	}
	c.Warn(fmt.Sprintf("recorded %d model calls of session %s in %s", rec.Calls(), root, c.ShortPath(file)))
	if sent := rec.Person(); len(sent) > 0 {
		c.Warn("this recording can be read, and not replayed: while the run was at work a person sent it " + app.Unplayable(sent))
	}
	return nil
}

func export(ctx context.Context, c *console.Console, file string, force bool, ref string) error {
	file = within(c, file)
	if err := free(file, force); err != nil {
		return err
	}
	return c.With(ctx, func(a *app.App) error {
		s, err := a.Find(ctx, ref, c.Cwd)
		if err != nil {
			return err
		}
		return save(ctx, c, a, file, force, s.Root, nil)
	})
}

// NewReplay makes `troupe replay`.
func NewReplay(c *console.Console, parts Parts) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "replay FILE -- [arguments of troupe]", Short: "Run a recorded prompt again, without a key, and compare",
		Long: `Runs what stands behind -- (or, without it, what was recorded) in a home of its own that is
thrown away. Models answer as they were recorded, tools return what they returned and do
nothing, and permissions are judged anew. What a person said in a recorded conversation is
said again; standard input is then only compared with it. The first request that is not the recorded one is
shown as a diff.

Exit codes: that of the run if every request was the same; 1 if not.`,
		Example: "troupe replay fix.jsonl -- -p \"fix the failing test\" --allowed-tools Edit\ntroupe replay fix.jsonl --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, args, err := split(cmd, args)
			if err != nil {
				return err
			}
			rec, err := app.LoadRecording(within(c, file))
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
			return replay(cmd.Context(), c, parts, rec, args, today, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, `Print {"same", "calls", "mismatch"} instead of the result`)
	cmd.SetFlagErrorFunc(misplaced)
	return cmd
}

// parse reads what is to be replayed. Nobody sits at a terminal there. Words that were piped in
// are today's if the arguments are, and else the recorded ones.
func parse(c *console.Console, parts Parts, rec app.Recording, args []string, today bool) (asked run.Asked, said []string, err error) {
	desk := *c
	desk.InTTY = false
	if !c.InPiped || !today {
		desk.InPiped, desk.In = true, strings.NewReader("")
	}
	asked, err = parts.Parse(&desk, args, rec.Header.Prompt)
	if err != nil || asked.Way == run.Once || !c.InPiped || !today {
		return asked, nil, err
	}
	if said, err = chat.Said(c.In, asked.Way == run.Orders); err != nil {
		return asked, nil, fmt.Errorf("read standard input: %w", err)
	}
	if asked.Words != "" && len(said) > 0 {
		said = append([]string{asked.Words}, said...)
	}
	return asked, said, nil
}

// recorded is what a person said to the root, the first prompt included.
func recorded(p *app.Player) []string {
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
		case n < len(then) && same(s, then[n]):
			n++
		case chat.IsAnswer(s):
		case n < len(then):
			return fmt.Sprintf("a person said something else (message %d):\n-%s\n+%s", n+1, console.Line(then[n], 200), console.Line(s, 200))
		default:
			return fmt.Sprintf("a person said more than the %d messages of the recording:\n+%s", len(then), console.Line(s, 200))
		}
	}
	if n < len(then) {
		return fmt.Sprintf("a person said less than the %d messages of the recording:\n-%s", len(then), console.Line(then[n], 200))
	}
	return ""
}

// same compares words with recorded ones, behind which what they named may stand.
func same(said, then string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(then), strings.TrimSpace(said))
	return ok && (rest == "" || rest[0] == '\n')
}

func replay(ctx context.Context, c *console.Console, parts Parts, rec app.Recording, args []string, today, asJSON bool) (err error) {
	asked, said, err := parse(c, parts, rec, args, today)
	if err != nil {
		return err
	}
	asked.Output.Gone = true
	home, err := os.MkdirTemp("", "troupe-replay-")
	if err != nil {
		return fmt.Errorf("make a home for the replay: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return fmt.Errorf("make a home for the replay: %w", err)
	}
	variables, err := app.ReplayHome(home, rec)
	if err != nil {
		return err
	}
	stage := *c
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
	return stage.With(ctx, func(a *app.App) error {
		p, err := a.Player(rec, asked.Request.Cwd)
		if err != nil {
			return err
		}
		if text, _ := p.Prompt(); !today && asked.Way == run.Once && text != "" {
			asked.Request.Prompt = text
		}
		if other := otherWords(said, recorded(p), a.Mask); other != "" {
			return differs(c, app.Verdict{Mismatch: &app.Mismatch{Agent: "main", Reply: 1, Kind: "request", What: other}}, asJSON)
		}
		report, err := parts.Carry(ctx, &stage, a, asked, p)
		if err != nil {
			return err
		}
		v := p.Verdict()
		if !v.Same {
			return differs(c, v, asJSON)
		}
		if asJSON {
			if err := c.JSON(v); err != nil {
				return err
			}
		}
		if asJSON {
			stage.Out, stage.Err = io.Discard, io.Discard // the exit code is all that is left to say
		}
		return parts.End(&stage, report, asked)
	})
}

// differs tells the first difference.
func differs(c *console.Console, v app.Verdict, asJSON bool) error {
	if asJSON {
		if err := c.JSON(v); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(c.Err, console.Clean("troupe: not as recorded: "+strings.TrimSpace(v.Mismatch.Error())))
	}
	return &console.Exit{Code: console.ExitFailed}
}
