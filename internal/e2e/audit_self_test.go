package e2e_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestAuditSees damages a real log in every way that the audit is there to find.
func TestAuditSees(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Agent, input: {description: d, prompt: p}}, {tool: Glob, input: {pattern: "*"}}]
  - text: done
`)
	p.run(0, "-p", "go", "--model", "script:../s.yaml")
	log, show := p.troupe("log", "main", "--tree", "--json").out, p.troupe("show", "main", "--json").out
	if _, err := audit(log, show); err != nil {
		t.Fatal(err)
	}
	seq := regexp.MustCompile(`"seq":\d+`)
	line := func(re string) string {
		found := regexp.MustCompile(`(?m)^.*` + re + `.*\n`).FindString(log)
		if found == "" {
			t.Fatalf("no line matches %s in\n%s", re, log)
		}
		return found
	}
	// instead puts a copy of one line in the place of another, under its number.
	instead := func(of, copied string) string {
		return strings.Replace(log, line(of), seq.ReplaceAllString(line(copied), seq.FindString(line(of))), 1)
	}
	const glob, kid, end = `"tool.finished".*"name":"Glob"`, `"tool.finished".*"name":"Agent"`,
		`"session.ended".*"type":"main"`
	last := line(end)
	for want, damaged := range map[string][2]string{
		"follows event":         {strings.Replace(log, line(`"model.sealed"`), "", 1), show},
		"has its second result": {instead(glob, kid), show},
		"have a result":         {instead(glob, `"session.started"`), show},
		"ends for the second time": {log + seq.ReplaceAllString(last,
			fmt.Sprintf(`"seq":%d`, strings.Count(log, sessionOf(last))+1)), show},
		"never ended":         {strings.Replace(log, last, "", 1), show},
		"in its parent's log": {strings.Replace(log, `,"outcome":{`, `,"outcame":{`, 1), show},
		"is not the tree's": {log, regexp.MustCompile(`"usage":\{"input":\d+`).ReplaceAllString(show,
			`"usage":{"input":7`)},
		"was read at event 2": {strings.Replace(log, line(`"model.sealed"`),
			seq.ReplaceAllString(line(`"mail.delivered"`), seq.FindString(line(`"model.sealed"`))), 1), show},
		"agents in the report": {log,
			regexp.MustCompile(`,\{"id":[^{}]*(\{[^{}]*\}[^{}]*)*\}\]`).ReplaceAllString(show, "]")},
	} {
		if _, err := audit(damaged[0], damaged[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got: %v", want, err)
		}
	}
}

// sessionOf is how a line names its session.
func sessionOf(line string) string {
	return regexp.MustCompile(`"session":"\w+","seq"`).FindString(line)
}

// TestNoProcessesSees: a process that was left behind is found.
func TestNoProcessesSees(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := exec.CommandContext(t.Context(), "sleep", "300")
	cmd.Env = p.environ
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if left := processesOf(p.root); len(left) != 1 || !strings.Contains(left[0], "sleep 300") {
		t.Errorf("found %q", left)
	}
	_ = cmd.Process.Kill() // it cannot have ended by itself
	_ = cmd.Wait()         // by a signal, as told
}

// TestAuditSeesCommands does the same to the log of a run with tasks in the background.
func TestAuditSeesCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {description: d, prompt: p, name: kid, run_in_background: true}}
      - {tool: Bash, input: {command: "true", run_in_background: true}}
  - {agent: main, text: done}
  - {turn: 1, calls: [{tool: Bash, input: {command: sleep 300, run_in_background: true}}]}
  - text: done
`)
	p.run(0, "-p", "go", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions")
	p.audit("main")
	log, show := p.troupe("log", "main", "--tree", "--json").out, p.troupe("show", "main", "--json").out
	for want, damaged := range map[string]string{
		"of command b1.1": strings.Replace(log, `"kind":"shell","task":"b1.1"`,
			`"kind":"shell","task":"b9.9"`, 1),
		"of command b1.0": strings.ReplaceAll(log, `(b1.0, log`, `(b1.x, log`),
		"was told 2 times": regexp.MustCompile(`\((b1\.0, log: [^"]*)\)`).ReplaceAllString(log,
			`($1)","again ($1)`),
		"is 0 times in its parent's " +
			"log": regexp.MustCompile(`("ended":\{"session":"\w+","run":)1`).ReplaceAllString(log, "${1}7"),
		"answered no call of its " +
			"parent": regexp.MustCompile(`"task":\{"id":"[0-9a-z]{12}","kind":"agent"`).ReplaceAllString(log,
			`"task":{"id":"aaaaaaaaaaaa","kind":"agent"`),
	} {
		if damaged == log {
			t.Errorf("%q: the log is not damaged", want)
		}
		if _, err := audit(damaged, show); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got: %v", want, err)
		}
	}
}
