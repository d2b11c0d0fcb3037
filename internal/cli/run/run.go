// Package run is `troupe -p`: it begins or resumes a run, shows it, and ends with what it
// came to.
package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/chat"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Formats of the output.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatStream = "stream-json"
)

// Formats of the input.
const formatWords = "text"

type flags struct {
	print   bool
	format  string
	input   string
	quiet   bool
	detach  bool // leave once it has begun, at a server
	verbose bool
	maxCost string
	maxTime time.Duration
	ask     time.Duration
	// worktree is the name of the session's own; "" if it has none, anyWorktree if any name will do.
	worktree string
	// isolation and filesystem say where the session works, as in a call of Agent; "": as its type says.
	isolation, filesystem string
	// coordinator: the session has others do all work.
	coordinator bool
	// teammates is where members of a team are shown; "": as the settings say.
	teammates string
	// schema is the file with what the result has to follow.
	schema string
	begin  wire.Begin
}

// Configure makes cmd the command that runs prompts.
func Configure(cmd *cobra.Command, c *console.Console) { configure(cmd, c, running(c)) }

// carrying carries out what flags and arguments ask for.
type carrying func(ctx context.Context, f flags, way Input, args []string) error

func running(c *console.Console) carrying {
	return func(ctx context.Context, f flags, way Input, args []string) error {
		switch way {
		case InputJSON:
			return drive(ctx, c, f, args)
		case InputText:
			return talk(ctx, c, f, args)
		case InputPrompt:
		}
		return execute(ctx, c, f, args)
	}
}

