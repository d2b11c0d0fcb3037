//go:build !unix

package git

import (
	"os"
	"syscall"
)

func asGroup() *syscall.SysProcAttr { return nil }

func endGroup(first *os.Process) { _ = first.Kill() }
