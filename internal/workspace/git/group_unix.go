//go:build unix

package git

import (
	"os"
	"syscall"
)

// asGroup makes a process the first of a group, which endGroup ends.
func asGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func endGroup(first *os.Process) { _ = syscall.Kill(-first.Pid, syscall.SIGKILL) }
