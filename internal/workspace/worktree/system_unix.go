//go:build unix

package worktree

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// readFlags open a file to be read, unless it is a link by now, without waiting for a pipe.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// feedFlags open a pipe to be written, if somebody waits to read it, and no file anew.
const feedFlags = os.O_WRONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// tryLock locks a file until it is unlocked, or every process that has it open from us has ended.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// unlockFile frees a file at once, whoever has it open from us.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// linked reports whether a file has more names than one.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// keepOwner gives a file the owner of the one that it will replace, as far as we may.
func keepOwner(f *os.File, old fs.FileInfo) {
	want, ok := old.Sys().(*syscall.Stat_t)
	if ok && (int(want.Uid) != os.Geteuid() || int(want.Gid) != os.Getegid()) {
		_ = f.Chown(int(want.Uid), int(want.Gid)) // only root may; others own what they write
	}
}

// inode is what tells a folder from another of the same name.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