func configure(cmd *cobra.Command, c *console.Console, run carrying) {
	var f flags
	cmd.SuggestionsMinimumDistance = 2 // two letters that changed places
	fs := cmd.Flags()
	fs.BoolVarP(&f.print, "print", "p", false, "Run the prompt and print the result (also: a prompt on standard input)")
	fs.StringVar(&f.format, "output-format", formatText,
		"What to print: text, json (one object at the end) or stream-json (one event a line)")
	fs.StringVar(&f.input, "input-format", formatWords,
		"What to read: text, or stream-json: a line of JSON for each order "+
			"(user, answer, stop, compact, end; `troupe docs stream-json`)")
	fs.StringVar(&f.schema, "output-schema", "",
		"With -p: a file with the JSON schema of the result, which is printed as JSON")
	fs.BoolVar(&f.detach, "detach", false, "With -p at a server: begin, say how to follow it, and leave; it goes on "+
		"there")
	fs.BoolVar(&f.quiet, "quiet", false, "Do not show the agents at work")
	fs.BoolVar(&f.verbose, "verbose", false, "Show the agents at work even if standard error is not a terminal")
	fs.StringVar(&f.begin.Model, "model", "", "Model: opus, sonnet, haiku, provider/id, or script:FILE")
	fs.StringVar((*string)(&f.begin.Effort), "effort", "", "How much work the main agent's model puts into a reply: "+
		troupe.EffortNames())
	fs.StringVar((*string)(&f.begin.Mode), "permission-mode", "",
		"How calls are decided: "+troupe.ModeNames(" or "))
	fs.StringArrayVar(&f.begin.Allow, "allowed-tools", nil,
		"Permission rules that allow, such as 'Edit, Bash(go test ./...)'")
	fs.StringArrayVar(&f.begin.Deny, "disallowed-tools", nil,
		"Permission rules that deny, such as 'Bash' or 'Read(.env)'")
	fs.BoolVar(&f.begin.Trust, "trust", false,
		"Trust this folder: what its own settings and agents allow counts from now on")
	fs.IntVar(&f.begin.MaxTurns, "max-turns", 0, "Stop the main agent after this many model replies")
	fs.StringVar(&f.maxCost, "max-cost", "", "Stop all agents of the session once they have cost this many dollars")
	fs.Int64Var(&f.begin.MaxTokens, "max-tokens", 0, "Stop all agents of the session once they have used this many "+
		"tokens")
	fs.IntVar(&f.begin.MaxAgents, "max-agents", 0,
		"Start at most this many agents after each prompt (default: agents.max_total of the settings)")
	fs.DurationVar(&f.maxTime, "max-time", 0, "End the run after this time, such as 30m")
	fs.StringVar(&f.begin.Fallback, "fallback-model", "",
		"Model to use when the chosen one is overloaded or no longer exists")
	fs.DurationVar(&f.ask, "ask", 0,
		"Let permission requests wait this long for troupe answer, such as 10m (default: deny at once)")
	fs.StringVar(&f.begin.AppendText, "append-system-prompt", "", "Text to add to the main agent's system prompt")
	fs.StringVar(&f.begin.Agent, "agent", "",
		"Run the new session as this type of agent, such as Explore (default: main)")
	fs.BoolVar(&f.coordinator, "coordinator", false,
		"Run the new session as a coordinator, which has sub-agents do all work")
	fs.StringVar(&f.begin.Agents, "agents", "",
		`Agents as JSON: {"name": {"description": "…", "prompt": "…", "tools": ["Read"], "model": "haiku"}}`)
	fs.StringVar(&f.begin.Cwd, "cwd", "", "Folder to work in (default: this one)")
	fs.BoolVarP(&f.begin.Continue, "continue", "c", false, "Continue the newest session of this folder")
	fs.StringVarP(&f.begin.Resume, "resume", "r", "", "Continue this session: its id, the beginning of its id, or "+
		"its name")
	fs.BoolVar(&f.begin.TakeOver, "take-over", false,
		"With --resume or --continue: take the session from a process that does not answer")
	fs.StringVar(&f.begin.Name, "name", "", "Name for the new session")
	fs.StringVar(&f.teammates, "teammate-mode", "",
		"Where members of a team are shown: auto, tmux, iterm2 or in-process (`troupe docs teams`)")
	fs.StringVarP(&f.worktree, "worktree", "w", "",
		"Work in a git worktree of the session's own, called NAME if that is given: --worktree [NAME]")
	fs.StringVar(&f.begin.Repo, "repo", "", "With a server: begin in a checkout of this repository, such as "+
		"https://github.com/you/app")
	fs.StringVar(&f.begin.Ref, "ref", "", "With --repo: its branch, tag or whole commit (default: its usual branch)")
	fs.BoolVar(&f.begin.Push, "push", false, "With --repo: push the work as a branch when a run ends")
	fs.BoolVar(&f.begin.PullRequest, "pull-request", false, "With --repo: push, and open a pull request for the branch")
	fs.StringVar(&f.isolation, "isolation", "", "How far the session is kept from this folder: worktree, copy or none "+
		"(default: as its agent says)")
	fs.StringVar(&f.filesystem, "filesystem", "", "Which files the session works on: shared_rw, shared_ro, isolated "+
		"or empty (default: as its agent says)")
	fs.Lookup("worktree").NoOptDefVal = anyWorktree
	completions(cmd, c)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if f.worktree == anyWorktree && len(args) == 2 && !strings.ContainsAny(args[0]+args[1], " \t\n") {
			return console.Usage("which of %q and %q is the worktree's name? Write --worktree=NAME", args[0], args[1])
		}
		args, _ = f.named(args)
		if !f.print && len(args) > 1 && len(cmd.SuggestionsFor(args[0])) > 0 {
			return unknown(cmd, args)
		}
		if len(args) > 1 {
			return console.Usage("there are %d prompts; put the words into quotes to make them one", len(args))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args, err := f.inWorktree(args)
		if err != nil {
			return err
		}
		if f.coordinator {
			if cmd.Flags().Changed("agent") {
				return console.Usage("--coordinator is --agent %s; give one of the two", wire.AgentCoordinator)
			}
			f.begin.Agent = wire.AgentCoordinator
		}
		// An empty value is most often a variable that was not set. Taken for no flag, it
		// would begin a new session where an old one was meant to go on.
		for _, name := range [...]string{"resume", "name", "model", "effort", "agent", "cwd", "permission-mode",
			"isolation", "filesystem", "repo", "ref",
			"output-format", "output-schema",
			"input-format", "teammate-mode"} {
			if fl := cmd.Flag(name); fl.Changed && fl.Value.String() == "" {
				return console.Usage("--%s is empty; is a variable not set?", name)
			}
		}
		for _, name := range [...]string{"max-turns", "max-tokens", "max-time"} {
			if fl := cmd.Flag(name); fl.Changed && strings.Trim(fl.Value.String(), "0s") == "" {
				return console.Usage("--%s 0 would leave the run nothing; leave the flag out for no limit", name)
			}
		}
		if !f.print && len(args) == 1 && !c.InPiped && !cmd.Flags().Changed("agent") &&
			!f.coordinator && !cmd.HasParent() && !strings.ContainsAny(strings.TrimSpace(args[0]), " \t\n") {
			return unknown(cmd, args)
		}
		if err := f.checkTeammates(c, args); err != nil {
			return err
		}
		switch {
		case f.detach && (!f.print || f.input != formatWords || f.schema != "" || f.format == formatStream):
			return console.Usage("--detach is for one prompt whose result is read later: troupe -p --detach \"…\"")
		case f.schema != "" && (!f.print || f.input != formatWords):
			return console.Usage("--output-schema is for one prompt: troupe -p --output-schema %s \"…\"", f.schema)
		case f.input == formatStream:
			return run(cmd.Context(), f, InputJSON, args)
		case f.input != formatWords:
			return console.Usage("there is no input format %q; there are text and stream-json", f.input)
		case f.talks(c, args):
			return run(cmd.Context(), f, InputText, args)
		}
		return run(cmd.Context(), f, InputPrompt, args)
	}
}

