package e2e_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// frozen is a run in a process that is stopped once a line of its output matches.
func frozen(t *testing.T, p *place, line string, args ...string) *process {
	t.Helper()
	return frozenAt(t, p, []string{line}, args...)
}

// frozenAt is frozen once lines of its output have matched, one after the other.
func frozenAt(t *testing.T, p *place, lines []string, args ...string) *process {
	t.Helper()
	old, err := startProcess(p.command(append([]string{"-p", "--name", "job", "--output-format", "stream-json"},
		args...)...))
	for _, line := range lines {
		if err == nil {
			err = old.await(regexp.MustCompile(line))
		}
	}
	if err == nil {
		err = old.cmd.Process.Signal(syscall.SIGSTOP)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = old.cmd.Process.Kill()
		_, _ = old.wait() // it may have ended before
	})
	return old
}

// unanswered wants a command to say soon that the process does not answer, and what to do.
func (p *place) unanswered(old *process, args ...string) {
	p.t.Helper()
	start := time.Now()
	r := p.troupe(args...)
	took := time.Since(start)
	for _, want := range []string{fmt.Sprintf("process %d on ", old.cmd.Process.Pid), "it does not answer",
		"--take-over"} {
		if r.code == 0 || !strings.Contains(r.errOut, want) {
			p.t.Errorf("troupe %s: exit %d, does not say %q:\n%s", strings.Join(args, " "), r.code, want, r.errOut)
		}
	}
	if took > 5*time.Second { // two on a machine that has nothing else to do
		p.t.Errorf("troupe %s took %s", strings.Join(args, " "), took)
	}
	p.t.Logf("%s: %s", args[0], took)
}

// TestFrozenOwner: of a process that is stopped every command says at once that it does not answer. Its session
// can be taken over, and when it wakes it writes nothing to it.
func TestFrozenOwner(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("slow.yaml", "replies: [{delay: 3s, text: from the old process}]\n")
	p.write("quick.yaml", "replies: [{text: from the new process}]\n")
	old := frozen(t, p, `"model.sealed"`, "--model", "script:slow.yaml", "go")
	p.unanswered(old, "send", "job", "hello")
	p.unanswered(old, "stop", "job")
	p.unanswered(old, "-p", "--resume", "job", "go on")
	p.unanswered(old, "rm", "job")
	if r := p.troupe("stop", "job", "--take-over"); r.code != 0 || !strings.Contains(r.out, "taken over and stopped") {
		t.Fatalf("stop --take-over: %d %s%s", r.code, r.out, r.errOut)
	}
	if log := p.troupe("log", "job", "--json").out; !strings.Contains(log, `"kind":"stop"`) ||
		!strings.Contains(log, `"error":"stopped by you"`) {
		t.Errorf("the log tells of no stop:\n%s", log)
	}
	if show := p.troupe("show", "job"); !strings.Contains(show.out, "stopped") {
		t.Errorf("%s", show.out)
	}
	run := p.run(0, "-p", "--resume", "job", "--model", "script:quick.yaml", "go on")
	if run.Result != "from the new process" {
		t.Errorf("%s: %q %s", run.Status, run.Result, run.Error)
	}
	if log := p.troupe("log", "job").out; strings.Contains(log, "resumed before a stop") {
		t.Errorf("the stop had ended the run:\n%s", log)
	}
	before := len(p.audit("job"))
	if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if r, err := old.wait(); err != nil || r.code == 0 {
		t.Errorf("the process that woke: %d, %v", r.code, err)
	}
	if after := len(p.audit("job")); after != before {
		t.Errorf("the process that woke has written %d events", after-before)
	}
}

