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
	const glob, kid, end = `"tool.finished".*"name":"Glob"`, `"tool.finished".*"name":"Agent"`, `"session.ended".*"type":"main"`
	last := line(end)
	for want, damaged := range map[string][2]string{
		"follows event":            {strings.Replace(log, line(`"model.sealed"`), "", 1), show},
		"has its second result":    {instead(glob, kid), show},
		"have a result":            {instead(glob, `"session.started"`), show},
		"ends for the second time": {log + seq.ReplaceAllString(last, fmt.Sprintf(`"seq":%d`, strings.Count(log, sessionOf(last))+1)), show},
		"never ended":              {strings.Replace(log, last, "", 1), show},
		"in its parent's log":      {strings.Replace(log, `,"outcome":{`, `,"outcame":{`, 1), show},
		"is not the tree's":        {log, regexp.MustCompile(`"usage":\{"input":\d+`).ReplaceAllString(show, `"usage":{"input":7`)},
		"agents in the report":     {log, regexp.MustCompile(`,\{"id":[^{]*\{[^}]*\}[^}]*\}\]`).ReplaceAllString(show, "]")},
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
