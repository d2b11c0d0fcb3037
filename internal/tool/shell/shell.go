// Package shell is the Bash tool: one command, run to its end and measured.
//
// A command gets a session and process group of its own, without a terminal and with nothing to read. When it ends, is
// cancelled or runs out of time, everything it started that is left is ended as well, first politely and then not. On
// Linux that is whoever bears the command's mark, in whatever group, session or place in the tree; elsewhere it is the
// group.
//
// A call in the background is the same, with more time, and writes what it prints to the log
// it was given, line by line, while it runs. Who asked for it holds its context and ends it.
//
// Should this process be killed, its commands die too. On Linux the kernel kills the shell when the thread that started
// it is gone, so all commands are started from one thread that lives as long as the Shell. What the shell had started
// by then belongs to its group or bears its mark, and a small watcher process, which notices our end by its pipe, kills
// them.
//
// A Shell may be used by many calls at once; commands in the foreground beyond a number that follows the
// processors wait for their turn, and their time begins when they begin. Each has two goroutines (one reads output, one
// waits for the exit); both have ended when Run returns. Starting is serial, as forking is
// anyway. Output is read as fast as it comes and what is kept of it is bounded, so a
// command that prints without end is slowed by nobody and fills nothing. Close waits for
// running calls.
package shell

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

//go:embed bash.md
var bashDoc string

const bash = "Bash"

const (
	defaultTimeout = 120_000 // milliseconds
	maxTimeout     = 600_000
	defaultLong    = 30 * 60_000 // in the background
	maxLong        = 24 * 60 * 60_000
	maxCommand     = 100 << 10 // bytes; the system takes 128 KB as one argument
)

// Options are what may differ from the default.
type Options struct {
	// LookPath finds the shell (bash, else sh); nil means exec.LookPath.
	LookPath func(name string) (string, error)
	// Grace is how long a process may take to end when asked to, before it is killed; 0
	// means one second.
	Grace time.Duration
	// Drain is how long output is still read after everything of the command has ended, in
	// case something that left its group holds on to the pipe; 0 means a quarter second.
	Drain time.Duration
	// Confine starts confined commands. Without it a command that is to be confined is not run.
	Confine Confine
}

// Shell is the Bash tool. It starts nothing before the first call.
type Shell struct {
	options Options
	starter *starter
	guard   *guard
	marks   *marks
	turns   turns
	// Commands of git that change one repository take turns as well.
	repositories repositories
}

// New returns a Shell. All agents of a process share one.
func New(o Options) *Shell {
	if o.LookPath == nil {
		o.LookPath = exec.LookPath
	}
	if o.Grace == 0 {
		o.Grace = time.Second
	}
	if o.Drain == 0 {
		o.Drain = 250 * time.Millisecond
	}
	m := newMarks()
	return &Shell{options: o, starter: newStarter(), guard: newGuard(m), marks: m,
		turns: turns{limit: commandsAtOnce()}}
}

// Close waits for running calls and releases the thread and the watcher. Later calls fail.
func (s *Shell) Close() error {
	s.starter.close()
	return s.guard.close()
}

type bashInput struct {
	command, description string
	timeout              int
	background           bool
}

func (in *bashInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "command", String: &in.command, Required: true, NotEmpty: true, MaxBytes: maxCommand},
		{Name: "timeout", Int: &in.timeout, Doc: "milliseconds; default 120000, most 600000; in the background 30 " +
			"minutes and 24 hours", Min: 1, Max: maxLong},
		{Name: "description", String: &in.description},
		{Name: "run_in_background", Bool: &in.background},
	}
}

// Tools returns Bash.
func (s *Shell) Tools() []tool.Descriptor {
	d := tool.Describe(troupe.ToolFacts{
		Name: bash, Class: troupe.ClassExec, Background: true, Argument: troupe.CommandArgument,
		Aliases: []string{"run_shell", "shell"},
		Misspellings: []string{
			"sh", "zsh", "terminal", "cmd", "command", "commands", "console", "powershell", "exec", "execute",
			"execcommand",
			"executecommand", "run", "runcommand", "runshellcommand", "runterminalcommand", "runterminalcmd",
			"shellcommand",
			"localshell", "bashcommand", "system",
		},
	}, bashDoc, new(bashInput).fields()).With(s)
	d.Close = s.Close
	return []tool.Descriptor{d}
}

