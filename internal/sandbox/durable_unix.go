//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// lockFile locks a file, or fails at once where another process has.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// numberOf is a file's number in its file system.
func numberOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
