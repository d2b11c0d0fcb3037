package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Runner is what both commands need of the one that runs prompts.
type Runner struct {
	// Parse reads arguments as `troupe` itself does.
	Parse func(c *console.Console, args []string, otherwise string) (run.Asked, error)
	// Execute carries out what was asked for and shows it; a player, if there is one, plays it.
	Execute func(ctx context.Context, c *console.Console, h *home.Home, asked run.Asked, p *home.Player) (wire.Report,
		error)
	// End prints what it came to. The error carries the exit code.
	End func(c *console.Console, report wire.Report, asked run.Asked) error
}

// newRecord makes `troupe record`.
func newRecord(c *console.Console, runner Runner) *cobra.Command {
	var from string
	var force bool
	cmd := &cobra.Command{
		Use:   "record FILE -- [arguments of troupe]",
		Short: "Run a prompt and record its model calls and tool results to a file",
		Long: `Run troupe with the arguments after -- and write every model call and tool result of all
agents to FILE. It records one prompt, or a conversation over a pipe (text lines or
stream-json). Credentials are masked, as in the log. With --from, nothing is run: an existing
session, such as a conversation at a terminal, is written to FILE.`,
		Example: "troupe record fix.jsonl -- -p \"fix the failing test\" --allowed-tools Edit\n" +
			"troupe record fix.jsonl --from 7k3f",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, args, err := splitFile(cmd, args)
			if err != nil {
				return err
			}
			switch {
			case from != "" && len(args) > 0:
				return console.Usage("--from exports an existing session; " +
					"nothing is run, so nothing can stand behind --")
			case from != "":
				return exportRecording(cmd.Context(), c, file, force, from)
			case len(args) == 0 && cmd.ArgsLenAtDash() >= 0 && c.InPiped:
				// A conversation with nothing but its words. A replay takes no arguments for none remembered.
				args = []string{"--input-format", "text"}
			case len(args) == 0:
				return console.Usage("troupe record needs something to run behind --, or a session with --from")
			}
			return record(cmd.Context(), c, runner, file, force, args)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "Export this session, by id, beginning of an id, or name")
	cmd.Flags().BoolVar(&force, "force", false, "Overwrite FILE if it exists")
	cmd.SetFlagErrorFunc(misplaced)
	return cmd
}

// misplaced explains a flag that the command does not have: most often it is one of troupe's
// own, and what has to stand before it is missing.
func misplaced(cmd *cobra.Command, err error) error {
	return &troupe.UserError{
		Problem: err.Error(),
		Hint:    fmt.Sprintf("What is to be run stands behind --: troupe %s FILE -- -p \"...\"", cmd.Name()),
		Code:    troupe.ExitUsage, Err: err,
	}
}

// splitFile parts FILE from the arguments behind --.
func splitFile(cmd *cobra.Command, args []string) (string, []string, error) {
	before := args
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		before, args = args[:at], args[at:]
	} else {
		args = nil
	}
	if len(before) != 1 || before[0] == "" {
		return "", nil, console.Usage("troupe %s takes one file, and behind -- what is to be run: "+
			"troupe %s FILE -- -p \"...\"", cmd.Name(), cmd.Name())
	}
	return before[0], args, nil
}

// wholePath makes a file's path whole: --cwd is about the agents' folder, not about ours.
func wholePath(c *console.Console, file string) string {
	if filepath.IsAbs(file) || c.Cwd == "" {
		return file
	}
	return filepath.Join(c.Cwd, file)
}

func record(ctx context.Context, c *console.Console, runner Runner, file string, force bool, args []string) error {
	if err := console.HereOnly(c, "troupe record"); err != nil {
		return err
	}
	file = wholePath(c, file)
	if err := checkFree(file, force); err != nil {
		return err
	}
	// A run of an hour shall not find out at its end that there is nowhere to write to.
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return &troupe.UserError{
			Problem: fmt.Sprintf("%s cannot be written: there is no folder %s", file, filepath.Dir(file)),
			Hint:    "Make it first.", Code: troupe.ExitUsage, Err: err,
		}
	}
	asked, err := runner.Parse(c, args, "")
	switch {
	case err != nil:
		return err
	case asked.Person:
		return &troupe.UserError{
			Problem: "a conversation at a terminal is not recorded while it is held: nothing was run",
			Hint: "Hold it with troupe, then: troupe record FILE --from main. " +
				"Or have its words come from a pipe, or run one prompt with -p.", Code: troupe.ExitUsage,
		}
	case asked.Resumes():
		return &troupe.UserError{
			Problem: "a recording begins where its run begins; " +
				"it cannot begin with --resume or --continue: nothing was run",
			Hint: "Go on with the session by itself, then: troupe record FILE --from ID", Code: troupe.ExitUsage,
		}
	}
	return c.With(ctx, troupe.SurfaceHeadless, func(h *home.Home) error {
		report, err := runner.Execute(ctx, c, h, asked, nil)
		if err != nil {
			return err
		}
		// What it cost to make is kept before anything else can go wrong.
		err = saveRecording(ctx, c, h, file, force, report.SessionID, args)
		return errors.Join(err, runner.End(c, report, asked))
	})
}

// checkFree refuses a file that is there, before anything runs.
func checkFree(file string, force bool) error {
	if force {
		return nil
	}
	return orReplace(home.CheckUnused(file))
}

func orReplace(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return hinted(err, "--force replaces it.")
	}
	return err
}

func saveRecording(ctx context.Context, c *console.Console, h *home.Home, file string, force bool,
	root troupe.SessionID, args []string) error {
	rec, err := h.Record(ctx, root, args)
	if err != nil {
		return err
	}
	if err := home.Save(file, rec, force); err != nil {
		return orReplace(err)
	}
	c.Warn(fmt.Sprintf("recorded %d model calls of session %s in %s", rec.Calls(), root, c.ShortPath(file)))
	if sent := home.DescribeSent(rec); sent != "" {
		c.Warn("this recording can be read, and not replayed: while the run was at work a person sent it " + sent)
	}
	return nil
}

func exportRecording(ctx context.Context, c *console.Console, file string, force bool, ref string) error {
	file = wholePath(c, file)
	if err := checkFree(file, force); err != nil {
		return err
	}
	return c.With(ctx, troupe.SurfaceHeadless, func(h *home.Home) error {
		s, err := h.API.Find(ctx, ref, c.Cwd)
		if err != nil {
			return err
		}
		return saveRecording(ctx, c, h, file, force, s.Root, nil)
	})
}
