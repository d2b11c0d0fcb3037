//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"

	"github.com/troupe-dev/troupe"
	"golang.org/x/sys/unix"
)

// maxArguments are read of a program that is about to be started. One with more is started.
const maxArguments = 1000

// starts answers the start of a program. What it would change of what is guarded is asked about before it begins.
// Nothing depends on that: what is guarded stays so, whatever the program turns out to be or do.
func (f *files) starts(q *asked) answer {
	argv := arguments(q.pid, q.arg(q.path), "git")
	if f.plan.starts == nil || len(argv) == 0 {
		return proceed()
	}
	process := "/proc/" + strconv.Itoa(q.pid)
	dir, err := os.Readlink(process + "/cwd")
	if err != nil {
		return proceed()
	}
	input := process + "/fd/0"
	if info, err := os.Stat(input); err != nil || !info.Mode().IsRegular() {
		input = ""
	}
	refused := false
	for _, name := range f.plan.starts(dir, input, argv, arguments(q.pid, q.arg(q.path2), "")) {
		for _, a := range f.plan.toChange(name) {
			refused = true
			f.seen.note(a)
		}
	}
	if refused && f.plan.level == troupe.LevelWorkspace {
		return fail(unix.EACCES)
	}
	return proceed() // where nothing may be changed git says so itself, and what else it wants is seen
}

// toChange is the leave that the run lacks to change a guarded file whatever becomes of it.
func (p *plan) toChange(name string) (list []troupe.Attempt) {
	want := func(op troupe.AttemptOp, path string, kind troupe.Made) {
		a := troupe.Attempt{Op: op, Path: path, Kind: kind}
		if p.guarded(path) && !p.unguarded(path) && !p.may(a, place{path: path}) {
			list = append(list, a)
		}
	}
	if _, err := os.Lstat(name); err == nil {
		want(troupe.OpWrite, name, "")
		want(troupe.OpRemove, name, "")
		return list
	}
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		want(troupe.OpCreate, dir, troupe.KindFolder)
	}
	want(troupe.OpCreate, name, "")
	return list
}

// arguments are those of a program that a process is about to become, or its environment, by their address; nil if
// they cannot be read, or if it is not the one that something is known of.
func arguments(pid int, address uint64, known string) []string {
	var list []string
	var pointer [8]byte
	for ; len(list) < maxArguments; address += uint64(len(pointer)) {
		if n, err := peek(pid, address, pointer[:]); err != nil || n < len(pointer) {
			return nil
		}
		at := binary.NativeEndian.Uint64(pointer[:])
		if at == 0 {
			return list
		}
		arg, err := text(pid, at)
		if err != nil {
			return nil
		}
		list = append(list, arg)
		if known != "" && len(list) == 1 && filepath.Base(arg) != known {
			return nil
		}
	}
	return nil
}
