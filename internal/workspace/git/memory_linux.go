package git

import (
	"os"

	"golang.org/x/sys/unix"
)

// keepSmall bounds the memory of a process that was just started, and of those that it starts from now on. One that has
// ended needs no bound.
func keepSmall(p *os.Process, most uint64) {
	_ = unix.Prlimit(p.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil)
}
