//go:build !unix

package git

import (
	"os"
	"os/exec"
	"syscall"
)

// endAsGroup does nothing here: the command alone is ended when its time is up.
func endAsGroup(*exec.Cmd) {}

func asGroup() *syscall.SysProcAttr { return nil }

func endGroup(first *os.Process) { _ = first.Kill() }
