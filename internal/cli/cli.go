// Package cli is the command line: it puts the commands together and turns errors into
// messages and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"charm.land/fang/v2"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/cmd"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/demo"
	"github.com/troupe-dev/troupe/internal/cli/run"
)

const long = `Troupe runs a team of coding agents in a folder on your machine: you give it a task, and
sub-agents work on parts of it in parallel. Every step is saved before it takes effect: after a
crash, --resume continues the session. There is no telemetry.

Exit codes: 0 completed · 1 failed · 2 wrong usage or no provider · 3 ended because permission
was denied · 4 a limit was reached · 130 interrupted.`

const examples = `troupe -p "explain this project"
troupe -p --allowed-tools "Edit, Bash(go test ./...)" "fix the failing test"
git diff | troupe -p "review this change" --output-format json
troupe -p --resume 7k3f         # continue where it stopped
troupe show 7k3f                # its agents, what each did and cost
troupe demo                     # an example run, offline, without a key`

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, ver string) int {
	out := &console.Writer{W: os.Stdout}
	c := newConsole(ver, out)
	signals := make(chan os.Signal, 4)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		// What was started to ignore a signal (nohup) goes on ignoring it.
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	// A reader that went away is an error of the write, not the end of the agents. Ignored, the
	// signal would stay ignored in the commands that agents run, where it ends whoever writes
	// to nobody; so it is taken, and dropped.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	hangUp := c.HangUp
	go func() {
		for s := range signals {
			if s == syscall.SIGQUIT {
				dump(c)
				c.Interrupts.Leave(exitQuit)
			}
			if s == syscall.SIGHUP && hangUp != nil {
				close(hangUp)
				hangUp = nil
			}
			c.Interrupts.Raise()
		}
	}()
	root := newRoot(c)
	unwrapHelp(root)
	dress(ctx, root, ver)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if c.Unread(out, err) {
		return troupe.ExitUnread
	}
	if err != nil {
		complain(c, err)
	}
	if werr := out.Err(); werr != nil && console.Code(err) == troupe.ExitOK {
		complain(c, werr)
		err = werr
	}
	return console.Code(err)
}

// dress gives the commands the help and the version that fang has for them. It runs none of them: before it says an
// error, fang asks the terminal for its colors, and what does that in the background is stopped by the system.
func dress(ctx context.Context, root *cobra.Command, ver string) {
	nothing := &cobra.Command{Use: "nothing", Hidden: true, Run: func(*cobra.Command, []string) {},
		PersistentPreRun: func(*cobra.Command, []string) {}}
	root.AddCommand(nothing)
	root.SetArgs([]string{"nothing"})
	if err := fang.Execute(ctx, root, fang.WithVersion(ver), fang.WithoutManpage()); err != nil {
		panic("a command that does nothing has failed: " + err.Error())
	}
	root.RemoveCommand(nothing)
}

func newConsole(ver string, out io.Writer) *console.Console {
	// Sessions know their folder by its real name.
	cwd, err := os.Getwd()
	if err == nil {
		cwd, err = filepath.EvalSymlinks(cwd)
	}
	if err != nil {
		cwd = "" // it was removed while somebody stood in it; nothing may run somewhere else instead
	}
	c := &console.Console{
		In: os.Stdin, Out: out, Err: os.Stderr,
		InPiped: piped(os.Stdin), InTTY: term.IsTerminal(os.Stdin.Fd()), OutTTY: term.IsTerminal(os.Stdout.Fd()),
		ErrTTY: term.IsTerminal(os.Stderr.Fd()),
		Lookup: os.LookupEnv, Environ: os.Environ(), Cwd: cwd, Version: ver, Now: time.Now,
		Interrupts: &console.Interrupts{Leave: os.Exit}, Ran: new(atomic.Bool),
	}
	c.Width = width(c)
	c.Serve, c.HangUp = true, make(chan struct{})
	return c
}

// width is what COLUMNS says, else the terminal's.
func width(c *console.Console) int {
	if v, ok := c.Lookup("COLUMNS"); ok {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			return n
		}
	}
	if n, _, err := term.GetSize(os.Stderr.Fd()); err == nil && c.ErrTTY {
		return n
	}
	return 0
}

// piped reports whether there is something to read: a pipe or a file, as opposed to a
// terminal, /dev/null or a closed descriptor.
func piped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular())
}

func newRoot(c *console.Console) *cobra.Command {
	root := &cobra.Command{
		Use: "troupe [prompt]", Short: "A team of coding agents in your folder", Long: long, Example: examples,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.PersistentFlags().StringVar(&c.Global.Debug, "debug", "", "Append a log to this file (it holds no secrets)")
	root.PersistentFlags().StringVar(&c.Global.Server, "server", "",
		"Use the sessions of a server: its address, or here for "+
			"this machine's (default: where troupe login said)")
	root.SetFlagErrorFunc(console.FlagError)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.HasParent() { // a conversation draws its screen itself
			c.Fit()
		}
	}
	if c.OutTTY && c.Width > 0 {
		root.SetOut(console.FitFile(os.Stdout, c.Width)) // for the help
	}
	run.Configure(root, c)
	root.AddCommand(cmd.All(c, cmd.Runner{Parse: run.Parse, Execute: run.Execute, End: run.End})...)
	root.AddCommand(run.NewTeam(c), run.NewWake(c), demo.New(c))
	return root
}

// complain prints an error the way people read it: what happened, and what to do next.
func complain(c *console.Console, err error) {
	text := strings.TrimSpace(err.Error())
	if text == "" {
		return
	}
	if errors.Is(err, troupe.ErrDamaged) && !strings.Contains(text, "--repair") {
		text += "\n`troupe doctor` names the file and what is damaged; `troupe doctor --repair` saves what can be read."
	}
	fmt.Fprintln(c.Err, c.FitErr("troupe: "+console.Clean(text)))
}
