//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// endAsGroup makes the command and whatever it starts end together.
func endAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
