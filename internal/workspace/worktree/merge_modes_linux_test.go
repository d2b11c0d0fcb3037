package worktree

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestApplyModeFirst: a file has its mode before it has its name, so that a folder or file that is swapped right then
// leads no change of mode elsewhere.
func TestApplyModeFirst(t *testing.T) {
	for name, c := range map[string]struct {
		was  fs.FileMode // 0: there is none
		mode uint32
		want fs.FileMode
	}{
		"becomes a program": {0o640, 0o755, 0o750},
		"is none any more":  {0o755, 0o644, 0o644},
		"stays one":         {0o700, 0o755, 0o700},
		"comes":             {0, 0o755, 0o755},
	} {
		dir := t.TempDir()
		f := filepath.Join(dir, "f")
		change := Change{Path: f, Content: []byte("new\n"), Mode: c.mode}
		if c.was != 0 {
			put(t, f, "was\n")
			if err := os.Chmod(f, c.was); err != nil {
				t.Fatal(err)
			}
			change.Was = troupe.ContentHash([]byte("was\n"))
		}
		told := watchFolder(t, dir)
		if _, err := Apply(dir, []Change{change}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		info, err := os.Lstat(f)
		if err != nil || info.Mode().Perm() != c.want || get(f) != "new\n" {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if got := told(); !strings.HasSuffix(got, "named f") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// watchFolder returns what tells which files of a folder have got a name or another mode, in this order.
func watchFolder(t *testing.T, dir string) (told func() string) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		t.Skip("no inotify here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_MOVED_TO|syscall.IN_ATTRIB); err != nil {
		t.Fatal(err)
	}
	return func() string {
		var out []string
		buf := make([]byte, 1<<16)
		n, err := syscall.Read(fd, buf)
		if err != nil {
			t.Fatalf("nothing happened in %s: %v", dir, err)
		}
		for buf = buf[:n]; len(buf) > syscall.SizeofInotifyEvent; {
			mask, length := binary.NativeEndian.Uint32(buf[4:]), binary.NativeEndian.Uint32(buf[12:])
			buf = buf[syscall.SizeofInotifyEvent:]
			what := "mode of "
			if mask&syscall.IN_MOVED_TO != 0 {
				what = "named "
			}
			out = append(out, what+strings.TrimRight(string(buf[:length]), "\x00"))
			buf = buf[length:]
		}
		return strings.Join(out, ", ")
	}
}
