//go:build unix && !linux

package front

import (
	"io/fs"
	"syscall"
)

// numbers tell a file from another one of the same name, size and time.
func numbers(info fs.FileInfo) []int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return append([]int64{int64(st.Ino)}, changed(st)...)
}
