package cmd

import (
	"bufio"
	"bytes"
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
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// newPermissions makes the command with its two parts.
func newPermissions(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "permissions", Short: "Show and test what agents may do here",
		Long: `What agents may do is decided by rules, modes and the kernel; docs/permissions.md tells how.
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
func decisionFlags(cmd *cobra.Command, c *console.Console, r *app.Request) {
	fs := cmd.Flags()
	r.Cwd = c.Cwd
	fs.StringVar(&r.Mode, "permission-mode", "", "default, acceptEdits, plan, dontAsk or bypassPermissions")
	fs.StringArrayVar(&r.Allow, "allowed-tools", nil, "Permission rules that allow, as for a run")
	fs.StringArrayVar(&r.Deny, "disallowed-tools", nil, "Permission rules that deny, as for a run")
	fs.StringVar(&r.Agents, "agents", "", "Agents as JSON, as for a run")
	fs.StringVar(&r.Cwd, "cwd", c.Cwd, "Folder to decide for (default: this one)")
	fs.BoolVar(&r.Trust, "trust", false, "Decide as if this folder were trusted")
}

func newExplain(c *console.Console) *cobra.Command {
	var r app.Request
	cmd := &cobra.Command{
		Use: "explain", Short: "Say what would become of calls, one JSON object a line", Args: console.NoArgs,
		Long: `Read calls from standard input, a JSON object each:

  {"id": 1, "agent": "Explore", "mode": "default", "tool": "Bash", "input": {"command": "ls"}}

and print for each what the gate says, in one line:

  {"id": 1, "decision": "allow", "sandbox": "read-only", "rule": "", "source": "", "why": "…"}

Only tool is needed. agent is main (or nothing), a type of agent, or types with slashes between
them; mode is the main agent's. decision is allow, ask or deny; sandbox is what confines a
command that is allowed, or that leave is given for: read-only, workspace or none. kept, if it is
there, names what such a command may not read all the same, and what would change that. Nothing is
run. A line that cannot be read gets a verdict that says so, and the exit code is 2.`,
		Example: `echo '{"tool":"Edit","input":{"file_path":"main.go","old_string":"a","new_string":"b"}}' | troupe permissions explain
troupe permissions explain --permission-mode plan < calls.jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd.Context(), func(a *app.App) (err error) {
				if r.Cwd, err = realFolder(c, r.Cwd); err != nil {
					return err
				}
				x, warnings, err := a.Explain(cmd.Context(), r)
				if err != nil {
					return err
				}
				for _, w := range warnings {
					c.Warn(w)
				}
				return errors.Join(explainCalls(c, x), x.Close())
			})
		},
	}
	decisionFlags(cmd, c, &r)
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

// maxLine is more than any call that a tool takes.
const maxCallLine = 16 << 20

func explainCalls(c *console.Console, x interface{ Judge(wire.Call) wire.Verdict }) error {
	in := bufio.NewReaderSize(c.In, 64<<10)
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	bad := 0
	ignored := map[string]bool{}
	for n := 1; ; n++ {
		line, err := readCallLine(in)
		if len(bytes.TrimSpace(line)) > 0 {
			v, ok := judgeLine(x, line, n)
			if !ok {
				bad++
			}
			for _, name := range unknownFields(line) {
				if !ignored[name] {
					ignored[name] = true
					c.Warn(fmt.Sprintf("line %d: %q is not a field of a call and changes nothing; the fields are id, agent, mode, tool and input", n, name))
				}
			}
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read calls: %w", err)
		}
	}
	if bad > 0 {
		return &troupe.UserError{
			Problem: fmt.Sprintf("%d of the lines could not be read as calls", bad),
			Hint:    "`troupe permissions explain --help` shows the form of a call.", Code: console.ExitUsage,
		}
	}
	return nil
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

func judgeLine(x interface{ Judge(wire.Call) wire.Verdict }, line []byte, n int) (wire.Verdict, bool) {
	var call wire.Call
	refuse := func(why string) (wire.Verdict, bool) {
		id := call.ID
		if len(id) == 0 {
			id = json.RawMessage("null")
		}
		return wire.Verdict{ID: id, Decision: troupe.Deny, Sandbox: troupe.LevelNone, Why: why}, false
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if err := dec.Decode(&call); err != nil {
		return refuse(fmt.Sprintf("line %d is not a call: %v", n, err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return refuse(fmt.Sprintf("line %d holds more than one JSON value", n))
	}
	if call.Tool == "" {
		return refuse(fmt.Sprintf("line %d names no tool", n))
	}
	v := x.Judge(call)
	if len(v.ID) == 0 {
		v.ID = json.RawMessage("null")
	}
	return v, true
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
	var r app.Request
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the rules in force here, and where each stands", Args: console.NoArgs,
		Long: `List every rule that a run in this folder would have, the strongest first: what it covers, the
file or flag it stands in, and which rules it overrides.`,
		Example: "troupe permissions list\ntroupe permissions list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd.Context(), func(a *app.App) (err error) {
				if r.Cwd, err = realFolder(c, r.Cwd); err != nil {
					return err
				}
				list, warnings, err := a.Rules(cmd.Context(), r)
				if err != nil {
					return err
				}
				for _, w := range warnings {
					c.Warn(w)
				}
				if asJSON {
					return c.JSON(list)
				}
				return writeRuleList(c, list)
			})
		},
	}
	decisionFlags(cmd, c, &r)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writeRuleList(c *console.Console, l wire.RuleList) error {
	fmt.Fprintf(c.Out, "mode    %s\n", l.Mode)
	sandbox := "none: commands are judged by reading them"
	if len(l.Levels) > 0 {
		var names []string
		for _, level := range l.Levels {
			names = append(names, string(level))
		}
		sandbox = strings.Join(names, ", ")
	}
	fmt.Fprintf(c.Out, "sandbox %s\n", sandbox)
	if l.Untrusted {
		fmt.Fprintln(c.Out, "trust   this folder is not trusted: what its own files allow does not count (troupe --trust)")
	}
	fmt.Fprintf(c.Out, "kept    %d places may not be read and %d not be changed by what agents run; --json lists them\n", len(l.Hidden), len(l.Protected))
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
		fmt.Fprintf(c.Out, "\n%s%-5s %s\n", mark, r.Effect, console.VisibleLine(r.Rule))
		if note != "" {
			fmt.Fprintf(c.Out, "      %s\n", note)
		}
		fmt.Fprintf(c.Out, "      %s\n", console.VisibleLine(r.Meaning))
		fmt.Fprintf(c.Out, "      in %s\n", console.VisibleLine(c.ShortPath(r.Source)))
		if r.Problem != "" {
			fmt.Fprintf(c.Out, "      ! %s\n", console.VisibleLine(r.Problem))
		}
		for _, s := range r.Shadowed {
			fmt.Fprintf(c.Out, "      has no effect: %s\n", console.VisibleLine(s))
		}
		for _, s := range r.Shadows {
			fmt.Fprintf(c.Out, "      overrides %s\n", console.VisibleLine(s))
		}
	}
}
