package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const carriedTree = `
replies:
  - agent: main
    turn: 1
    calls:
      - {tool: Agent, input: {description: "Do one", prompt: "go", isolation: worktree, name: one}}
  - {agent: main, contains: one is done, text: all of it}
  - {agent: main, contains: "done?", text: it is}
  - {name: one, turn: 1, calls: [{tool: Write, input: {file_path: one.txt, content: "one\n"}}]}
  - {name: one, text: one is done}
`

// TestImportKilled kills imports at any moment: the session is there whole then, or not at all, and what is left of it
// is gone with the next import.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	rng := lots(t)
	from := newPlace(t)
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"config", "user.email", "a@b"},
		{"config", "user.name", "A"}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = from.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v\n%s", err, out)
		}
	}
	from.write("../s.yaml", carriedTree)
	if r := from.run(0, "-p", "--name", "job", "--model", "script:../s.yaml", "--allowed-tools", "Write(/one.txt)",
		"go"); r.Result != "all of it" {
		t.Fatalf("%+v", r)
	}
	file := filepath.Join(from.root, "job.troupe")
	if r := from.troupe("export", "job", "-o", file); r.code != 0 {
		t.Fatal(r)
	}
	for i := range 10 {
		kills := time.Duration(20+rng.IntN(330)) * time.Millisecond
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			importKilledAt(t, from, file, kills)
		})
	}
}

func importKilledAt(t *testing.T, from *place, file string, kills time.Duration) {
	p := newPlace(t)
	clone := exec.Command("git", "clone", "-q", from.dir, filepath.Join(p.dir, "clone"))
	if out, err := clone.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"import", file, "--cwd", "clone", "--model", "script:" + filepath.Join(from.root, "s.yaml")}
	proc, err := startProcess(p.command(args...))
	if err != nil {
		t.Fatal(err)
	}
	<-time.NewTimer(kills).C
	_ = proc.cmd.Process.Kill() // it may have ended
	if _, err := proc.wait(); err != nil {
		t.Fatal(err)
	}
	there := p.troupe("show", "job").code == 0
	t.Logf("killed after %v: it is there: %v", kills, there)
	again := p.troupe(args...)
	switch {
	case there && (again.code != 2 || !strings.Contains(again.errOut, "in this home already")):
		t.Errorf("it is there, and a second import says %+v", again)
	case !there && again.code != 0:
		t.Errorf("it is not there, and a second import says %+v", again)
	}
	if left, _ := os.ReadDir(filepath.Join(p.home(), "carried")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if r := p.run(0, "wake", "-p", "job", "done?"); r.Status != "completed" {
		t.Errorf("it is woken: %+v", r)
	}
	p.dir = filepath.Join(p.dir, "clone")
	if r := p.troupe("merge", "job/one"); r.code != 0 || !strings.Contains(r.out, "one.txt") {
		t.Errorf("its worktree: %+v", r)
	}
}
