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
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Parts are what both commands need of the one that runs prompts.
type Parts struct {
	// Parse reads arguments as `troupe` itself does.
	Parse func(c *console.Console, args []string) (app.Request, run.Output, error)
	// Follow runs what was asked for and shows it; a player, if there is one, plays it.
	Follow func(ctx context.Context, c *console.Console, a *app.App, req app.Request, o run.Output, p *app.Player) (wire.Run, error)
	// Finish prints what it came to. The error carries the exit code.
	Finish func(c *console.Console, report wire.Run, o run.Output) error
}

// New makes `troupe record`.
func New(c *console.Console, parts Parts) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "record FILE -- [arguments of troupe]", Short: "Run a prompt and keep all that its agents sent and were answered",
		Long: `Runs what stands behind -- as troupe itself would, and writes every model call and tool
result of the whole tree to FILE. Credentials are masked, as in the log. With --from, nothing
is run: FILE gets a session that is there already.`,
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
				return export(cmd.Context(), c, file, from)
			case len(args) == 0:
				return console.Usage("troupe record needs something to run behind --, or a session with --from")
			}
			return record(cmd.Context(), c, parts, file, args)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "Export this session, by id, beginning of an id, or name")
	return cmd
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
		return "", nil, console.Usage("troupe %s takes one file, and what is to be run behind --", cmd.Name())
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

func record(ctx context.Context, c *console.Console, parts Parts, file string, args []string) error {
	file = within(c, file)
	// A run of an hour shall not find out at its end that there is nowhere to write to.
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return &troupe.UserError{Problem: fmt.Sprintf("%s cannot be written: there is no folder %s", file, filepath.Dir(file)), Hint: "Make it first.", Code: console.ExitUsage, Err: err}
	}
	req, out, err := parts.Parse(c, args)
	if err != nil {
		return err
	}
	return c.With(ctx, func(a *app.App) error {
		report, err := parts.Follow(ctx, c, a, req, out, nil)
		if err != nil {
			return err
		}
		// What it cost to make is kept before anything else can go wrong.
		err = save(ctx, c, a, file, report.SessionID, args)
		return errors.Join(err, parts.Finish(c, report, out))
	})
}

func save(ctx context.Context, c *console.Console, a *app.App, file string, root troupe.SessionID, args []string) error {
	rec, err := a.Record(ctx, root, args)
	if err != nil {
		return err
	}
	if err := app.SaveRecording(file, rec); err != nil {
		return err
	}
	c.Warn(fmt.Sprintf("recorded %d model calls of session %s in %s", rec.Calls(), root, c.ShortPath(file)))
	if n := len(rec.Person()); n > 0 {
		c.Warn(fmt.Sprintf("a person sent this run more while it was at work (%d in all); such a recording cannot be replayed yet", n))
	}
	return nil
}

func export(ctx context.Context, c *console.Console, file, ref string) error {
	return c.With(ctx, func(a *app.App) error {
		s, err := a.Find(ctx, ref, c.Cwd)
		if err != nil {
			return err
		}
		return save(ctx, c, a, within(c, file), s.Root, nil)
	})
}

// NewReplay makes `troupe replay`.
func NewReplay(c *console.Console, parts Parts) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "replay FILE -- [arguments of troupe]", Short: "Run a recorded prompt again, without a key, and compare",
		Long: `Runs what stands behind -- (or, without it, what was recorded) in a home of its own that is
thrown away. Models answer as they were recorded, tools return what they returned and do
nothing, and permissions are judged anew. The first request that is not the recorded one is
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
			if len(args) == 0 {
				args = rec.Header.Args
			}
			if len(args) == 0 {
				return console.Usage("%s does not say what was run; write it behind --", file)
			}
			return replay(cmd.Context(), c, parts, rec, args, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, `Print {"same", "calls", "mismatch"} instead of the result`)
	return cmd
}

func replay(ctx context.Context, c *console.Console, parts Parts, rec app.Recording, args []string, asJSON bool) (err error) {
	req, out, err := parts.Parse(c, args)
	if err != nil {
		return err
	}
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
		out = run.Output{}
	}
	return stage.With(ctx, func(a *app.App) error {
		p, err := a.Player(rec, req.Cwd)
		if err != nil {
			return err
		}
		report, err := parts.Follow(ctx, &stage, a, req, out, p)
		if err != nil {
			return err
		}
		v := p.Verdict()
		if asJSON {
			if err := c.JSON(v); err != nil {
				return err
			}
		}
		if !v.Same {
			if !asJSON {
				fmt.Fprintln(c.Err, console.Clean("troupe: not as recorded: "+strings.TrimSpace(v.Mismatch.Error())))
			}
			return &console.Exit{Code: console.ExitFailed}
		}
		if asJSON {
			stage.Out, stage.Err = io.Discard, io.Discard // the exit code is all that is left to say
		}
		return parts.Finish(&stage, report, out)
	})
}
