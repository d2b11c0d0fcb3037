package e2e_test

import (
	"bufio"
	"strings"
	"testing"
)

// TestReaderGoesAway: whoever reads the output leaves in the middle. The agents go on to their
// end, the message says so, and the exit code is not success.
func TestReaderGoesAway(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"stream-json", "json", "text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("../s.yaml", holds)
			ready := p.fifo("ready")
			p.mkfifo("go")
			var errOut strings.Builder
			cmd := p.command("-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode",
				"bypassPermissions", "--output-format", format)
			cmd.Stderr = &errOut
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ready()
			if format == "stream-json" {
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
					t.Error(err)
				}
			}
			if err := out.Close(); err != nil {
				t.Error(err)
			}
			p.write("go", "") // the other side of the pipe
			code, err := exitCode(cmd.Wait())
			if err != nil || code != 1 || strings.Count(errOut.String(), "broken pipe") != 1 ||
				strings.Contains(errOut.String(), "goroutine") {
				t.Errorf("%v, exit %d\n%s", err, code, errOut.String())
			}
			if format == "stream-json" && !strings.Contains(errOut.String(), "see its result with: troupe show ") {
				t.Errorf("it does not say where the result is:\n%s", errOut.String())
			}
			if run := p.report("job"); run.Result != "all done" || run.Agents[1].Status != "completed" {
				t.Errorf("the run did not go on: %+v", run)
			}
			p.audit("job")
		})
	}
}

// TestNobodyReads: a command that only shows something ends without a word when its reader has
// seen enough, as other tools do.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ANTHROPIC_API_KEY=sk-ant-none", "ANTHROPIC_BASE_URL=http://127.0.0.1:9")
	p.write("../s.yaml", "replies: [{text: done}]")
	p.run(0, "-p", "go", "--name", "job", "--model", "script:../s.yaml")
	for _, args := range [][]string{
		{"sessions"}, {"sessions", "--json"}, {"log", "job"}, {"log", "job", "--json"}, {"show", "job"}, {"requests"},
		{"tasks"}, {"cost", "job"},
		{"models"}, {"doctor"}, {"permissions", "list"}, {"version"}, {"--help"}, {"help", "log"},
		{"rm", "--older-than", "30d"},
	} {
		var errOut strings.Builder
		cmd := p.command(args...)
		cmd.Stderr = &errOut
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil { // before it can write
			t.Fatal(err)
		}
		code, err := exitCode(cmd.Run())
		if err != nil || code != 141 && code != 0 || errOut.Len() > 0 {
			t.Errorf("%q: %v, exit %d\n%s", args, err, code, errOut.String())
		}
	}
}

// TestCommandsHaveTheirSignals: what the program does about pipes without a reader is not
// handed down: a command that writes to nobody ends, as it would in a terminal.
func TestCommandsHaveTheirSignals(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - {turn: 1, calls: [{tool: Bash, input: {command: "set -o pipefail; yes | head -1; echo code $?"}}]}
  - {contains: code 141, text: ended by the signal}
  - text: not ended by it
`)
	if run := p.run(0, "-p", "go", "--model", "script:../s.yaml", "--permission-mode",
		"bypassPermissions"); run.Result != "ended by the signal" {
		t.Errorf("got %q\n%s", run.Result, p.troupe("log", "main").out)
	}
}
