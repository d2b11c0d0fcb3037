package e2e_test

import (
	"strings"
	"syscall"
	"testing"
)

// TestMailboxAheadOfItsLog: damage took the end of a log, and left the mailbox as that end had made it: the end of an
// agent's run stands as read, and the agent is still at work. The session goes on at once, and hears that end when
// it comes; so it does after the damaged database was saved.
func TestMailboxAheadOfItsLog(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]bool{"as it is": false, "saved": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("../s.yaml", `
replies:
  - {agent: main, turn: 1, calls: [{tool: Agent, input: {name: kid, description: d, prompt: p}}]}
  - {agent: main, contains: kid is done, text: heard it}
  - {turn: 1, calls: [{tool: Bash, input: {command: "echo up > up; sleep 300; true"}}]}
  - text: kid is done
`)
			up := p.fifo("up")
			old, err := startProcess(p.command("-p", "go", "--model", "script:../s.yaml", "--name", "job",
				"--permission-mode", "bypassPermissions", "--output-format", "stream-json"))
			if err != nil {
				t.Fatal(err)
			}
			up()
			if err := old.cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if _, err := old.wait(); err != nil {
				t.Log(err)
			}
			p.damageLog(`INSERT INTO mail (root, receiver, id, delivered) SELECT root, root, 'end:' || id || ':1',
				(SELECT seq + 1 FROM sessions WHERE parent = '') FROM sessions WHERE name = 'kid'`)
			if d := p.troupe("doctor"); !strings.Contains(d.out+d.errOut, "the end of its log is missing") {
				t.Errorf("doctor: %s%s", d.out, d.errOut)
			}
			if repair {
				if r := p.troupe("doctor", "--repair"); r.code != 0 {
					t.Fatalf("exit %d\n%s%s", r.code, r.out, r.errOut)
				}
			}
			if run := p.run(0, "-p", "--resume", "job", "--model", "script:../s.yaml"); run.Result != "heard it" {
				t.Errorf("%s: %s %s", run.Status, run.Result, run.Error)
			}
			p.audit("job")
		})
	}
}
