//go:build unix

package git

import (
	"os"
	"os/exec"
	"syscall"
)

// endAsGroup makes the command and whatever it starts end together.
func endAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = asGroup()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// asGroup makes a process the first of a group, which endGroup ends.
func asGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func endGroup(first *os.Process) { _ = syscall.Kill(-first.Pid, syscall.SIGKILL) }
