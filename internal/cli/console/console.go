// Package console is what the commands share: the process's streams and surroundings, how
// errors become messages and exit codes, and a few ways to print.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Console is the process as a command sees it.
type Console struct {
	In         io.Reader
	Out, Err   io.Writer
	InPiped    bool // standard input is a pipe or a file, not a terminal and not nothing
	InTTY      bool
	OutTTY     bool
	ErrTTY     bool
	Width      int // columns of the terminal; 0: unknown
	Lookup     func(string) (string, bool)
	Environ    []string
	Cwd        string
	Version    string
	Now        func() time.Time
	Interrupts *Interrupts

	// Ran notes that agents were set to work: then an output that nobody reads is worth a word.
	// Copies of a console share it; nil: nobody asks.
	Ran *atomic.Bool

	Global Global
	// HangUp is closed when the terminal goes away.
	HangUp chan struct{}
	// Serve makes what runs in this process reachable for others.
	Serve bool
	// Ahead is the folder in which a run will begin once the home is open.
	Ahead string

	warned []string // by WarnOnce
}

// Global are the flags of every command.
type Global struct {
	Debug  string // a file for the log
	Server string // the address of the server that has the sessions
	// LogFormat is that of what a process that hosts sessions logs to standard error, text or json; "": nothing.
	LogFormat string
}

// Interrupts hands Ctrl-C and its like to whoever has something to bring to an end.
type Interrupts struct {
	// Leave ends the process at once. It is what an interrupt does while nobody has said otherwise.
	Leave func(code int)

	mu sync.Mutex
	fn func()
}

// Raise is called for every signal.
func (i *Interrupts) Raise() {
	i.mu.Lock()
	fn := i.fn
	i.mu.Unlock()
	if fn == nil {
		i.Leave(troupe.ExitInterrupted)
		return
	}
	fn()
}

// Take has fn called for interrupts until restore is.
func (i *Interrupts) Take(fn func()) (restore func()) {
	set := func(fn func()) (before func()) {
		i.mu.Lock()
		defer i.mu.Unlock()
		before, i.fn = i.fn, fn
		return before
	}
	before := set(fn)
	return func() { set(before) }
}

// Exit is an error that carries an exit code. With an empty message nothing is printed:
// the command has said all there is to say.
type Exit struct {
	Code int
	Text string
}

func (e *Exit) Error() string { return e.Text }

// Usage is a mistake in how a command was called.
func Usage(format string, args ...any) error {
	return &troupe.UserError{Problem: fmt.Sprintf(format, args...), Hint: "See `troupe --help`.",
		Code: troupe.ExitUsage}
}

// FlagError words what cobra says of a flag. Of a duration it would show Go's own error.
func FlagError(cmd *cobra.Command, err error) error {
	if none, ok := errors.AsType[*pflag.NotExistError](err); ok && len(none.GetSpecifiedName()) > 1 {
		return noFlag(cmd, none.GetSpecifiedName())
	}
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok || bad.GetFlag().Value.Type() != "duration" {
		return Usage("%v", err)
	}
	name, value := bad.GetFlag().Name, bad.GetValue()
	if _, err := strconv.ParseUint(value, 10, 64); err == nil {
		return Usage("--%s %s has no unit; write %ss, %sm or %sh", name, value, value, value, value)
	}
	return Usage("--%s %s is not a duration; write one such as 30s, 10m or 2h", name, value)
}

// noFlag names the flag that was meant by one that there is not.
func noFlag(cmd *cobra.Command, name string) error {
	if name == "dangerously-skip-permissions" {
		return Usage("there is no flag --%s; --permission-mode bypassPermissions asks about less, and rules and the "+
			"sandbox hold all the same", name)
	}
	var all []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f.Name)
		}
	})
	near := troupe.Nearest(name, all)
	for _, f := range all {
		if strings.EqualFold(strings.ReplaceAll(f, "-", ""), strings.ReplaceAll(name, "-", "")) {
			near = f
		}
	}
	if near != "" {
		near = "; did you mean --" + near + "?"
	}
	return Usage("there is no flag --%s%s", name, near)
}

// NoArgs refuses arguments of a command that takes none.
func NoArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		var all []string
		for _, below := range cmd.Commands() {
			all = append(all, below.Name())
		}
		near := troupe.Nearest(args[0], all)
		switch {
		case near != "":
			near = fmt.Sprintf("; did you mean `%s %s`?", cmd.CommandPath(), near)
		case len(all) > 0:
			near = fmt.Sprintf("; there is `%s %s`", cmd.CommandPath(), strings.Join(all, "`, `"))
		}
		return Usage("there is no command `%s %s`%s", cmd.CommandPath(), args[0], near)
	}
	return Usage("%s takes no arguments, and %q is one", cmd.CommandPath(), args[0])
}