// Prepare implements tool.Runner.
func (s *Shell) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	var in bashInput
	if err := tool.Decode(bash, input, in.fields()); err != nil {
		return nil, err
	}
	usual, most := defaultTimeout, maxTimeout
	if in.background {
		usual, most = defaultLong, maxLong
	}
	if in.timeout > most {
		return nil, &tool.InputError{Tool: bash, Problem: fmt.Sprintf("`timeout` must be at most %d, got %d; what "+
			"takes longer can run with run_in_background", most, in.timeout)}
	}
	if in.timeout == 0 {
		in.timeout = usual
	}
	return &call{
		shell: s, command: in.command, background: in.background, label: label(in.description, in.command),
		timeout: time.Duration(in.timeout) * time.Millisecond, most: most,
	}, nil
}

// Monitor is a command in the background each line of which is told. Whoever judges calls judges it as one of Bash.
func (s *Shell) Monitor(command, description string, timeout time.Duration) tool.Prepared {
	return &call{shell: s, command: command, background: true, monitor: true, label: label(description, command),
		timeout: timeout, most: maxLong}
}

type call struct {
	shell      *Shell
	command    string
	label      string
	background bool
	monitor    bool // each line that it prints is told
	timeout    time.Duration
	most       int // milliseconds that timeout could have been
	under      atomic.Pointer[underway]
	turn       atomic.Pointer[turn] // nil: it has to wait for one
}

// Access implements tool.Prepared.
func (c *call) Access() troupe.Access {
	out := troupe.Access{Class: troupe.ClassExec, Command: c.command}
	if c.monitor {
		out.Tool = bash
	}
	return out
}

// Preview implements tool.Previewer.
func (c *call) Preview(tool.Env) (string, bool) { return c.command, false }

// Background implements tool.Backgrounder.
func (c *call) Background() (name string, ok bool) { return c.label, c.background }

// Monitors implements tool.Monitor.
func (c *call) Monitors() bool { return c.monitor }

// printed is what becomes of what a command prints.
type printed interface {
	add(p []byte)
	close() // nothing more comes
	// report is what the model is told: how the command ended ("" is well), what else there
	// is to say, and the output, or where it is.
	report(ended, also string) string
}

// Run implements tool.Prepared.
func (c *call) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	defer c.LeaveTurn()
	if !c.TakeTurn(ctx, env, true) {
		return tool.Errorf("The command was not run: the call was cancelled before its turn came."), nil
	}
	out, err := c.output(env)
	under := newUnderway(out, c.LeaveTurn)
	if err != nil {
		return tool.Errorf("The command was not run: there is no place for its output: %v.", err), nil
	}
	began := time.Now()
	e, err := c.run(ctx, env, under)
	out, moved := under.end()
	if err != nil {
		return c.notStarted(env, err)
	}
	if e.moved = moved; moved {
		e.allowed = defaultLong * time.Millisecond
	}
	return c.result(e, out, time.Since(began)), nil
}

func (c *call) output(env tool.Env) (printed, error) {
	if env.Log != "" {
		return newJournal(env)
	}
	return newCapture(env), nil
}

// run is an error if the command could not be started.
func (c *call) run(ctx context.Context, env tool.Env, out *underway) (ending, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return ending{}, err
	}
	defer r.Close() //nolint:errcheck // only read from
	confined, all, err := c.start(env, w)
	_ = w.Close() // the command has its own; a failure would show as output that does not end
	if err != nil {
		return ending{}, err
	}
	p := confined.Process()
	defer c.shell.starter.done()
	defer c.shell.guard.remove(p.Pid)

	var tests recogniser
	told, by := newTeller(env.Shows), newLiner(env)
	defer told.end()
	held := make(chan bool, 1)
	go func() {
		held <- read(r, func(p []byte) {
			tests.add(p)
			out.add(p)
			told.add(p)
			by.add(p)
		})
	}()
	c.under.Store(out)
	e := c.shell.wait(ctx, p, all, c.timeout, out)
	_ = r.SetReadDeadline(time.Now().Add(c.shell.options.Drain)) // pipes support it
	e.held = <-held
	tests.end()
	by.end()
	e.tests = tests.count()
	if watched := confined.Done(); env.Confine != nil && env.Confine.Level != troupe.LevelNone {
		e.level, e.watched, e.cwd = env.Confine.Level.Meet(troupe.LevelWorkspace), &watched, env.Cwd
	}
	return e, nil
}

