package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newPermissions makes the command with its two parts.
func newPermissions(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "permissions", Short: "Show and test what agents may do here",
		Long: `Rules, modes and the kernel decide what agents may do; see "troupe docs permissions".
` + "`list`" + ` shows every rule that holds in this folder and where it stands; ` + "`explain`" + ` says what would
become of a call, without running it.`,
		Example: `troupe permissions list
echo '{"tool":"Bash","input":{"command":"rm -rf build"}}' | troupe permissions explain`,
		Args: console.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExplain(c), newRules(c))
	return cmd
}

// decisionFlags has the flags that change what is decided, as a run has them.
func decisionFlags(cmd *cobra.Command, c *console.Console, p *wire.Place) {
	fs := cmd.Flags()
	p.Cwd = c.Cwd
	fs.StringVar((*string)(&p.Mode), "permission-mode", "",
		"How calls are decided: "+troupe.ModeNames(" or "))
	fs.StringArrayVar(&p.Allow, "allowed-tools", nil, "Permission rules that allow, as for a run")
	fs.StringArrayVar(&p.Deny, "disallowed-tools", nil, "Permission rules that deny, as for a run")
	fs.StringVar(&p.Agents, "agents", "", "Agents as JSON, as for a run")
	fs.StringVar(&p.Cwd, "cwd", c.Cwd, "Folder to decide for (default: this one)")
	fs.BoolVar(&p.Trust, "trust", false, "Decide as if this folder were trusted")
}

func newExplain(c *console.Console) *cobra.Command {
	var p wire.Place
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain [CALL...]", Short: "Say whether calls would be allowed, and why",
		Long: `Say what would become of calls. CALL is a command, or a tool with what it would be used on, written as in a
rule: 'git push', 'Edit(main.go)', 'WebFetch(domain:go.dev)'. Without one, calls are read from standard input, a
JSON object each:

  {"id": 1, "agent": "Explore", "mode": "default", "tool": "Bash", "input": {"command": "ls"}}

and what the gate says of each is printed: to a terminal in words, elsewhere and with --json as JSON, in one line:

  {"id": 1, "decision": "allow", "sandbox": "read-only", "rule": "", "source": "", "why": "…"}

Only tool is needed. agent is main (or nothing), a type of agent, or types with slashes between
them; mode is the main agent's. decision is allow, ask or deny; sandbox is what confines a
command that is allowed, or that leave is given for: read-only, workspace or none. kept, if it is
there, names what such a command may not read all the same, and what would change that. Nothing is
run. A line that cannot be read gets a verdict that says so, and the exit code is 2.`,
		Example: `troupe permissions explain 'Bash(git push)'
echo '{"tool":"Edit","input":{"file_path":"main.go","old_string":"a","new_string":"b"}}' | ` +
			"troupe permissions explain\ntroupe permissions explain --permission-mode plan < calls.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := c.In
			switch lines, err := writtenCalls(args); {
			case err != nil:
				return err
			case len(args) > 0:
				in = strings.NewReader(lines)
			case c.InTTY:
				return console.Usage("troupe permissions explain takes calls, such as: troupe permissions explain " +
					"'Bash(git push)'; without one it reads them from standard input, which is a terminal here")
			}
			return inHome(c, func(ctx context.Context, a api.API, _ []string) (err error) {
				if p.Cwd, err = realFolder(c, p.Cwd); err != nil {
					return err
				}
				as := *c
				as.OutTTY = c.OutTTY && !asJSON
				return explainCalls(ctx, &as, in, a, p)
			})(cmd, args)
		},
	}
	decisionFlags(cmd, c, &p)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func realFolder(c *console.Console, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Cwd, name)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", console.Usage("--cwd: %v", err)
	}
	return real, nil
}

// maxCallLine is more than any call that a tool takes.
const maxCallLine = 16 << 20

// explainCalls answers each line in its turn. Those that have come already are asked about together.
func explainCalls(ctx context.Context, c *console.Console, from io.Reader, a api.API, p wire.Place) error {
	odd, err := a.Machine().Explain(ctx, p, nil)
	if err != nil {
		return err
	}
	for _, w := range odd.Warnings {
		c.WarnOnce(w)
	}
	in := bufio.NewReaderSize(from, 1<<19)
	bad, ignored := 0, map[string]bool{}
	var verdicts []wire.Verdict
	var calls []wire.Call
	var at []int // where the verdict of each call goes
	for n, end := 1, false; !end; n++ {
		line, err := readCallLine(in)
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return fmt.Errorf("read calls: %w", err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			call, why := parseCall(line, n)
			if why == "" {
				calls, at = append(calls, call), append(at, len(verdicts))
			} else {
				bad++
			}
			verdicts = append(verdicts,
				wire.Verdict{ID: call.ID, Decision: troupe.Deny, Sandbox: troupe.LevelNone, Why: why})
			for _, name := range unknownFields(line) {
				if !ignored[name] {
					ignored[name] = true
					c.Warn(fmt.Sprintf("line %d: %q is not a field of a call and changes nothing; "+
						"the fields are id, agent, mode, tool and input", n, name))
				}
			}
		}
		if !end && in.Buffered() > 0 && len(calls) < wire.MostCalls {
			continue
		}
		if err := explainBatch(ctx, c, a, p, calls, at, verdicts); err != nil {
			return err
		}
		verdicts, calls, at = nil, nil, nil
	}
	if bad > 0 {
		return &troupe.UserError{
			Problem: fmt.Sprintf("%d of the lines could not be read as calls", bad),
			Hint:    "`troupe permissions explain --help` shows the form of a call.", Code: troupe.ExitUsage,
		}
	}
	return nil
}

