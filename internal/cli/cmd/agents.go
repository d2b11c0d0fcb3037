package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newAgents makes the command.
func newAgents(c *console.Console) *cobra.Command {
	q := wire.AgentQuery{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "agents", Short: "List the types of agents, and where each is defined", Args: console.NoArgs,
		Long: `List the types of agents that can be started in this folder: where each is defined, and which
definitions of its name it replaces. Definitions are Markdown files. Of two with one name the one that
comes later here counts:

  built in
  stored:      those of this home or server (troupe agents stored)
  yours:       ~/.claude/agents, ~/.config/troupe/agents
  the project: .agents/subagents, .claude/agents, .troupe/agents, from the repository's root down to
               this folder
  --agents     of a run
  managed:     /etc/claude-code/agents, /etc/troupe/agents`,
		Example: "troupe agents\ntroupe agents show Explore\ntroupe agents check\ntroupe agents new migrations",
		RunE: withStored(c, func(ctx context.Context, a api.API, _ []string) error {
			list, err := a.Machine().Agents(ctx, q)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(list)
			}
			return c.AgentTypes(list)
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&q.Agents, "agents", "", "Agents as JSON, as for a run")
	cmd.AddCommand(newAgentsCheck(c), newAgentsShow(c), newAgentsNew(c))
	cmd.AddCommand(newStored(c)...)
	return cmd
}

// inSettings makes what a command runs of a function that needs settings and no open home.
func inSettings(c *console.Console, fn func(context.Context, api.API, []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		return c.WithSettings(func(h *home.Home) error { return fn(cmd.Context(), h.API, args) })
	}
}

// place shows a path, or a text that begins with one, from the folder that the person is in.
func newAgentsCheck(c *console.Console) *cobra.Command {
	q := wire.AgentQuery{Place: wire.Place{Cwd: c.Cwd}, Check: true}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [PATH...]", Short: "Say what is wrong with definitions of agents, with file and line",
		Long: `Read definitions of agents and print everything about them that is not followed as it is written, with
file and line. PATH is a file, or a folder with its subfolders; without one, all that count in this folder
are read. It ends with 1 if some file defines an agent that cannot be started here. With --json, one object for each file:

  {"path": "…", "name": "…", "description": "…", "tools": null, "model": "…", "loaded": true,
   "startable": true, "warnings": []}

tools is null where all tools are left to the agent.`,
		Example: "troupe agents check\ntroupe agents check .claude/agents/reviewer.md\ntroupe agents check --json " +
			"~/agents",
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			q.Paths = under(c.Cwd, args)
			list, err := a.Machine().Agents(ctx, q)
			if err != nil {
				return err
			}
			return writeChecks(c, list.Files, asJSON, func(f wire.AgentCheck) checked {
				return checked{f.Startable, f.Document, f.Warnings}
			}, "agent", "started here")
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// checked is what a file of definitions or skills was read as, for people.
type checked struct {
	good, document bool
	warnings       []string
}

// writeChecks says what is wrong with files: in JSON each as it is, else its warnings, and how many there are of each.
func writeChecks[T any](c *console.Console, files []T, asJSON bool, of func(T) checked, what, failing string) error {
	good, failed, odd := 0, 0, 0
	for _, f := range files {
		is := of(f)
		switch {
		case is.good:
			good++
		case !is.document:
			failed++
		}
		if len(is.warnings) > 0 {
			odd++
		}
		if asJSON {
			if err := c.JSON(f); err != nil {
				return err
			}
			continue
		}
		for _, w := range is.warnings {
			if _, err := fmt.Fprintln(c.Out, console.Clean(c.Place(w))); err != nil {
				return err
			}
		}
	}
	if !asJSON && len(files) == 0 {
		return c.Say("There are no files of them here; without a path those of this folder and yours are checked.")
	}
	if !asJSON {
		if err := c.Printf("%s: %s, %d that cannot be %s; notes on %s\n",
			console.Count(len(files), "file"),
			console.Count(good, what), failed, failing, console.Count(odd, "file")); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &console.Exit{Code: troupe.ExitFailed}
	}
	return nil
}

// under are paths that a person named, from the folder they stand in.
func under(dir string, paths []string) (out []string) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		out = append(out, path)
	}
	return out
}