// TestTakeOver: by a resume, and by words that wait for one; never from a process that answers.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("asks.yaml", "replies:\n  - turn: 1\n    calls: [{tool: Write, input: {file_path: a, content: b}}]\n  - "+
		"text: Done.\n")
	p.write("quick.yaml", "replies: [{text: from the new process}]\n")
	old := frozen(t, p, `"request.opened"`, "--model", "script:asks.yaml", "--ask", "10m", "go")
	p.unanswered(old, "answer", "allow")
	if r := p.troupe("send", "job", "one more thing", "--take-over"); r.code != 0 {
		t.Errorf("send --take-over: %d %s", r.code, r.errOut)
	}
	if run := p.run(0, "-p", "--resume", "job", "--model", "script:quick.yaml"); run.Result != "from the new process" {
		t.Errorf("%s: %q %s", run.Status, run.Result, run.Error)
	}
	// The command that the refusal names does it in one step.
	for _, which := range [][]string{{"--resume", "job"}, {"--continue"}} {
		again := newPlace(t)
		again.write("asks.yaml", p.read("asks.yaml"))
		again.write("quick.yaml", p.read("quick.yaml"))
		frozen(t, again, `"request.opened"`, "--model", "script:asks.yaml", "--ask", "10m", "go")
		args := append([]string{"-p", "--take-over", "--model", "script:quick.yaml", "go on"}, which...)
		if run := again.run(0, args...); run.Result != "from the new process" {
			t.Errorf("%s: %s: %q %s", which, run.Status, run.Result, run.Error)
		}
	}
	awake := newPlace(t)
	awake.write("asks.yaml", p.read("asks.yaml"))
	running := frozen(t, awake, `"request.opened"`, "--model", "script:asks.yaml", "--ask", "10m", "go")
	if err := running.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if r := awake.troupe("stop", "job", "--take-over"); r.code != 2 ||
		!strings.Contains(r.errOut, "answers; it was not") {
		t.Errorf("of a process that answers: %d %s", r.code, r.errOut)
	}
	if r := awake.troupe("stop", "job", "--now"); r.code != 0 {
		t.Errorf("stop: %d %s", r.code, r.errOut)
	}
	if _, err := running.wait(); err != nil {
		t.Error(err)
	}
}

// TestTakeOverStopsTheTree: the agents of a frozen process are stopped with the session, each with its end in its
// log and in its parent's, and a resume goes on from there.
func TestTakeOverStopsTheTree(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("team.yaml", `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {name: waited, description: d, prompt: p}}
      - {tool: Agent, input: {name: beside, description: d, prompt: p, run_in_background: true}}
  - {agent: main, text: went on}
  - {turn: 1, calls: [{tool: Bash, input: {command: "until [ -e ../over ]; do sleep 0.1; done"}}]}
  - text: never
`)
	// Once both commands have begun there is nothing to commit: a process that is frozen in a commit keeps the
	// database from all others, who wait half a minute for it.
	const begun = `"tool.started".*"Bash"`
	old := frozenAt(t, p, []string{begun, begun}, "--model", "script:team.yaml", "--permission-mode",
		"bypassPermissions", "go")
	r := p.troupe("stop", "job", "--take-over")
	for strings.Contains(r.errOut, "database is locked") { // it was frozen in a commit
		err := old.cmd.Process.Signal(syscall.SIGCONT)
		p.troupe("sessions")
		if err = errors.Join(err, old.cmd.Process.Signal(syscall.SIGSTOP)); err != nil {
			t.Fatal(err)
		}
		r = p.troupe("stop", "job", "--take-over")
	}
	if r.code != 0 {
		t.Fatalf("stop --take-over: %d %s%s", r.code, r.out, r.errOut)
	}
	p.audit("job")
	show := p.troupe("show", "job", "--json").out
	if n := strings.Count(show, `"status":"cancelled"`) + strings.Count(show, `"status": "cancelled"`); n < 3 {
		t.Errorf("of three agents %d were stopped\n%s", n, show)
	}
	if run := p.run(0, "-p", "--resume", "job", "--model", "script:team.yaml"); run.Result != "went on" ||
		len(run.Agents) != 3 {
		t.Errorf("%s: %q %s, %d agents", run.Status, run.Result, run.Error, len(run.Agents))
	}
	p.write("../over", "")
	if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := old.wait(); err != nil {
		t.Error(err)
	}
	p.audit("job")
}
