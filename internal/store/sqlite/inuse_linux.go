package sqlite

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// inUse reports whether a process, this one included, has the database at path open, by the locks that each connection
// of SQLite holds. It takes none and opens nothing: that would end this process's own. What it cannot see is not in
// use.
func inUse(path string) bool {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return false
	}
	locks, err := os.ReadFile("/proc/locks")
	major, minor := st.Dev>>8&0xfff|st.Dev>>32&^0xfff, st.Dev&0xff|st.Dev>>12&^0xff
	return err == nil && strings.Contains(string(locks), fmt.Sprintf(" %02x:%02x:%d ", major, minor, st.Ino))
}