// completions says what a shell completes the values of flags to.
func completions(cmd *cobra.Command, c *console.Console) {
	var modes, efforts []string
	for _, m := range troupe.Modes() {
		modes = append(modes, string(m))
	}
	for _, e := range troupe.Efforts() {
		efforts = append(efforts, string(e))
	}
	for flag, values := range map[string]console.Completing{
		"effort":          console.OneOf(efforts...),
		"output-format":   console.OneOf(formatText, formatJSON, formatStream),
		"input-format":    console.OneOf(formatWords, formatStream),
		"isolation":       console.OneOf("worktree", "copy", "none"),
		"filesystem":      console.OneOf("shared_rw", "shared_ro", "isolated", "empty"),
		"permission-mode": console.OneOf(modes...), "teammate-mode": console.OneOf(teammateModes()...),
		"model": c.Models, "fallback-model": c.Models, "resume": c.Sessions, "agent": c.Agents,
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// anyWorktree is what --worktree is without a name.
const anyWorktree = " "

// named takes the name of the worktree from the arguments: with --worktree, that of two which has no blanks, and in a
// conversation one alone.
func (f flags) named(args []string) (rest []string, name string) {
	if f.worktree != anyWorktree || len(args) > 2 || len(args) == 1 && f.print {
		return args, ""
	}
	for i, a := range args {
		if !strings.ContainsAny(a, " \t\n") {
			return append(slices.Clone(args[:i]), args[i+1:]...), a
		}
	}
	return args, ""
}

// inWorktree says where a new session works, in a worktree of its own or elsewhere, and returns the arguments without
// its name.
func (f *flags) inWorktree(args []string) ([]string, error) {
	kind, err := troupe.ParsePlace(f.isolation, f.filesystem, "--isolation", "--filesystem")
	if err != nil {
		return nil, console.Usage("%v", err)
	}
	if f.begin.Workspace = kind; f.worktree == "" {
		return args, nil
	}
	if kind != "" && kind != troupe.WorkspaceTree && kind != troupe.WorkspaceIsolated {
		return nil, console.Usage("--worktree is --isolation worktree, and the session is to have %s; give one of "+
			"the two",
			kind)
	}
	rest, name := f.named(args)
	name = cmp.Or(name, strings.TrimSpace(f.worktree))
	f.begin.Worktree = &name
	return rest, nil
}

// talks reports whether a conversation is wanted: words on a terminal, or lines of words from
// a pipe when there is no prompt besides.
func (f flags) talks(c *console.Console, args []string) bool {
	if f.print || f.format != formatText {
		return false
	}
	return c.InTTY && c.OutTTY || len(args) == 0 && (c.InTTY || c.InPiped)
}

// talk holds a conversation with a person.
func talk(ctx context.Context, c *console.Console, f flags, args []string) error {
	b, err := opening(c, f, args)
	if err != nil {
		return err
	}
	return c.With(ctx, troupe.SurfaceChat, func(h *home.Home) error {
		if c.InTTY && c.OutTTY && !b.Trust && b.Repo == "" {
			if err := askTrust(ctx, c, h.API, b.Cwd); err != nil {
				return err
			}
		}
		if err := agentIsThere(ctx, h.API, b); err != nil {
			return err
		}
		find, err := teammates(ctx, c, h, f.teammates)
		if err != nil {
			return err
		}
		return chat.Run(ctx, c, h.API, b, chat.Options{History: h.History(), Mask: h.Mask, HangUp: c.HangUp,
			Server: h.Server(), Folder: h.FolderThere(ctx, b.Cwd), Heard: h.Hear(),
			Status: true, Panes: find})
	})
}

// agentIsThere refuses to begin a conversation as an agent that there is not: words would be typed for nothing.
func agentIsThere(ctx context.Context, a api.API, b wire.Begin) error {
	if b.Agent == "" || b.Resume != "" || b.Continue || b.Repo != "" {
		return nil
	}
	if _, err := a.Machine().Model(ctx, b.Model, b.Cwd); err != nil {
		return nil //nolint:nilerr // the conversation says so itself, and can be given another model
	}
	_, err := a.Machine().Agent(ctx, wire.AgentName{Name: b.Agent,
		Place: wire.Place{Cwd: b.Cwd, Permissions: b.Permissions, Model: b.Model, Agents: b.Agents}})
	return err
}

// drive has a program hold the conversation.
func drive(ctx context.Context, c *console.Console, f flags, args []string) error {
	if f.format != formatStream {
		return ordersNeedStream()
	}
	b, err := opening(c, f, args)
	if err != nil {
		return err
	}
	return c.With(ctx, troupe.SurfaceHeadless, func(h *home.Home) error {
		report, err := chat.Drive(ctx, c, h.API, b)
		if err != nil {
			return err
		}
		if code := exitCode(report); code != troupe.ExitOK {
			return &console.Exit{Code: code}
		}
		return nil
	})
}

// opening is what a conversation begins with.
func opening(c *console.Console, f flags, args []string) (wire.Begin, error) {
	b, err := base(c, f)
	if len(args) > 0 {
		b.Prompt = args[0]
	}
	return b, err
}

func ordersNeedStream() error {
	return console.Usage("--input-format stream-json needs --output-format stream-json")
}

// unknown explains a lone word, or words that begin like a command, which is more often a mistyped command than a
// prompt.
func unknown(cmd *cobra.Command, args []string) error {
	word := args[0]
	hint := fmt.Sprintf("As a prompt, write: troupe -p %q", strings.Join(args, " "))
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = "Did you mean `troupe " + near[0] + "`? " + hint
	}
	return &troupe.UserError{Problem: fmt.Sprintf("there is no command %q", word), Hint: hint, Code: troupe.ExitUsage}
}

func execute(ctx context.Context, c *console.Console, f flags, args []string) error {
	b, err := request(c, f, args, "")
	if err != nil {
		return err
	}
	if b.OutputSchema, err = readSchema(b, f.schema); err != nil {
		return err
	}
	if b.Resume == "" && !b.Continue {
		c.Ahead = b.Cwd
	}
	return c.With(ctx, troupe.SurfaceHeadless, func(h *home.Home) error {
		if f.detach {
			return detach(ctx, c, h, b, f.format)
		}
		o := f.output(c)
		o.Server = h.Server()
		return headless(ctx, c, h.API, b, o)
	})
}

// detach begins a run at a server, and leaves it to that.
func detach(ctx context.Context, c *console.Console, h *home.Home, b wire.Begin, format string) error {
	if h.Server() == "" {
		return console.Usage("--detach leaves a run to a server, and this command uses this machine; troupe serve is " +
			"one")
	}
	begun, err := h.API.Begin(ctx, b)
	if err != nil {
		return err
	}
	for _, w := range begun.Warnings {
		c.WarnOnce(w)
	}
	if format == formatJSON {
		return c.JSON(begun)
	}
	return c.Say(fmt.Sprintf("%s works at %s.\nFollow it: troupe log %[3]s --follow\nSee its result: troupe show %[3]s",
		console.Line(cmp.Or(b.Name, string(begun.Root)), 0), h.Server(), begun.Root))
}

// output is how a run is shown.
func (f flags) output(c *console.Console) Output {
	return Output{Format: f.format, Live: f.live(c), Quiet: f.quiet, Object: f.schema != ""}
}

// live reports whether somebody watches.
func (f flags) live(c *console.Console) bool {
	return f.format == formatText && !f.quiet && (c.ErrTTY || f.verbose)
}

// request is what one prompt asks for. Otherwise is the prompt if there is no other.
func request(c *console.Console, f flags, args []string, otherwise string) (wire.Begin, error) {
	b, err := base(c, f)
	if err != nil {
		return b, err
	}
	if b.Prompt, b.Typed, err = prompt(c, args); err != nil {
		return b, err
	}
	if b.Prompt == "" {
		b.Prompt = otherwise
	}
	if b.Prompt == "" && !b.Continue && b.Resume == "" && f.format != formatText {
		return b, &troupe.UserError{
			Problem: fmt.Sprintf("--output-format %s is for one prompt, and none was given.", f.format),
			Hint:    fmt.Sprintf("Try: troupe -p --output-format %s \"explain this project\"", f.format),
			Code:    troupe.ExitUsage,
		}
	}
	if b.Prompt == "" && !b.Continue && b.Resume == "" {
		return b, &troupe.UserError{
			Problem: "There is nothing to do: no prompt was given.",
			Hint:    "Try: troupe -p \"explain this project\"\nor:  echo \"explain this project\" | troupe -p",
			Code:    troupe.ExitUsage,
		}
	}
	return b, nil
}

// base is what the flags say, without a prompt.
func base(c *console.Console, f flags) (wire.Begin, error) {
	b := f.begin
	b.Exact = b.Cwd != ""
	switch f.format {
	case formatText, formatJSON, formatStream:
	default:
		return b, console.Usage("there is no output format %q; there are text, json and stream-json", f.format)
	}
	if b.Continue && b.Resume != "" {
		return b, console.Usage("--continue and --resume cannot go together")
	}
	if b.TakeOver && !b.Continue && b.Resume == "" {
		return b, console.Usage("--take-over needs --resume or --continue")
	}
	if b.MaxTokens < 0 || f.maxTime < 0 || f.ask < 0 {
		return b, console.Usage("--max-tokens, --max-time and --ask must not be negative")
	}
	if b.MaxAgents < 0 {
		return b, console.Usage("--max-agents must not be negative")
	}
	if b.MaxTurns < 0 {
		return b, console.Usage("--max-turns must not be negative")
	}
	if f.maxCost != "" {
		d, err := strconv.ParseFloat(strings.TrimPrefix(f.maxCost, "$"), 64)
		// Not a number fails every comparison, and what rounds to nothing would be no limit.
		if err != nil || !(d <= 1e6) || troupe.Dollars(d) <= 0 {
			return b, console.Usage("--max-cost %q is not an amount of dollars", f.maxCost)
		}
		b.MaxUSD = troupe.Dollars(d).Dollars()
	}
	switch {
	case b.Repo == "" && (b.Ref != "" || b.Push || b.PullRequest):
		return b, console.Usage("--ref, --push and --pull-request go with --repo")
	case b.Repo != "" && b.Exact:
		return b, console.Usage("--repo and --cwd both say where to work; give one of the two")
	case b.Repo != "" && (b.Continue || b.Resume != ""):
		return b, console.Usage("--repo begins a new session; leave it out to go on with one")
	}
	b.MaxMS, b.AskMS = millis(f.maxTime), millis(f.ask)
	if !filepath.IsAbs(b.Cwd) && b.Repo == "" {
		if c.Cwd == "" {
			return b, &troupe.UserError{Problem: "the folder you are in is not there any more",
				Hint: "Go to another one, or name one with --cwd, whole from the root.", Code: troupe.ExitUsage}
		}
		b.Cwd = filepath.Join(c.Cwd, b.Cwd)
	}
	return b, nil
}

// millis are a duration's milliseconds: what is not nothing is one at the least.
func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(1, d.Milliseconds())
}

