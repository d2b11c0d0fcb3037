// Package shell is the Bash tool: one command, run to its end and measured.
//
// A command gets a session and process group of its own, without a terminal and with
// nothing to read. When it ends, is cancelled or runs out of time, everything that is left
// of its group is ended as well, first politely and then not.
//
// Should this process be killed, its commands die too. On Linux the kernel kills the shell
// when the thread that started it is gone, so all commands are started from one thread
// that lives as long as the Shell. What the shell had started by then belongs to its
// group, and a small watcher process, which notices our end by its pipe, kills the groups.
//
// A Shell may be used by many calls at once. Each has two goroutines (one reads output, one
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
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
)

//go:embed bash.md
var bashDoc string

const (
	defaultTimeout = 120_000 // milliseconds
	maxTimeout     = 600_000
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
}

// Shell is the Bash tool. It starts nothing before the first call.
type Shell struct {
	options Options
	starter *starter
	guard   *guard
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
	return &Shell{options: o, starter: newStarter(), guard: newGuard()}
}

// Close waits for running calls and releases the thread and the watcher. Later calls fail.
func (s *Shell) Close() error {
	s.starter.close()
	return s.guard.close()
}

type bashInput struct {
	command, description string
	timeout              int
}

func (in *bashInput) fields() []tool.Field {
	return []tool.Field{
		{Name: "command", String: &in.command, Required: true, NotEmpty: true, MaxBytes: maxCommand},
		{Name: "timeout", Int: &in.timeout, Doc: "milliseconds; default 120000", Min: 1, Max: maxTimeout},
		{Name: "description", String: &in.description},
	}
}

// Spec implements tool.Runner.
func (s *Shell) Spec() troupe.Tool { return tool.Spec("Bash", bashDoc, new(bashInput).fields()) }

// Prepare implements tool.Runner.
func (s *Shell) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	in := bashInput{timeout: defaultTimeout}
	if err := tool.Decode("Bash", input, in.fields()); err != nil {
		return nil, err
	}
	return &call{shell: s, command: in.command, timeout: time.Duration(in.timeout) * time.Millisecond}, nil
}

type call struct {
	shell   *Shell
	command string
	timeout time.Duration
}

// Access implements tool.Prepared.
func (c *call) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassExec, Command: c.command}
}

// Run implements tool.Prepared.
func (c *call) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return tool.Output{}, fmt.Errorf("run a command: %w", err)
	}
	defer r.Close() //nolint:errcheck // only read from
	began := time.Now()
	p, err := c.start(env, w)
	_ = w.Close() // the command has its own; a failure would show as output that does not end
	if err != nil {
		return c.notStarted(env, err)
	}
	defer c.shell.starter.done()
	defer c.shell.guard.remove(p.Pid)

	captured := newCapture(env)
	read := make(chan struct{})
	go func() {
		defer close(read)
		captured.readFrom(r)
	}()
	e := c.shell.wait(ctx, p, c.timeout)
	_ = r.SetReadDeadline(time.Now().Add(c.shell.options.Drain)) // pipes support it
	<-read
	return c.result(e, captured, time.Since(began)), nil
}

func (c *call) start(env tool.Env, out *os.File) (*os.Process, error) {
	bin, err := c.shell.options.LookPath("bash")
	if err != nil {
		if bin, err = c.shell.options.LookPath("sh"); err != nil {
			return nil, err
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close() //nolint:errcheck // only read from
	argv, held, release, err := hold([]string{bin, "-c", "--", c.command}, c.shell.options.LookPath)
	if err != nil {
		return nil, err
	}
	environ := slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool { return strings.HasPrefix(kv, "PWD=") })
	p, err := c.shell.starter.start(argv[0], argv, &os.ProcAttr{
		Dir:   env.Cwd,
		Env:   append(environ, "PWD="+env.Cwd), // never empty: an empty one would mean ours
		Files: append([]*os.File{null, out, out}, held...),
		Sys:   sysProcAttr(),
	})
	if err == nil {
		c.shell.guard.add(p.Pid)
	}
	release(err == nil)
	return p, err
}

func (c *call) notStarted(env tool.Env, err error) (tool.Output, error) {
	if errors.Is(err, errClosed) {
		return tool.Output{}, fmt.Errorf("run a command: %w", err)
	}
	if info, serr := os.Stat(env.Cwd); serr != nil || !info.IsDir() {
		return tool.Errorf("The command was not run: the working folder %s is not there.", env.Cwd), nil
	}
	return tool.Errorf("The command could not be started: %v.", err), nil
}

// result puts output and evidence together.
func (c *call) result(e ending, captured *capture, took time.Duration) tool.Output {
	out := tool.Output{Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{
		Command: c.command, ExitCode: e.code, DurationMS: took.Milliseconds(), Tests: captured.tests.count(),
	}}}}
	text := captured.text()
	remark := ""
	switch {
	case e.timedOut:
		remark, out.IsError = fmt.Sprintf("(Ended: it had not finished after %v. timeout can be up to %d.)", c.timeout, maxTimeout), true
	case e.cancelled:
		remark, out.IsError = "(Ended: the call was cancelled.)", true
	case e.signal != "":
		remark = fmt.Sprintf("(Ended by a signal: %s.)", e.signal)
	case e.code != 0:
		remark = fmt.Sprintf("(Exit code %d.)", e.code)
	case text == "":
		text = "(No output.)"
	}
	if e.leftovers {
		remark = strings.TrimSpace(remark + "\n(Processes it had left running were ended.)")
	}
	if captured.held {
		remark = strings.TrimSpace(remark + "\n(Something it started still runs, outside its process group.)")
	}
	if text != "" && remark != "" {
		text += "\n"
	}
	out.Blocks = []troupe.Block{troupe.Text(text + remark)}
	return out
}
