package run

import "golang.org/x/sys/unix"

// flush drops what a terminal has for whoever reads it. One that cannot is asked all the same.
func flush(fd int) { _ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unix.TCIFLUSH) }
