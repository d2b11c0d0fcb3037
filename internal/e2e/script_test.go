package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script. Besides testscript's own commands there are:
//
//	exits CODE CMD...    run a command and demand its exit code
//	json PATH REGEXP     the JSON on stdout, one value or one a line, holds this at the path
//	                     (see lookup), as a whole; ! json demands that it does not
//	save NAME PATH       put a value of the JSON on stdout into a variable
//	put FILE PATH        put it into a file
//	start NAME CMD...    start a command beside the script
//	await NAME REGEXP    go on when a line it printed matches
//	signal NAME KILL     send it a signal
//	ends NAME CODE       wait for its end; its output is in NAME.out and NAME.err
//	audit REF            check a whole tree (see audit)
//	noprocesses          nothing that was started here is left
//	hear FIFO            go on when somebody writes to a named pipe
//	size FILE BYTES      write a file of that size
//	deliver STATUS URL HOW ID FILE [HEADER VALUE]
//	                     post a file to a webhook, signed with $SECRET, and demand a status (see cmdDeliver)
//	receive NAME STATUS  start a program that is told what happens and answers so, at $NAME
//	received NAME COUNT REGEXP [once]
//	                     go on when so many different notices came that match, signed with $SECRET (see cmdReceived)
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, testscript.Params{Dir: filepath.Join("testdata", "script")}, func(*testscript.Env) {})
}

func runScripts(t *testing.T, p testscript.Params, more func(*testscript.Env)) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: p.Dir, Files: p.Files,
		RequireUniqueNames: true,
		Deadline:           time.Now().Add(4 * patience),
		Setup: func(e *testscript.Env) error {
			real, err := filepath.EvalSymlinks(e.WorkDir)
			if err != nil {
				return err
			}
			e.Setenv("HOME", filepath.Join(real, ".user"))
			e.Setenv("TROUPE_HOME", filepath.Join(real, ".home"))
			e.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Values[running{}] = map[string]*process{}
			e.Values[receiving{}] = map[string]*receiver{}
			more(e)
			return os.MkdirAll(filepath.Join(real, ".user"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "json": cmdJSON, "save": cmdSave, "put": cmdPut, "start": cmdStart, "await": cmdAwait,
			"signal": cmdSignal, "ends": cmdEnds, "audit": cmdAudit, "noprocesses": cmdNoProcesses, "size": cmdSize,
			"hear": cmdHear, "call": cmdCall, "deliver": cmdDeliver, "receive": cmdReceive,
			"received": cmdReceived,
		},
	})
}

type running struct{}

func need(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg || len(args) < n {
		ts.Fatalf("usage: %s", usage)
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "exits CODE CMD...")
	code, err := exitCode(ts.Exec(args[1], args[2:]...))
	ts.Check(err)
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH REGEXP")
	}
	got, err := lookup(ts.ReadFile("stdout"), args[0])
	ts.Check(err)
	re, err := regexp.Compile(`(?s)^(?:` + args[1] + `)$`)
	ts.Check(err)
	if re.MatchString(got) == neg {
		ts.Fatalf("at %s stands %q", args[0], got)
	}
}

func cmdSave(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "save NAME PATH")
	got, err := lookup(ts.ReadFile("stdout"), args[1])
	ts.Check(err)
	ts.Setenv(args[0], got)
}

func cmdPut(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "put FILE PATH")
	got, err := lookup(ts.ReadFile("stdout"), args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(got), 0o600))
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "start NAME CMD...")
	cmd := inScript(ts, args[1], args[2:]...)
	p, err := startProcess(cmd)
	ts.Check(err)
	all, _ := ts.Value(running{}).(map[string]*process) // set up with the script
	all[args[0]] = p
	ts.Defer(func() {
		_ = cmd.Process.Kill() // it may well have ended
		_, _ = p.wait()
	})
}

func cmdHear(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "hear FIFO")
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR|syscall.O_NONBLOCK, 0)
	ts.Check(err)
	defer f.Close()
	ts.Check(hear(f, ts.Getenv("TROUPE_HOME")))
}

