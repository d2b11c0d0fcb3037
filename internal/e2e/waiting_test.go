package e2e_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestWaitingCommandHasNotBegun: of two commands of git in one repository one waits. If the process is killed, that
// one has not begun: it simply runs when the session goes on, and its agent is told of no interruption.
func TestWaitingCommandHasNotBegun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {name: one, description: d, prompt: p}}
      - {tool: Agent, input: {name: two, description: d, prompt: p}}
  - {agent: main, text: done}
  - {name: one, turn: 1, calls: [{tool: Bash, input: {command: "echo one >> begun; mkdir once 2> /dev/null && { echo up > up; sleep 300; }; git add nothing; echo ran $((1+1))"}}]}
  - {name: two, turn: 1, calls: [{tool: Bash, input: {command: "echo two >> begun; mkdir once 2> /dev/null && { echo up > up; sleep 300; }; git add nothing; echo ran $((1+1))"}}]}
  - {contains: may or may not have taken effect, text: was interrupted}
  - {contains: ran 2, text: has run}
`)
	up := p.fifo("up")
	old, err := startProcess(p.command("-p", "go", "--model", "script:../s.yaml", "--name", "job", "--permission-mode",
		"bypassPermissions", "--output-format", "stream-json"))
	if err != nil {
		t.Fatal(err)
	}
	up()
	p.eventually([]string{"echo one", "echo two"}, "log", "job", "--tree", "--json")
	if err := old.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := old.wait(); err != nil {
		t.Log(err)
	}
	run := p.run(0, "-p", "--resume", "job")
	if run.Result != "done" {
		t.Errorf("%s: %s %s", run.Status, run.Result, run.Error)
	}
	var told []string
	for _, b := range bodies[troupe.Ended](t, p.audit("job")) {
		told = append(told, b.Outcome.Result)
	}
	slices.Sort(told)
	if want := []string{"done", "has run", "was interrupted"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	if begun := strings.Fields(p.read("begun")); len(begun) != 2 || begun[0] == begun[1] {
		t.Errorf("begun: %q", begun)
	}
}