func newAgentsShow(c *console.Console) *cobra.Command {
	n := wire.AgentName{Place: wire.Place{Cwd: c.Cwd}}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show what agents of a type would be born with here",
		Long: `Show what an agent of a type would be born with if it was started in this folder: its model, permission
mode, sandbox and limits, its MCP servers, hooks and skills, each tool with the reason why it has it or not,
and its prompt. main is the agent that you talk to.`,
		Example:           "troupe agents show Explore\ntroupe agents show main --permission-mode plan",
		Args:              console.Args(1, 1),
		ValidArgsFunction: c.Agents,
		RunE: withStored(c, func(ctx context.Context, a api.API, args []string) error {
			n.Name = args[0]
			p, err := a.Machine().Agent(ctx, n)
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(p)
			}
			return writeAgent(c, p)
		}),
	}
	decisionFlags(cmd, c, &n.Place)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeAgent(c *console.Console, p wire.AgentProfile) error {
	for _, note := range p.Notes {
		c.Warn(note)
	}
	var b strings.Builder
	line := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-12s %s\n", title, strings.ReplaceAll(console.Clean(text), "\n", " "))
		}
	}
	count := func(title string, n int64) {
		if n > 0 {
			line(title, fmt.Sprint(n))
		}
	}
	line("agent", p.Name)
	line("use", strings.Join(strings.Fields(p.Description), " "))
	line("from", c.Place(p.Source))
	for _, s := range p.Shadows {
		line("replaces", c.Place(s))
	}
	line("model", p.Resolved)
	effort := string(p.Asked)
	if p.Effort != "" && p.Effort != p.Asked {
		effort = cmp.Or(effort, "none") + " (its definition says " + string(p.Effort) + ")"
	}
	line("effort", effort)
	mode := string(p.Mode)
	if p.Own != "" && p.Own != p.Mode {
		mode += " (its definition says " + string(p.Own) + "; the main agent's mode bounds it)"
	}
	line("mode", mode)
	line("sandbox", string(p.Sandbox))
	line("starts only", strings.Join(p.Starts, ", "))
	count("max turns", int64(p.MaxTurns))
	count("max tokens", p.Tokens)
	if m := p.Memory; m != nil {
		line("memory", string(m.Scope)+" ("+c.Place(m.Folder)+")")
	}
	if p.Background {
		line("works", "in the background")
	}
	line("works in", worksIn(p.Workspace))
	line("its work is", mergesBack(p.Merge))
	if p.Omits {
		line("omits", "what CLAUDE.md and AGENTS.md say")
	}
	line("skills", strings.Join(p.Skills, ", "))
	line("style", p.Style)
	line("color", p.Color)
	line("begins with", p.Initial)
	for _, s := range p.Servers {
		line("server", serverText(c, s))
	}
	for _, h := range p.Hooks {
		line("hook", hookText(c, h))
	}
	for _, t := range p.Has {
		word := "no"
		if t.Has {
			word = "yes"
		}
		line("tool", fmt.Sprintf("%-15s %-3s  %s", t.Tool, word, t.Why))
	}
	fmt.Fprintf(&b, "\n%s\n", console.Clean(p.Prompt))
	_, err := fmt.Fprint(c.Out, b.String())
	return err
}

// serverText is an MCP server that an agent has.
func serverText(c *console.Console, s wire.ServerOf) string {
	text := fmt.Sprintf("%-12s from %s", s.Name, c.Place(s.Source))
	if s.Why != "" {
		text += "; it cannot be used: " + s.Why
	}
	return text
}

// hookText is a hook that runs at an agent's moments.
func hookText(c *console.Console, h wire.HookRow) string {
	when := string(h.Event)
	for _, of := range []string{h.Matcher, h.If} {
		if of != "" {
			when += " of " + of
		}
	}
	text := fmt.Sprintf("%s: %s %q from %s", when, h.Type, h.Run, c.Place(h.Source))
	if h.Broken != "" {
		text += "; it fails: " + h.Broken
	}
	return text
}

