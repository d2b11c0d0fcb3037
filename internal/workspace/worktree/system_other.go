//go:build !unix

package worktree

import (
	"io/fs"
	"os"
)

// readFlags open a file to be read.
const readFlags = os.O_RDONLY

// feedFlags is 0 where there are no pipes among files.
const feedFlags = 0

// tryLock does nothing where files cannot be locked.
func tryLock(*os.File) error { return nil }

func unlockFile(*os.File) error { return nil }

func keepOwner(*os.File, fs.FileInfo) {}

// inode is unknown here.
func inode(fs.FileInfo) uint64 { return 0 }

// linked reports whether a file has more names than one: it is not known here.
func linked(fs.FileInfo) bool { return false }
