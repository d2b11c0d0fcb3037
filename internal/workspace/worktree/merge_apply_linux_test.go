package worktree

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
)

// asNobody does something with the rights of a user who owns nothing, if this process may take them.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and its rights with it
		const nobody = 65534
		if os.Geteuid() == 0 {
			if _, _, no := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); no != 0 {
				done <- no
				return
			}
		}
		do()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestApplyFolderStays: a file that a merge removes counts as written though the folder that it was the last one of
// cannot be removed.
func TestApplyFolderStays(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := filepath.Join(dir, "a/b/f")
	put(t, f, "was\n")
	for path, mode := range map[string]os.FileMode{filepath.Dir(f): 0o777, filepath.Join(dir, "a"): 0o555,
		filepath.Dir(dir): 0o755} {
		if err := os.Chmod(path, mode); err != nil { //nolint:gosec // as a person's folders may be
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "a"), 0o755) //nolint:errcheck,gosec // so that it can be removed
	asNobody(t, func() {
		written, err := Apply(dir, []Change{{Path: f, Was: troupe.ContentHash([]byte("was\n")), Gone: true}})
		if err != nil || len(written) != 1 || there(f) || !there(filepath.Dir(f)) {
			t.Errorf("%v, %v", written, err)
		}
	})
}
