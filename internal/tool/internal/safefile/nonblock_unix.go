//go:build unix

package safefile

import "syscall"

// nonblock keeps opening a named pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK
