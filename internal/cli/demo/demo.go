package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/cli/run"
	"github.com/troupe-dev/troupe/internal/wire"
)

// New makes the command.
func New(c *console.Console) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use: "demo [plan|fork|worktrees|coordinator|team]", Short: "Watch a whole run, offline and without a key",
		Long: `Copies a small Go project with a login bug into a temporary folder and has a team of agents
find it, fix it and check the fix. The agents' words come from a file; every tool call is
real, and so is what is measured: the diff, the tests, the durations.

With the word plan an agent looks first, asks a question, and writes a plan. Only when that
is approved does it change anything. The demo answers in your place, and says what.

With the word fork an agent finds out what is wrong, and two copies of it take care of what is
left at once: they know what it knows, at about a tenth of what telling them would cost.

With the word worktrees three agents change the same files, each in a git worktree of its own;
two merge by themselves, and the conflict of the third goes back to it. It needs git.

With the word coordinator the agent that you talk to reads and runs nothing: its workers look,
leave what they find in a folder that all share, change one line, and check it.

With the word team two agents share a list of tasks and write to each other; one waits, at no
cost, until the other has done what its task needs.`,
		Example: "troupe demo\ntroupe demo plan\ntroupe demo fork --keep\ntroupe demo worktrees\n" +
			"troupe demo coordinator\ntroupe demo team",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && scenes()[args[0]] == nil {
				return console.Usage("there is no demo %q; there is `troupe demo`, and with a word: %s", args[0],
					strings.Join(slices.Sorted(maps.Keys(scenes())), ", "))
			}
			return console.Args(0, 1)(cmd, args)
		},
		ValidArgs: slices.Sorted(maps.Keys(scenes())),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := fixing()
			if len(args) > 0 {
				s = scenes()[args[0]]()
			}
			return execute(cmd.Context(), c, s, keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "Keep the folder, to look around in it afterwards")
	return cmd
}

func execute(ctx context.Context, c *console.Console, s scene, keep bool) (err error) {
	temp, err := home.MakeTemp("demo-")
	if err != nil {
		return err
	}
	defer func() {
		if keep {
			err = errors.Join(err, temp.Keep())
		} else {
			err = errors.Join(err, temp.Remove())
		}
	}()
	dir := temp.Path
	project, script := filepath.Join(dir, "porch"), filepath.Join(dir, "script.yaml")
	if err := os.Mkdir(project, 0o755); err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	if err := unpackProject(project); err != nil {
		return err
	}
	if s.git {
		if err := commitProject(ctx, project); err != nil {
			return err
		}
	}
	d := demo{c: c, scene: s, home: filepath.Join(dir, "home"), project: project, script: script, bold: "%s"}
	if err := os.WriteFile(script, d.replies(d.home), 0o600); err != nil {
		return fmt.Errorf("write the demo's script: %w", err)
	}
	if c.Color(c.OutTTY) {
		d.bold = "\x1b[1m%s\x1b[0m"
	}
	if err := d.play(ctx); err != nil {
		return err
	}
	if keep {
		fmt.Fprintf(c.Out, "\nKept in %s. Look around:\n  cd %s && TROUPE_HOME=%s troupe show main\n", dir, d.project,
			d.home)
		if s.git {
			fmt.Fprintf(c.Out, "  git -C %s branch --list 'troupe/*'\n", d.project)
		}
	}
	return nil
}

type demo struct {
	scene

	c             *console.Console
	home, project string
	script, bold  string
}

func (d demo) head(text string) { fmt.Fprintf(d.c.Out, "\n"+d.bold+"\n", text) }

func (d demo) play(ctx context.Context) error {
	// A home of its own: the demo shows in nobody's list of sessions and follows nobody's rules.
	c := *d.c
	c.Global.Server = home.Here
	c.Lookup = func(name string) (string, bool) {
		switch name {
		case "TROUPE_HOME":
			return d.home, true
		case "HOME":
			return d.home, true
		}
		return d.c.Lookup(name)
	}
	c.Err, c.ErrTTY = d.c.Out, d.c.OutTTY
	fmt.Fprintf(c.Out, d.bold+"\n", "$ troupe -p "+d.flags+"\""+d.begin.Prompt+"\"")
	fmt.Fprintln(c.Out, "Scripted model: the agents' words come from a file. Every tool call is real.")
	fmt.Fprintln(c.Out)
	return c.With(ctx, troupe.SurfaceHeadless, func(h *home.Home) error {
		begin := d.begin
		begin.Cwd, begin.Model = d.project, "script:"+d.script
		answering, done := context.WithCancel(ctx)
		defer done()
		said := make(chan []exchange, 1)
		go func() { said <- answer(answering, h.API) }()
		report, err := run.Follow(ctx, &c, h.API, begin, run.Output{Live: true})
		done()
		asked := <-said
		if err != nil {
			return err
		}
		if report.Status != troupe.Completed {
			return &troupe.UserError{Problem: fmt.Sprintf("the demo ended as %s: %s", report.Status, report.Error),
				Hint: needs("go")}
		}
		d.tell(asked)
		return d.conclude(ctx, h.API, report)
	})
}

func (d demo) conclude(ctx context.Context, a api.API, report wire.Report) error {
	out := d.c.Out
	d.head("What main reports")
	fmt.Fprintln(out, console.Clean(strings.TrimSpace(report.Result)))
	d.head("What changed on disk")
	diff, err := d.diff()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, d.paint(strings.TrimRight(diff, " \n")))
	tests, err := d.tests(ctx, a, report)
	if err != nil {
		return err
	}
	if tests != "" {
		d.head("What the runtime saw of the tests")
		fmt.Fprint(out, tests)
	}
	d.head("What it took")
	run.Table(d.c, report)
	bill, err := a.Cost(ctx, report.SessionID)
	if err != nil {
		return err
	}
	if text := console.Shared(bill.Shared); text != "" {
		fmt.Fprintln(out, text)
	}
	fmt.Fprintln(out, "\nThe model was scripted: tokens and prices are the script's figures; no money was spent.")
	return nil
}

// paint colours a diff, if there is colour.
func (d demo) paint(diff string) string {
	if d.bold == "%s" {
		return diff
	}
	lines := strings.Split(diff, "\n")
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l, "+"):
			lines[i] = "\x1b[32m" + l + "\x1b[0m"
		case strings.HasPrefix(l, "-"):
			lines[i] = "\x1b[31m" + l + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}

// diff compares the project with what was unpacked.
func (d demo) diff() (string, error) {
	before := make(map[string]string)
	for _, f := range txtar.Parse(loginProject).Files {
		before[f.Name] = string(f.Data)
	}
	var out strings.Builder
	err := filepath.WalkDir(d.project, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if err == nil && e.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.project, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		out.WriteString(udiff.Unified("a/"+name, "b/"+name, before[name], string(data)))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("compare the project: %w", err)
	}
	return out.String(), nil
}

// tests lists every command that ran tests, in order, with what came out.
func (d demo) tests(ctx context.Context, a api.API, report wire.Report) (string, error) {
	var out strings.Builder
	for _, ag := range report.Agents {
		events, err := a.Events(ctx, ag.ID, 0, 0)
		if err != nil {
			return "", err
		}
		for _, e := range events {
			b, ok := e.Body.(troupe.ToolFinished)
			if !ok {
				continue
			}
			for _, cmd := range b.Evidence.Commands {
				if cmd.Tests == nil {
					continue
				}
				fmt.Fprintf(&out, "%-9s %-45s exit %d · %s: %d passed, %d failed\n", console.Line(ag.Name, 0),
					console.Line(cmd.Command, 45), cmd.ExitCode, cmd.Tests.Runner, cmd.Tests.Passed, cmd.Tests.Failed)
			}
		}
	}
	return out.String(), nil
}