// maxPrompt is more than any model's window holds.
const maxPrompt = 8 << 20

// prompt takes the words from the command line and, behind them, what is piped in: that may be anybody's, a diff or a
// page, so typed are the others alone.
func prompt(c *console.Console, args []string) (words string, typed *string, err error) {
	var parts []string
	if len(args) > 0 && args[0] != "-" {
		parts = append(parts, args[0])
	}
	if c.InPiped {
		var b bytes.Buffer
		if _, err := io.Copy(&b, io.LimitReader(c.In, maxPrompt+1)); err != nil {
			return "", nil, fmt.Errorf("read the prompt from standard input: %w", err)
		}
		if b.Len() > maxPrompt {
			return "", nil, console.Usage("the prompt on standard input is larger than %d MB; "+
				"put it into a file and name that", maxPrompt>>20)
		}
		if s := strings.TrimSpace(b.String()); s != "" {
			typed = new(strings.ToValidUTF8(strings.Join(parts, ""), "\uFFFD"))
			parts = append(parts, s)
		}
	}
	p := strings.TrimSpace(strings.Join(parts, "\n\n"))
	if strings.ContainsRune(p, 0) {
		return "", nil, console.Usage("the prompt holds a NUL byte; is it a binary file?")
	}
	return strings.ToValidUTF8(p, "\uFFFD"), typed, nil
}

