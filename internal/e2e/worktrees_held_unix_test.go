//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWorktreesHeld: `troupe worktrees` says which process it waits for that is at work on a worktree and does not come
// to its end, and lists what can be listed; diff gives up as early, and a merge waits on and comes about.
func TestWorktreesHeld(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {name: one, description: d, prompt: p, isolation: worktree}}
      - {tool: Agent, input: {name: two, description: d, prompt: p, isolation: worktree}}
  - {agent: main, text: all done}
  - {name: one, turn: 1, calls: [{tool: Write, input: {file_path: new.txt, content: one}}]}
  - {name: two, turn: 1, calls: [{tool: Write, input: {file_path: new.txt, content: two}}]}
  - {text: done}
`)
	p.write("a.txt", "a\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"},
		{"config", "user.email", "a@b"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		p.git(args...)
	}
	if r := p.troupe("-p", "go", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	locks, err := filepath.Glob(filepath.Join(p.root, "*", "*", "locks", "*"))
	if err != nil || len(locks) == 0 {
		t.Fatalf("%v, %v", locks, err)
	}
	held, release := "", func() error { return nil }
	for _, lock := range locks {
		name := filepath.Base(lock)
		if strings.Contains(name, "-") {
			continue // not of one worktree
		}
		f, err := os.OpenFile(lock, os.O_RDWR|os.O_TRUNC, 0)
		if err == nil {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		}
		if err == nil {
			_, err = f.WriteString("4711")
		}
		if err != nil {
			t.Fatal(err)
		}
		held, release = name, f.Close
		break
	}
	diffs, merges := make(chan ran, 1), make(chan ran, 1)
	go func() { diffs <- p.troupe("diff", held) }()
	go func() { merges <- p.troupe("merge", held) }()
	r := p.troupe("worktrees")
	if r.code != 0 || held == "" || !strings.Contains(r.errOut, "waiting for process 4711 of troupe, 8s at most") ||
		!strings.Contains(r.out, "not known: process 4711 of troupe has been at work on this for 10s") ||
		strings.Count(r.out, "unmerged") != 2 {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	const waits = "waiting for process 4711 of troupe, "
	if r := <-diffs; r.code == 0 || !strings.Contains(r.errOut, waits+"8s at most") ||
		!strings.Contains(r.errOut, "process 4711 of troupe has been at work on this for 10s") {
		t.Errorf("diff: exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if r := <-merges; r.code != 0 || !strings.Contains(r.errOut, waits) || !strings.Contains(r.out, "new.txt") {
		t.Errorf("merge: exit %d\n%s%s", r.code, r.out, r.errOut)
	}
}
