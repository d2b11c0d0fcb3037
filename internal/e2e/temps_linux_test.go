package e2e_test

import (
	"path/filepath"
	"testing"
)

// TestKilledTemps: the folders for temporary files of a process that was killed go with the next start.
func TestKilledTemps(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - turn: 1
    calls: [{tool: Bash, input: {command: "echo 1 > $TMPDIR/x; echo up > ready; sleep 300"}}]
  - text: done
`)
	p.write("../after.yaml", "replies: [{text: done}]")
	ready := p.fifo("ready")
	proc, err := startProcess(p.command("-p", "go", "--model", "script:../s.yaml", "--allowed-tools", "Bash"))
	if err != nil {
		t.Fatal(err)
	}
	ready()
	_ = proc.cmd.Process.Kill() // it waits for its command
	if r, err := proc.wait(); err != nil || r.code != -1 {
		t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
	}
	temps := func() []string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(p.root, "troupe-*", "*", "*", "x"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if n := len(temps()); n != 1 {
		t.Fatalf("the killed process left %d files", n)
	}
	if run := p.run(0, "-p", "go", "--model", "script:../after.yaml"); run.Result != "done" {
		t.Errorf("the next run ended with %q", run.Result)
	}
	if left := temps(); len(left) > 0 {
		t.Errorf("after another start there are %q", left)
	}
}
