package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWokenLetsGo: a process that was frozen while another took its tree over ends its commands and leaves when it
// wakes, though none of them ends by itself and nothing is to be committed.
func TestWokenLetsGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("long.yaml", `
replies:
  - turn: 1
    calls: [{tool: Bash, input: {command: "sleep 600 & echo $! > pid; mv pid ../pid; wait; echo done > ../late"}}]
  - text: never
`)
	p.write("quick.yaml", "replies: [{text: from the new process}]\n")
	old := frozen(t, p, `"tool.started".*"Bash"`, "--model", "script:long.yaml", "--permission-mode",
		"bypassPermissions", "go")
	if r := p.troupe("send", "job", "one more thing", "--take-over"); r.code != 0 {
		t.Fatalf("send --take-over: %d %s", r.code, r.errOut)
	}
	if run := p.run(0, "-p", "--resume", "job", "--model", "script:quick.yaml"); run.Result != "from the new process" {
		t.Errorf("%s: %q %s", run.Status, run.Result, run.Error)
	}
	before := len(p.audit("job"))
	start := time.Now()
	if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r, err := old.wait()
	took := time.Since(start)
	if err != nil || r.code == 0 || took > 30*time.Second {
		t.Errorf("the process that woke: %d, %v, after %s", r.code, err, took)
	}
	t.Logf("it left after %s", took)
	if !strings.Contains(r.errOut, "another process has taken over session") ||
		strings.Contains(r.errOut, "does not answer") {
		t.Errorf("the process that woke says: %s", r.errOut)
	}
	if pid, err := os.ReadFile(filepath.Join(p.dir, "..", "pid")); err == nil {
		awaitEnd(t, strings.TrimSpace(string(pid)))
	}
	if after := len(p.audit("job")); after != before {
		t.Errorf("the process that woke has written %d events", after-before)
	}
}

// awaitEnd waits until a command is gone, or dead and only not waited for yet: it was killed before its process left,
// but the kernel ends it in its own time, and then it is init's.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(30 * time.Second); ; {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("command %s still runs: %s", pid, stat)
			return
		}
	}
}
