package worktree

import "syscall"

// diskOf tells the disk of a folder from others.
func diskOf(folder string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat(folder, &st) != nil {
		return 0
	}
	return st.Dev
}

// free is how much of the disk of a folder is left for us.
func free(folder string) (bytes int64, known bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(folder, &st) != nil {
		return 0, false
	}
	return int64(min(st.Bavail, 1<<40)) * st.Bsize, true
}
