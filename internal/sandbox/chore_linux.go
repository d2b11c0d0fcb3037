//go:build amd64 || arm64

package sandbox

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/troupe-dev/troupe"
)

// isChore reports whether a process that attempted something is a tool that does so on the
// side. Of whom nothing can be known it is not.
func isChore(pid int, op troupe.AttemptOp, name string) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	exe, err := readlink(unix.AT_FDCWD, proc+"/exe")
	if err != nil || !slices.ContainsFunc(chores(), func(c chore) bool { return c.by(exe) }) {
		return false
	}
	t := tool{exe: exe, args: words(proc + "/cmdline")}
	for _, v := range words(proc + "/environ") {
		if dir, ok := strings.CutPrefix(v, "HOME="); ok && strings.HasPrefix(dir, "/") {
			t.home = strings.TrimSuffix(resolved(dir), "/")
			break
		}
	}
	if len(t.args) == 1 {
		t.args = strings.Fields(t.args[0]) // it has called itself something else, as npm does
	}
	return t.does(op, name)
}

// maxWords is how much is read of what a process was told.
const maxWords = 128 << 10

// words reads a list of a process as the kernel shows it. One that is too long is not read:
// what would be missing of it could be what matters.
func words(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxWords+1))
	if err != nil || len(data) > maxWords {
		return nil
	}
	return slices.DeleteFunc(strings.Split(string(data), "\x00"), func(s string) bool { return s == "" })
}