// Output says how a run is shown.
type Output struct {
	Format string
	Live   bool
	// Quiet: nothing is told while it runs.
	Quiet bool
	// Object: the result is an object, or there is none.
	Object bool
	// Server is the address of the server that runs it; "": it runs here.
	Server string
	// Gone: its home is thrown away, so nobody can go on with it.
	Gone bool
}

// headless starts a run, shows it until the whole tree has ended, and prints what it came to.
// The error carries the exit code.
func headless(ctx context.Context, c *console.Console, a api.API, b wire.Begin, o Output) error {
	report, err := Follow(ctx, c, a, b, o)
	if err != nil {
		return err
	}
	return Finish(c, report, o)
}

// Finish prints what a run came to. The error carries the exit code.
func Finish(c *console.Console, report wire.Report, o Output) error {
	switch o.Format {
	case formatJSON, formatStream:
		if err := c.JSON(report); err != nil {
			return err
		}
	default:
		printText(c, report, o)
	}
	if code := exitCode(report); code != troupe.ExitOK {
		return &console.Exit{Code: code}
	}
	return nil
}

// Follow starts a run, shows it until the whole tree has ended, and returns its report.
func Follow(ctx context.Context, c *console.Console, a api.API, b wire.Begin, o Output) (wire.Report, error) {
	began := c.Now()
	c.SetToWork()
	interrupt := interruption{c: c, api: a, out: o}
	defer c.Interrupts.Take(func() { interrupt.raise(ctx) })()
	r, err := a.Begin(ctx, b)
	if err != nil && interrupt.happened() {
		return wire.Report{}, &console.Exit{Code: troupe.ExitInterrupted}
	}
	if err != nil {
		return wire.Report{}, err
	}
	interrupt.began(ctx, r.Root)
	for _, w := range r.Warnings {
		c.WarnOnce(w)
	}
	show, err := shower(ctx, c, a, r, b.Cwd, o)
	if err != nil {
		return wire.Report{}, err
	}
	err = api.Finish(ctx, a, r.Root)
	ferr := show()
	if err == nil && ferr != nil {
		return wire.Report{}, unseen(r.Root, ferr)
	}
	report, rerr := a.Report(ctx, r.Root)
	if rerr == nil && b.Prompt == "" && len(r.Before) > 0 {
		rerr = ofForks(ctx, a, r, &report)
	}
	if err == nil {
		// Tasks in the background may have woken the main agent several times.
		report.DurationMS = max(0, c.Now().Sub(began).Milliseconds())
		if interrupt.happened() {
			report.Cause = troupe.CauseInterrupt
		}
		if rerr == nil && report.Cause == troupe.CauseLimit {
			var bill wire.Cost
			bill, rerr = a.Cost(ctx, r.Root)
			report.Limits = bill.Limits
		}
		return report, rerr
	}
	switch {
	case errors.Is(err, troupe.ErrAsleep):
		err = console.Asleep(cmp.Or(report.Name, string(r.Root)))
	case o.Server != "" && (errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrLost)):
		err = away(r.Root, o.Server, err)
	default:
		err = broken(r.Root, err, o.Gone || errors.Is(rerr, troupe.ErrNotFound))
	}
	// Whoever reads JSON is told in JSON as well, as far as there is something to tell.
	if rerr == nil && o.Format != formatText && o.Format != "" {
		report.Error = err.Error()
		err = errors.Join(err, c.JSON(report))
	}
	return wire.Report{}, err
}