// explainBatch has calls explained, and prints their verdicts among those that need no asking.
func explainBatch(ctx context.Context, c *console.Console, a api.API, p wire.Place, calls []wire.Call, at []int,
	verdicts []wire.Verdict) error {
	if len(calls) > 0 {
		said, err := a.Machine().Explain(ctx, p, calls)
		if err != nil {
			return err
		}
		for i, v := range said.Verdicts {
			verdicts[at[i]] = v
		}
	}
	for _, v := range verdicts {
		if len(v.ID) == 0 {
			v.ID = json.RawMessage("null")
		}
		if c.OutTTY {
			writeVerdict(c, v)
			continue
		}
		if err := c.JSON(v); err != nil {
			return err
		}
	}
	return nil
}

// writeVerdict says a verdict for people.
func writeVerdict(c *console.Console, v wire.Verdict) {
	line := func(label, text string) {
		if text != "" {
			_ = c.Printf("%-9s %s\n", label, console.VisibleLine(text))
		}
	}
	line("decision", string(v.Decision))
	if v.Sandbox != troupe.LevelNone {
		line("sandbox", string(v.Sandbox))
	}
	line("rule", v.Rule)
	line("in", c.ShortPath(v.Source))
	line("why", v.Why)
}

// readCallLine reads a line of any length up to maxLine; what is longer is cut, and then cannot be
// read as JSON.
func readCallLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line) < maxCallLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// parseCall reads a line; why says what is wrong with it.
func parseCall(line []byte, n int) (call wire.Call, why string) {
	dec := json.NewDecoder(bytes.NewReader(line))
	if err := dec.Decode(&call); err != nil {
		return call, fmt.Sprintf("line %d is not a call: %v", n, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return call, fmt.Sprintf("line %d holds more than one JSON value", n)
	}
	if call.Tool == "" {
		return call, fmt.Sprintf("line %d names no tool", n)
	}
	return call, ""
}

// unknownFields are those of a line that no call has. People keep their own notes beside their cases.
func unknownFields(line []byte) []string {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return nil // judge says what is wrong with it
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		switch strings.ToLower(name) { // as they are read
		case "id", "agent", "mode", "tool", "input":
			return true
		default:
			return false
		}
	})
	return names
}

func newRules(c *console.Console) *cobra.Command {
	var p wire.Place
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the rules in force here, and where each stands", Args: console.NoArgs,
		Long: `List every rule that a run in this folder would have, the strongest first: what it covers, the
file or flag it stands in, and which rules it overrides.`,
		Example: "troupe permissions list\ntroupe permissions list --json",
		RunE: inHome(c, func(ctx context.Context, a api.API, _ []string) (err error) {
			if p.Cwd, err = realFolder(c, p.Cwd); err != nil {
				return err
			}
			list, err := a.Machine().Rules(ctx, p)
			if err != nil {
				return err
			}
			for _, w := range list.Warnings {
				c.WarnOnce(w)
			}
			list.Warnings = nil
			if asJSON {
				return c.JSON(list)
			}
			return writeRuleList(c, list)
		}),
	}
	decisionFlags(cmd, c, &p)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeRuleList(c *console.Console, l wire.RuleList) error {
	_ = c.Printf("mode       %s\n", console.Line(string(l.Mode), 0))
	sandbox := "none on this machine: what a command does is judged by its text"
	if len(l.Levels) > 0 {
		var names []string
		for _, level := range l.Levels {
			names = append(names, string(level))
		}
		sandbox = "commands can be confined: " + strings.Join(names, ", ")
	}
	_ = c.Printf("sandbox    %s\n", sandbox)
	if l.Untrusted {
		fmt.Fprintln(c.Out, "trust      this folder is not trusted: "+
			"what its own files allow does not count (troupe --trust)")
	}
	_ = c.Printf("hidden     agents cannot read %s, such as keys; --json lists them\n",
		console.Count(len(l.Hidden), "place"))
	_ = c.Printf("protected  agents cannot change %s without a question, such as git hooks; "+
		"--json lists them\n", console.Count(len(l.Protected), "place"))
	if len(l.Rules)+len(l.Without) == 0 {
		_, err := fmt.Fprintln(c.Out, "\nNo rules are set.")
		return err
	}
	writeRules(c, l.Rules, "", "")
	// Their words are not at the beginning of a line: nobody who looks for what is allowed takes
	// them for it.
	writeRules(c, l.Without, "off   ", "does not count until this folder is trusted (troupe --trust)")
	return nil
}

func writeRules(c *console.Console, list []wire.RuleRow, mark, note string) {
	for _, r := range list {
		_ = c.Printf("\n%s%-5s %s\n", mark, r.Effect, console.VisibleLine(r.Rule))
		if note != "" {
			_ = c.Printf("      %s\n", note)
		}
		_ = c.Printf("      %s\n", console.VisibleLine(r.Meaning))
		_ = c.Printf("      in %s\n", console.VisibleLine(c.ShortPath(r.Source)))
		if r.Problem != "" {
			_ = c.Printf("      ! %s\n", console.VisibleLine(r.Problem))
		}
		for _, s := range r.Shadowed {
			_ = c.Printf("      has no effect, because this rule is stronger: %s\n", console.VisibleLine(s))
		}
		for _, s := range r.Shadows {
			_ = c.Printf("      is stronger than %s\n", console.VisibleLine(s))
		}
	}
}