// Args demands as many arguments as the line of use names; most < 0: as many as one likes.
func Args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			_, takes, _ := strings.Cut(cmd.Use, " ")
			given := "there are " + strconv.Itoa(n)
			switch n {
			case 0:
				given = "it is missing"
			case 1:
				given = "there is one"
			}
			return &troupe.UserError{Problem: fmt.Sprintf("%s takes %s, and %s", cmd.CommandPath(), takes, given),
				Hint: fmt.Sprintf("See `%s --help`.", cmd.CommandPath()), Code: troupe.ExitUsage}
		}
		return nil
	}
}

// Code is the exit code of an error.
func Code(err error) int {
	var exit *Exit
	var user *troupe.UserError
	switch {
	case err == nil:
		return troupe.ExitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &user) && user.Code != 0:
		return user.Code
	}
	return troupe.ExitFailed
}

// Env is what a home needs to know of the process. The log of it is --debug's.
func (c *Console) Env(log *slog.Logger) home.Env {
	return home.Env{Lookup: c.Lookup, Environ: c.Environ, Now: c.Now, Log: log, Version: c.Version, Serve: c.Serve,
		Tell:      c.Warn,
		LookAhead: c.Ahead}
}

// Open opens the Troupe home, and the debug log if one was asked for. The returned close
// must be called; its error is worth telling.
func (c *Console) Open(ctx context.Context, from troupe.Surface) (*home.Home, func() error, error) {
	return open(c, func(env home.Env) (*home.Home, error) { return home.Open(ctx, env, from) }, true)
}

// OpenHere opens the home of this machine, wherever the sessions are that commands are about.
func OpenHere(c *Console, how func(home.Env) (*home.Home, error)) (*home.Home, func() error, error) {
	return open(c, how, false)
}

func open(c *Console, how func(home.Env) (*home.Home, error), anywhere bool) (*home.Home, func() error, error) {
	if anywhere {
		server, err := home.Server(c.Global.Server, c.Lookup)
		if err != nil {
			return nil, nil, err
		}
		if server != "" {
			how = func(env home.Env) (*home.Home, error) { return home.OpenServer(env, server) }
		}
	}
	var handlers []slog.Handler
	mask := home.MaskLog(c.Environ)
	switch c.Global.LogFormat {
	case "":
	case "text":
		handlers = append(handlers, slog.NewTextHandler(c.Err, &slog.HandlerOptions{ReplaceAttr: mask}))
	case "json":
		handlers = append(handlers, slog.NewJSONHandler(c.Err, &slog.HandlerOptions{ReplaceAttr: mask}))
	default:
		return nil, nil, Usage("--log-format is text or json, and not %q", c.Global.LogFormat)
	}
	closeLog := func() error { return nil }
	if c.Global.Debug != "" {
		f, err := os.OpenFile(c.Global.Debug, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, &troupe.UserError{
				Problem: "the debug log cannot be written: " + err.Error(), Hint: "Give --debug a file that can.",
				Code: troupe.ExitUsage, Err: err,
			}
		}
		handlers = append(handlers, slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug,
			ReplaceAttr: mask}))
		closeLog = f.Close
	}
	h, err := how(c.Env(slog.New(slog.NewMultiHandler(handlers...))))
	if err != nil {
		return nil, nil, errors.Join(err, closeLog())
	}
	if h == nil { // what was opened is more than a home, and its own
		return nil, closeLog, nil
	}
	for _, w := range h.Warnings() {
		c.WarnOnce(w)
	}
	return h, func() error { return errors.Join(h.Close(), closeLog()) }, nil
}

// HereOnly refuses a command that needs the sessions themselves where they are at a server.
func HereOnly(c *Console, what string) error {
	server, err := home.Server(c.Global.Server, c.Lookup)
	if err == nil && server != "" {
		err = home.HereOnly(what, server)
	}
	return err
}

// With opens the home, calls fn, and closes the home. from is what asks.
func (c *Console) With(ctx context.Context, from troupe.Surface, fn func(*home.Home) error) error {
	h, closeHome, err := c.Open(ctx, from)
	if err != nil {
		return err
	}
	return errors.Join(fn(h), closeHome())
}

// WithSettings is With for what needs nothing but the settings: no home is made, and none is
// written to.
func (c *Console) WithSettings(fn func(*home.Home) error) error {
	h, closeHome, err := open(c, home.OpenSettings, true)
	if err != nil {
		return err
	}
	return errors.Join(fn(h), closeHome())
}

