package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inRemoved has an agent wait in its worktree and then go on, in the same reply and in the next.
const inRemoved = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Agent, input: {name: one, description: d, prompt: p, isolation: worktree}}]
  - {agent: main, text: all done}
  - name: one
    turn: 1
    calls: [{tool: Bash, input: {command: "echo saved > saved.txt"}}]
  - name: one
    turn: 2
    calls:
      - {tool: Bash, input: {command: "cat GATE; true"}}
      - {tool: Bash, input: {command: "pwd; echo second > evil.txt"}}
      - {tool: Write, input: {file_path: written.txt, content: second}}
  - {name: one, turn: 3, calls: [{tool: Bash, input: {command: "cat saved.txt; echo third > third.txt"}}]}
  - {name: one, text: done}
`

// TestS05WorktreeRemoved: a worktree is removed while its agent works in it. The agent's next command fails, and what
// comes after it has the folder as it was saved; nothing is ever done in the caller's folder instead.
func TestS05WorktreeRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	gate := filepath.Join(p.root, "gate")
	p.write("../s.yaml", strings.ReplaceAll(inRemoved, "GATE", gate))
	p.write("a.txt", "a\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"},
		{"config", "user.email", "a@b"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		p.git(args...)
	}
	p.mkfifo("../gate")
	proc, err := startProcess(p.command("-p", "go", "--name", "job", "--model", "script:../s.yaml", "--permission-mode",
		"bypassPermissions"))
	if err != nil {
		t.Fatal(err)
	}
	// Opening it waits until the agent's command reads from it.
	f, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	trees, err := filepath.Glob(filepath.Join(p.root, "*worktrees", "*", "one-*"))
	if err != nil || len(trees) != 1 {
		t.Fatalf("worktrees: %v, %v", trees, err)
	}
	if err := os.RemoveAll(trees[0]); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := proc.wait()
	if err != nil || r.code != 0 {
		t.Fatalf("%v, exit %d\n%s%s", err, r.code, r.out, r.errOut)
	}
	log := p.troupe("log", "job/one").out
	if !strings.Contains(log, "the folder that you work in") {
		t.Errorf("what the agent wrote where its folder was:\n%s", log)
	}
	if aside, err := filepath.Glob(trees[0] + ".other-*"); err != nil || len(aside) > 0 {
		t.Errorf("beside its folder: %v, %v", aside, err)
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the caller's folder: %v, %v", entries, err)
	}
	if status := p.git("status", "--porcelain"); status != "" {
		t.Errorf("the caller's status: %s", status)
	}
	if kept := p.git("log", "--all", "--name-only", "--format="); !strings.Contains(kept, "third.txt") ||
		!strings.Contains(kept, "saved.txt") || strings.Contains(kept, "evil.txt") {
		t.Errorf("kept: %s", kept)
	}
}