func (c *call) start(env tool.Env, out *os.File) (Confined, kin, error) {
	bin, err := c.shell.options.LookPath("bash")
	if err != nil {
		if bin, err = c.shell.options.LookPath("sh"); err != nil {
			return nil, kin{}, err
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, kin{}, err
	}
	defer null.Close() //nolint:errcheck // only read from
	argv, held, release, err := hold([]string{bin, "-c", "--", c.command}, c.shell.options.LookPath)
	if err != nil {
		return nil, kin{}, err
	}
	environ := slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool {
		return strings.HasPrefix(kv,
			"PWD=")
	})
	started, err := c.shell.starter.start(program{bin: argv[0], argv: argv, confine: c.shell.confine(env.Confine),
		attr: &os.ProcAttr{
			Dir:   env.Cwd,
			Env:   append(environ, "PWD="+env.Cwd), // never empty: an empty one would mean ours
			Files: append([]*os.File{null, out, out}, held...),
			Sys:   sysProcAttr(),
		}})
	if err != nil {
		release(false)
		return nil, kin{}, err
	}
	pid := started.Process().Pid
	c.shell.guard.add(pid)
	all := kin{group: pid, mark: c.shell.marks.put(pid)}
	release(true)
	return started, all, nil
}

func (c *call) notStarted(env tool.Env, err error) (tool.Output, error) {
	if errors.Is(err, errClosed) {
		return tool.Output{}, fmt.Errorf("run a command: %w", err)
	}
	if info, serr := os.Stat(env.Cwd); serr != nil || !info.IsDir() {
		return tool.Errorf("The command was not run: the working folder %s is not there.", env.Cwd), nil
	}
	if confined, ok := errors.AsType[*confinedError](err); ok {
		return tool.Errorf("The command was not run: %v.", confined), nil
	}
	return tool.Errorf("The command could not be started: %v.", err), nil
}

// result puts output and evidence together.
func (c *call) result(e ending, text printed, took time.Duration) tool.Output {
	out := tool.Output{Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{
		Command: c.command, ExitCode: e.code, DurationMS: took.Milliseconds(), Tests: e.tests, Sandbox: e.level,
		Watched: e.watched,
	}}}}
	var ended, left, held string
	switch {
	case e.timedOut && e.moved:
		ended, out.IsError = fmt.Sprintf("(Ended: it had not finished %v after it was moved to the background.)",
			e.allowed), true
	case e.timedOut:
		ended, out.IsError = fmt.Sprintf("(Ended: it had not finished after %v. timeout can be up to %d.)", c.timeout,
			c.most), true
	case e.cancelled && (c.background || e.moved):
		ended, out.IsError = "(Ended: it was stopped.)", true
	case e.cancelled:
		ended, out.IsError = "(Ended: the call was cancelled.)", true
	case e.signal != "":
		ended = fmt.Sprintf("(Ended by a signal: %s.)", e.signal)
	case e.code != 0:
		ended = fmt.Sprintf("(Exit code %d.)", e.code)
	}
	if e.leftovers {
		left = "(Processes it had left running were ended.)"
	}
	if e.held {
		held = "(Something it started still runs, outside its process group.)"
	}
	out.Blocks = []troupe.Block{troupe.Text(text.report(ended, lines(left, held)))}
	for _, told := range []string{refusals(e.watched, e.cwd), untraced(e.watched, out.Blocks[0].Text)} {
		if told != "" {
			out.Blocks = append(out.Blocks, troupe.Text(told))
		}
	}
	return out
}

// lines puts what is not empty one below the other.
func lines(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

const maxLabel = 40 // characters

// label is a short name for a command, on one line: what it was said to do, else how it begins.
func label(description, command string) string {
	for _, s := range []string{description, command} {
		words := strings.Fields(strings.Map(func(r rune) rune {
			if troupe.Unseen(r) {
				return ' '
			}
			return r
		}, s))
		if len(words) == 0 {
			continue
		}
		name := []rune(strings.Join(words, " "))
		if len(name) <= maxLabel {
			return string(name)
		}
		short := string(name[:maxLabel-1])
		if i := strings.LastIndexByte(short, ' '); i > maxLabel/2 {
			short = short[:i]
		}
		return short + "…"
	}
	return "command"
}
