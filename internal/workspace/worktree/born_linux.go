package worktree

import "golang.org/x/sys/unix"

// bornAt is when a folder was made, in nanoseconds; 0 where the file system does not say.
func bornAt(folder string) int64 {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, folder, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st) != nil ||
		st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}
