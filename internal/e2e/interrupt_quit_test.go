package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestQuit: SIGQUIT is answered in one line that says where the dump of the goroutines is.
func TestQuit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../s.yaml", `
replies:
  - {turn: 1, calls: [{tool: Bash, input: {command: "echo > gone; sleep 300"}}]}
  - text: done
`)
	gone := p.fifo("gone")
	cmd := p.command("-p", "go", "--model", "script:../s.yaml", "--permission-mode", "bypassPermissions")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone()
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	code, err := exitCode(cmd.Wait())
	said := errOut.String()
	line := regexp.MustCompile(`(?m)^troupe: ended by SIGQUIT with exit code 131; .* is in (\S+)\. `).FindStringSubmatch(said)
	if err != nil || code != 131 || line == nil || strings.Contains(said, "goroutine ") {
		t.Fatalf("exit %d, %v\n%s", code, err, said)
	}
	if dir := filepath.Dir(line[1]); dir != p.home() {
		t.Errorf("the dump is in %s", dir)
	}
	stacks, err := os.ReadFile(line[1])
	if err != nil || !bytes.Contains(stacks, []byte("goroutine ")) {
		t.Errorf("the dump holds %q, %v", stacks, err)
	}
}
