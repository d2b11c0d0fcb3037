//go:build unix

package e2e_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe/internal/cli/chat/ptytest"
)

// TestJobsAreNotStopped: a command that a shell has put in the background says what went wrong. It asks the terminal
// for nothing, for which the system would stop it.
func TestJobsAreNotStopped(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: that commands in the background of a shell are not stopped is NOT tested")
	}
	p := newPlace(t)
	term := ptytest.Open(t, 100, 30)
	defer term.Close()
	cmd := p.command()
	cmd.Path, cmd.Args = bash, []string{"bash", "--norc", "-c",
		`set -m; "$0" sleep nosuch & wait $!; echo "it ended with $?"; kill -KILL %1 2>/dev/null`, binary}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.TTY, term.TTY, term.TTY
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // how the command ended is shown
	term.Until("the end of the command", func(s string) bool { return strings.Contains(s, "it ended with ") })
	if s := term.Shown(); !strings.Contains(s, "it ended with 2") || !strings.Contains(s, `no session named "nosuch"`) {
		t.Error(s)
	}
}