// Writer remembers the first error of what it writes to, so that a full disk or a closed
// pipe behind standard output is a failure and not a success without words.
type Writer struct {
	W   io.Writer
	err error
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.W.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// Err is the first error, worded for people.
func (w *Writer) Err() error {
	if w.err == nil {
		return nil
	}
	return &troupe.UserError{Problem: "the output could not be written: " + w.err.Error(), Code: troupe.ExitFailed,
		Err: w.err}
}

// SetToWork notes that agents are set to work.
func (c *Console) SetToWork() {
	if c.Ran != nil {
		c.Ran.Store(true)
	}
}

// Unread reports whether a command came to nothing worse than that its reader has gone, as head
// does when it has seen enough. Nobody is told of that, unless agents were at work.
func (c *Console) Unread(out *Writer, err error) bool {
	return errors.Is(out.err, syscall.EPIPE) && (err == nil || errors.Is(err, syscall.EPIPE)) &&
		(c.Ran == nil || !c.Ran.Load())
}

// Warn tells the person something that does not stop the command.
func (c *Console) Warn(text string) { fmt.Fprintln(c.Err, c.FitErr("troupe: "+Clean(text))) }

// WarnOnce is Warn for what more than one look at the settings finds.
func (c *Console) WarnOnce(text string) {
	if !slices.Contains(c.warned, text) {
		c.warned = append(c.warned, text)
		c.Warn(text)
	}
}

// Color reports whether a stream takes colour: a terminal does unless NO_COLOR is set, and
// anything does under FORCE_COLOR or CLICOLOR_FORCE.
func (c *Console) Color(tty bool) bool {
	if v, ok := c.Lookup("NO_COLOR"); ok && v != "" {
		return false
	}
	for _, name := range [...]string{"FORCE_COLOR", "CLICOLOR_FORCE"} {
		if v, ok := c.Lookup(name); ok && v != "" && v != "0" {
			return true
		}
	}
	term, _ := c.Lookup("TERM")
	return tty && term != "dumb"
}

// Clean is troupe.Clean.
func Clean(s string) string { return troupe.Clean(s) }

// Line puts text on one line of at most n characters.
func Line(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(Clean(s)), " "))
	if n > 0 && len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// Making says how far a folder has come that is made for an agent.
func Making(done, all int) string {
	return fmt.Sprintf("making its folder: %s of %s files", grouped(done), grouped(all))
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Count says how many of something there are.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Unpriced says of which models the cost is not known.
func Unpriced(models []string) string {
	shown := make([]string, len(models))
	for i, m := range models {
		shown[i] = Model(m)
	}
	return fmt.Sprintf("No price is known for %s; its tokens are counted, its cost is not.",
		strings.Join(shown, ", "))
}

// Cut says of which agents the bill may be incomplete; "" if of none.
func Cut(agents []wire.Session) string {
	var paths []string
	for _, a := range agents {
		if a.Cut {
			paths = append(paths, a.Path)
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return fmt.Sprintf("The bill may be incomplete: the database was damaged, and the end of the log of %s is lost.",
		Line(strings.Join(paths, ", "), 200))
}

// Paint gives a text a colour, if there is colour; 0 is none.
func Paint(color bool, code int, s string) string {
	if !color || code == 0 || s == "" {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, s)
}

// AgentColor is the code of the color that an agent's definition gives it; other is that of one without. They are
// those that every terminal has: what it shows as bright red is the nearest to orange.
func AgentColor(name string, other int) int {
	switch name {
	case "red":
		return 31
	case "green":
		return 32
	case "yellow":
		return 33
	case "blue":
		return 34
	case "purple":
		return 35
	case "cyan":
		return 36
	case "orange":
		return 91
	case "pink":
		return 95
	default:
		return other
	}
}

// ofWorkflow stands before the model of a workflow's agents, in the name of the one that follows it.
const ofWorkflow = "workflow/"

// Model is a model as people ask for it: a script by its file.
func Model(full string) string {
	if under, ok := strings.CutPrefix(full, ofWorkflow); ok {
		return "workflow of " + Model(under)
	}
	if file, ok := strings.CutPrefix(full, "script/"); ok {
		full = "script:" + file
	}
	return Middle(Line(full, 0), modelWidth)
}

// Mode says in which mode an agent is.
func Mode(m troupe.Mode) string {
	if m == "" {
		return "the mode of the agent above it"
	}
	return "mode " + string(m)
}

// modelWidth is enough for every model of a provider; the file of a script may have a longer name.
const modelWidth = 60

// ShortModel is a model without its provider, or the last name of a script's file.
func ShortModel(full string) string {
	provider, name, ok := strings.Cut(full, "/")
	switch {
	case strings.HasPrefix(full, ofWorkflow):
		name = "workflow"
	case !ok:
		name = full
	case provider == "script":
		name = "script:" + filepath.Base(name)
	}
	return Middle(Line(name, 0), 40)
}

// Duration shows milliseconds the way people say them: 0.8 s, 12.4 s, 3 min 20 s.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Took says how long a session was at work, and how much of that in its last run.
func Took(runs int, last, all int64) string {
	if runs <= 1 {
		return Duration(last)
	}
	return fmt.Sprintf("%s at work in %d runs, the last one %s", Duration(all), runs, Duration(last))
}

// EndWord is how an end is called wherever people read of one: what was stopped is called cancelled for
// an agent and killed for a command by programs.
func EndWord(status string) string {
	if status == string(troupe.Cancelled) || status == string(troupe.TaskKilled) {
		return "stopped"
	}
	return status
}

// Clock is a time of day, with the day if that is another one than now's.
func Clock(at, now time.Time) string { return wire.Clock(at, now) }

// ShortPath shows a path below the home folder as ~/….
func (c *Console) ShortPath(p string) string {
	home, _ := c.Lookup("HOME")
	if home != "" && troupe.Within(p, home) {
		return "~" + p[len(strings.TrimSuffix(home, "/")):]
	}
	return p
}
