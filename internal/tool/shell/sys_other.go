//go:build unix && !linux

package shell

import "syscall"

// sysProcAttr gives a command its own session, which has no terminal.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
