//go:build !linux

package worktree

// diskOf does not matter here.
func diskOf(string) uint64 { return 0 }

// free is not known here.
func free(string) (bytes int64, known bool) { return 0, false }