// inScript is a command in the script's folder and environment, beside what it logs.
func inScript(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	if name == "troupe" {
		name = binary
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TROUPE_HOME", "WORK", "TMPDIR", "TROUPE_DATABASE"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if key := ts.Getenv("ANTHROPIC_API_KEY"); key != "" { // of a script about what becomes of it
		cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY="+key)
	}
	return cmd
}

func started(ts *testscript.TestScript, name string) *process {
	all, _ := ts.Value(running{}).(map[string]*process) // set up with the script
	p := all[name]
	if p == nil {
		ts.Fatalf("nothing was started as %q", name)
	}
	return p
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "await NAME REGEXP [VARIABLE]")
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	m, err := started(ts, args[0]).find(re)
	ts.Check(err)
	if len(args) > 2 {
		ts.Setenv(args[2], m[1])
	}
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "signal NAME KILL|INT|TERM")
	sig, ok := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "INT": syscall.SIGINT,
		"TERM": syscall.SIGTERM}[args[1]]
	if !ok {
		ts.Fatalf("no such signal: %s", args[1])
	}
	ts.Check(started(ts, args[0]).cmd.Process.Signal(sig))
}

func cmdEnds(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ends NAME CODE")
	r, err := started(ts, args[0]).wait()
	ts.Check(err)
	ts.Check(errors.Join(
		os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(r.out), 0o600),
		os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(r.errOut), 0o600),
	))
	if strconv.Itoa(r.code) != args[1] {
		ts.Fatalf("%s: exit code %d, want %s\n%s%s", args[0], r.code, args[1], r.out, r.errOut)
	}
}

func cmdAudit(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "audit REF")
	log, err := inScript(ts, "troupe", "log", args[0], "--tree", "--json").Output()
	ts.Check(err)
	show, err := inScript(ts, "troupe", "show", args[0], "--json").Output()
	ts.Check(err)
	_, err = audit(string(log), string(show))
	ts.Check(err)
}

func cmdNoProcesses(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, "noprocesses")
	noProcesses(ts.Fatalf, ts.Getenv("TROUPE_HOME"))
}

func cmdSize(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "size FILE BYTES")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("x", n)), 0o600))
}

// lookup follows a path through JSON text; of several lines, each is an element of a list.
// Steps are parted by slashes: a name, an index, * for every element, count for their number,
// name=value for the elements that have it, name=* for those that have the name at all.
// What is found is printed, values parted by a space.
func lookup(text, path string) (string, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var all []any
	for dec.More() {
		var v any
		if err := dec.Decode(&v); err != nil {
			return "", fmt.Errorf("stdout is not JSON: %w", err)
		}
		all = append(all, v)
	}
	nodes := []any{any(all)}
	if len(all) == 1 {
		nodes = all
	}
	for _, step := range strings.Split(path, "/") {
		nodes = follow(nodes, step)
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		if s, ok := n.(string); ok {
			out[i] = s
			continue
		}
		b, err := json.Marshal(n)
		if err != nil {
			return "", err
		}
		out[i] = string(b)
	}
	return strings.Join(out, " "), nil
}

func follow(nodes []any, step string) []any {
	key, want, filter := strings.Cut(step, "=")
	switch {
	case step == "count":
		return []any{len(nodes)}
	case filter:
		return slices.DeleteFunc(slices.Clone(nodes), func(n any) bool {
			m, _ := n.(map[string]any)
			v, ok := m[key]
			return !ok || want != "*" && fmt.Sprint(v) != want
		})
	}
	var out []any
	for _, n := range nodes {
		switch n := n.(type) {
		case []any:
			if step == "*" {
				out = append(out, n...)
			} else if i, err := strconv.Atoi(step); err == nil && i < len(n) {
				out = append(out, n[i])
			}
		case map[string]any:
			if v, ok := n[step]; ok {
				out = append(out, v)
			}
		}
	}
	return out
}
