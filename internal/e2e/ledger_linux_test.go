package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKilledBeforePuttingBack: on a kernel that cannot keep protected files as they are, Troupe is killed while a
// command has something in their places. The next start of any Troupe puts back what was there, says so once, and loses
// nothing of what it finds; what the user writes there later stays.
func TestKilledBeforePuttingBack(t *testing.T) {
	t.Parallel()
	for name, planted := range map[string]string{
		"notify": `printf evil > .envrc`,
		"namespaces,notify": `printf evil > .envrc; printf evil >> .git/config; mkdir ../away;` +
			` ln -s ../escape .husky; rm -r .vscode; ln -s "$PWD/elsewhere" .vscode`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.lacks = name
			p.write(".git/config", "[core]\n")
			p.write(".vscode/tasks.json", "{}")
			p.write("elsewhere/tasks.json", "mine")
			ready := p.fifo("ready")
			p.mkfifo("go")
			p.write("plant.sh", planted+"; echo up > ready; cat go")
			p.write("../s.yaml",
				`replies: [{turn: 1, calls: [{tool: Bash, input: {command: sh plant.sh}}]}, {text: done}]`)
			proc, err := startProcess(p.command("-p", "go", "--model", "script:../s.yaml", "--allowed-tools", "Bash"))
			if err != nil {
				t.Fatal(err)
			}
			ready()
			if p.read(".envrc") != "evil" {
				t.Fatal("this kernel holds what it should lack")
			}
			if r := p.troupe("sessions"); r.code != 0 || strings.Contains(r.errOut, "put back") {
				t.Errorf("while it runs: exit %d\n%s", r.code, r.errOut)
			}
			if p.read(".envrc") != "evil" {
				t.Error("it was put back while its command runs")
			}
			if err := proc.cmd.Process.Signal(unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if r, err := proc.wait(); err != nil || r.code != -1 {
				t.Fatalf("%v, exit %d\n%s", err, r.code, r.errOut)
			}
			r := p.troupe("sessions")
			if r.code != 0 || !strings.Contains(r.errOut, p.dir+"/.envrc was put back") {
				t.Errorf("the next start: exit %d\n%s", r.code, r.errOut)
			}
			if _, err := os.Lstat(filepath.Join(p.dir, ".envrc")); err == nil {
				t.Error("what was planted is there")
			}
			if p.read(".envrc.set-aside") != "evil" || p.read("elsewhere/tasks.json") != "mine" {
				t.Error("something was lost")
			}
			if got := p.read(".git/config") + p.read(".vscode/tasks.json"); got != "[core]\n{}" {
				t.Errorf("the protected files hold %q", got)
			}
			p.write(".envrc", "the user's")
			if r := p.troupe("sessions"); strings.Contains(r.errOut, "put back") || p.read(".envrc") != "the user's" {
				t.Errorf("later: %s", r.errOut)
			}
			if left, err := os.ReadDir(filepath.Join(p.home(), "ledgers")); err != nil || len(left) > 0 {
				t.Errorf("left are %v (%v)", left, err)
			}
		})
	}
}
