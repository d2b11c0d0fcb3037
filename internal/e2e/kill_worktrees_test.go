package e2e_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// twoApart has two agents in worktrees write and commit, and merges what they did.
const twoApart = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {name: one, description: d, prompt: p, isolation: worktree}}
      - {tool: Agent, input: {name: two, description: d, prompt: p, isolation: worktree}}
  - {agent: main, turn: 2, calls: [{tool: MergeWorktree, input: {worktree: one}}]}
  - {agent: main, turn: 3, calls: [{tool: MergeWorktree, input: {worktree: two}}]}
  - {agent: main, text: all done}
  - {name: one, turn: 1, calls: [{tool: Bash, input: {command: "echo line one 1 >> one.txt; git add -A && git commit -qm 1"}}]}
  - {name: one, turn: 2, calls: [{tool: Bash, input: {command: "echo line one 2 >> one.txt"}}]}
  - {name: one, turn: 3, calls: [{tool: Bash, input: {command: "echo line one 3 > s.txt; git stash push -qu -- s.txt"}}]}
  - {name: one, text: done}
  - {name: two, turn: 1, calls: [{tool: Bash, input: {command: "echo line two 1 >> two.txt"}}]}
  - {name: two, turn: 2, calls: [{tool: Bash, input: {command: "echo line two 2 >> two.txt; git add -A && git commit -qm 2"}}]}
  - {name: two, turn: 3, calls: [{tool: Bash, input: {command: "echo line two 3 >> two.txt"}}]}
  - {name: two, text: done}
`

// TestKillWorktrees kills a run whose agents have worktrees at moments nobody chose, and resumes it until it is done:
// every line of a command that ended is in a kept ref, what was merged is in the folder, and the repository is whole.
// TROUPE_E2E_SEED repeats the moments.
func TestKillWorktrees(t *testing.T) {
	t.Parallel()
	rng := lots(t)
	for i := range 4 {
		moments := make([]time.Duration, 3)
		for j := range moments {
			moments[j] = time.Duration(rng.Float64() * float64(1200*time.Millisecond))
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("../s.yaml", twoApart)
			p.write("a.txt", "a\n")
			for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"},
				{"config", "user.email", "a@b"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
				p.git(args...)
			}
			for _, after := range moments {
				args := p.goOn()
				if args == nil {
					break
				}
				proc, err := startProcess(p.command(args...))
				if err != nil {
					t.Fatal(err)
				}
				timer := time.NewTimer(after)
				<-timer.C
				_ = proc.cmd.Process.Kill() // it may have ended
				if r, err := proc.wait(); err != nil || r.code > 0 {
					t.Fatalf("killed after %v: %v, exit %d\n%s", after, err, r.code, r.errOut)
				}
			}
			if args := p.goOn(); args != nil {
				if run := p.run(0, args...); run.Result != "all done" {
					t.Errorf("after kills at %v: %+v", moments, run)
				}
			}
			p.linesKept(p.audit("job"))
		})
	}
}

// git runs git in the project, as a person would.
func (p *place) git(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = p.dir, p.environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// linesKept looks for the lines of all commands that ended well.
func (p *place) linesKept(events []wire.Event) {
	p.t.Helper()
	var lines []string
	merged := map[string]bool{}
	names := map[troupe.SessionID]string{}
	for _, e := range events {
		body, err := troupe.DecodeBody(e.Type, e.Data)
		if err != nil {
			p.t.Fatal(err)
		}
		switch b := body.(type) {
		case troupe.Created:
			names[e.Session] = b.Name
		case troupe.ToolFinished:
			switch {
			case b.Result.IsError:
			case b.Name == "Bash":
				lines = append(lines, fmt.Sprintf("line %s %d", names[e.Session], b.Result.Reply))
			case b.Name == "MergeWorktree":
				merged[map[int]string{2: "one", 3: "two"}[b.Result.Reply]] = true
			}
		}
	}
	p.git("gc", "-q", "--prune=now")
	p.git("fsck", "--full")
	ids := p.git("rev-list", "--all", "--objects", "--no-object-names")
	cmd := exec.CommandContext(p.t.Context(), "git", "cat-file", "--batch")
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.environ, strings.NewReader(ids)
	all, err := cmd.Output()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, line := range lines {
		if !strings.Contains(string(all), line+"\n") {
			p.t.Errorf("no ref reaches %q", line)
		}
		name := strings.Fields(line)[1]
		if merged[name] && line != "line one 3" && !strings.Contains(p.read(name+".txt"), line+"\n") {
			p.t.Errorf("%q was merged, and is not in %s", line, filepath.Join(p.dir, name+".txt"))
		}
	}
	p.t.Logf("%d lines, merged: %v", len(lines), merged)
}
