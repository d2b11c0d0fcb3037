package shell

import "syscall"

// sysProcAttr gives a command its own session, which has no terminal, and ties its life
// to the thread that starts it.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
