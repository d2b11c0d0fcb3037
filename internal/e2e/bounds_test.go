package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// TestSpentLimitEndsCommands: a limit of money ends the commands in the background with the run, which says so.
func TestSpentLimitEndsCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
price: {input: 1, output: 1, cache_read: 1, cache_write: 1}
replies:
  - turn: 1
    usage: {input: 60000, output: 0}
    calls: [{tool: Bash, input: {command: sleep 500, run_in_background: true}}]
  - usage: {input: 60000, output: 0}
    calls: [{tool: Glob, input: {pattern: "*"}}]
`)
	start := time.Now()
	run := p.run(4, "-p", "go", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions", "--max-cost",
		"0.1")
	took := time.Since(start)
	if !strings.Contains(run.Error, "the command in the background was stopped with it") || took > time.Minute {
		t.Errorf("after %s: %s", took, run.Error)
	}
	if tasks := p.troupe("tasks", "main"); strings.Contains(tasks.out, "running") {
		t.Errorf("%s", tasks.out)
	}
	p.audit("main")
}

// TestLimitNamesTheStall: a limit of time that ends a run while the model says nothing names that as its cause.
func TestLimitNamesTheStall(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	p, _ := newServed(t, func(*modeltest.Request) modeltest.Reply {
		<-never
		return modeltest.Text("Late.")
	})
	run := p.run(4, "-p", "go", "--max-time", "11s")
	close(never)
	if !strings.Contains(run.Error, "reached its limit of 11s; the model had not answered for 1") {
		t.Errorf("%s", run.Error)
	}
}

// TestLimitNamesTheStallBelow: so it does where an agent waits for its model and the main agent for the agent.
func TestLimitNamesTheStallBelow(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	p, _ := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if isMain(r) {
			return modeltest.Calls(agentCall("name", "kid", "prompt", "look"))
		}
		<-never
		return modeltest.Text("Late.")
	})
	run := p.run(4, "-p", "go", "--max-time", "12s")
	close(never)
	if !strings.Contains(run.Error, `reached its limit of 12s; the model of agent "kid" had not answered for 1`) {
		t.Errorf("%s", run.Error)
	}
	if kid := run.Agents[1]; !strings.Contains(kid.Error, "; the model had not answered for 1") {
		t.Errorf("%s: %s", kid.Path, kid.Error)
	}
}

// TestEmptyDatabase: a database without content is a new one only where nothing tells of sessions.
func TestEmptyDatabase(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", "replies: [{text: ok}]\n")
	file := filepath.Join(p.home(), "troupe.db")
	p.write("../home/troupe.db", "")
	p.run(0, "-p", "go", "--model", "script:../s.yaml")
	for _, left := range []string{filepath.Join(p.home(), "outputs", "abcdefghjkmn", "b1.0.log"), file + "-wal"} {
		q := newPlace(t)
		rel, err := filepath.Rel(p.home(), left)
		if err != nil {
			t.Fatal(err)
		}
		q.write("../s.yaml", "replies: [{text: ok}]\n")
		q.write("../home/troupe.db", "")
		q.write(filepath.Join("../home", rel), "something")
		r := q.troupe("-p", "go", "--model", "script:../s.yaml")
		if r.code == 0 || !strings.Contains(r.errOut, "is empty, but") ||
			!strings.Contains(r.errOut, "move the empty") {
			t.Errorf("%s: exit %d\n%s%s", rel, r.code, r.out, r.errOut)
		}
		if info, err := os.Stat(filepath.Join(q.home(), "troupe.db")); err != nil || info.Size() > 0 {
			t.Errorf("%s: the file was written to: %v", rel, err)
		}
	}
}

// TestNamesAsPrinted: an agent whose name a table cuts is found by what the table shows; what begins the names of
// several lists them.
func TestNamesAsPrinted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {description: "A look through all of the exporters of the project", prompt: p}}
      - {tool: Agent, input: {description: "B look through all of the importers of the project", prompt: p}}
  - text: done
`)
	p.run(0, "-p", "go", "--model", "script:../s.yaml")
	shown := 0
	for _, line := range strings.Split(p.troupe("cost", "main").out, "\n") {
		path, _, cut := strings.Cut(line, "…")
		if !cut || !strings.HasPrefix(path, "main/") {
			continue
		}
		shown++
		if r := p.troupe("show", path+"…"); r.code != 0 || !strings.Contains(r.out, strings.TrimPrefix(path, "main/")) {
			t.Errorf("%q: exit %d\n%s%s", path+"…", r.code, r.out, r.errOut)
		}
	}
	if shown != 2 {
		t.Errorf("%d names are cut\n%s", shown, p.troupe("cost", "main").out)
	}
	r := p.troupe("show", "main/…")
	if r.code != 2 || !strings.Contains(r.errOut, "exporters") || !strings.Contains(r.errOut, "importers") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
}

// TestExplainNamesTheType: an agent of a type that there is not is not said to be allowed. What is odd in the
// settings is said once.
func TestExplainNamesTheType(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.command("permissions", "explain")
	cmd.Stdin = strings.NewReader(`{"tool":"Agent","input":{"subagent_type":"Nope","description":"d","prompt":"p"}}`)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "Nope") ||
		!strings.Contains(string(out), `"deny"`) {
		t.Errorf("%s, %v", out, err)
	}
	p.write("../home/settings.json", `{"permissions": {"allow": ["Nosuchtool"]}, "oddity": 1}`)
	for _, args := range [][]string{{"permissions", "list"}, {"permissions", "explain"},
		{"-p", "go", "--model", "script:none.yaml"}} {
		r := p.troupe(args...)
		if n := strings.Count(r.errOut, "oddity"); n != 1 {
			t.Errorf("%s: said %d times\n%s", args, n, r.errOut)
		}
	}
}