func newAgentsNew(c *console.Console) *cobra.Command {
	var mine bool
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Write a definition to begin with",
		Long: `Write .claude/agents/NAME.md in this folder, or in your own home with --user: a definition with each field
that is often wanted and a word on it. A file that is there already is left alone.`,
		Example: "troupe agents new migrations\ntroupe agents new --user reviewer",
		Args:    console.Args(1, 1),
		RunE: inSettings(c, func(ctx context.Context, a api.API, args []string) error {
			if err := isFree(ctx, c, a, args[0]); err != nil {
				return err
			}
			base := c.Cwd
			if mine {
				if base, _ = c.Lookup("HOME"); base == "" {
					return console.Usage("HOME is not set, so there is no folder of yours to write to")
				}
			}
			return writeNew(c, base, args[0])
		}),
	}
	cmd.Flags().BoolVar(&mine, "user", false, "Write it for all your projects, in ~/.claude/agents")
	return cmd
}

// isFree refuses the name of a type that there is: a definition would take its place unnoticed.
func isFree(ctx context.Context, c *console.Console, a api.API, name string) error {
	list, err := a.Machine().Agents(ctx, wire.AgentQuery{Place: wire.Place{Cwd: c.Cwd}})
	if err != nil {
		return err
	}
	for _, t := range list.Agents {
		if strings.EqualFold(t.Name, name) {
			return &troupe.UserError{Problem: fmt.Sprintf("there is an agent %s already (%s)", t.Name,
				c.Place(t.Source)),
				Hint: "A definition of this name would take its place. Choose another name.", Code: troupe.ExitUsage}
		}
	}
	return nil
}

func writeNew(c *console.Console, base, name string) error {
	odd := strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	})
	if name == "" || odd || strings.HasPrefix(name, "-") || strings.EqualFold(name, "main") {
		return console.Usage("%q cannot be the name of an agent's file: use letters, digits, - and _", name)
	}
	const dir = ".claude/agents"
	path := filepath.Join(base, filepath.FromSlash(dir), name+".md")
	root, err := os.OpenRoot(base) // a link does not lead the file out of it
	if err != nil {
		return fmt.Errorf("open the folder for the definition: %w", err)
	}
	defer root.Close() //nolint:errcheck // it was only a way to the file
	if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
		return fmt.Errorf("make the folder of agents: %w", err)
	}
	f, err := root.OpenFile(filepath.FromSlash(dir+"/"+name+".md"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &troupe.UserError{Problem: path + " is there already", Hint: "Change it, or choose another name.",
			Code: troupe.ExitUsage}
	}
	if err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	_, err = fmt.Fprintf(f, newAgent, name)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	err = c.Printf("%s\nWhat it comes to: troupe agents show %s\n", c.Place(path), name)
	return err
}

// newAgent is a definition to begin with.
const newAgent = `---
name: %s
description: Say here what it is for and when to start one; the main agent chooses by this.
tools: Read, Grep, Glob, Bash   # leave the line out for all tools
# model: inherit                # or haiku, sonnet, opus, provider/name
# permissionMode: plan          # it only reads; its parent's mode holds without this
# sandbox: read-only            # the most that its commands are left
# maxTurns: 30
# background: true
---
Say what it is to do, how, and what its last message must hold: its parent sees nothing else of its work.
`

// mergesBack says in words what becomes of work in a folder of its own; "" where nothing is done by itself.
func mergesBack(m troupe.MergeBack) string {
	switch m {
	case troupe.MergeAuto:
		return "merged when it ends, if nothing conflicts and its parent may write it (merge: auto)"
	case troupe.MergeAsk:
		return "merged only with your yes (merge: ask)"
	case troupe.MergeKeep:
	}
	return ""
}

// worksIn says in words where agents of a type work; "" where their parents do.
func worksIn(kind troupe.WorkspaceKind) string {
	switch kind {
	case troupe.WorkspaceTree:
		return "a git worktree of its own (isolation: worktree)"
	case troupe.WorkspaceCopy:
		return "a copy of the folder (isolation: copy)"
	case troupe.WorkspaceIsolated:
		return "a git worktree of its own, or a copy where there is no repository (filesystem: isolated)"
	case troupe.WorkspaceEmpty:
		return "an empty folder of its own (filesystem: empty)"
	case troupe.WorkspaceReadOnly:
		return "its parent's folder, which it cannot write (filesystem: shared_ro)"
	case troupe.WorkspaceShared:
	}
	return ""
}
