//go:build unix

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file it will replace, as far as we may.
func keepOwner(f *os.File, old os.FileInfo) {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok || int(want.Uid) == os.Geteuid() && int(want.Gid) == os.Getegid() {
		return
	}
	_ = f.Chown(int(want.Uid), int(want.Gid)) // only root may; others own what they write
}

// gone reports whether there is certainly no process of this number here.
func gone(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
