package worktree

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestFrozenHolder: a process that was stopped while it has a lock is not waited for as long as one that is at work,
// and what has it go on is said.
func TestFrozenHolder(t *testing.T) {
	t.Parallel()
	k := New(Options{Data: t.TempDir(), Folders: t.TempDir(), Now: time.Now})
	_, release, err := k.hold(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	other := exec.CommandContext(t.Context(), "sh", "-c", "kill -STOP $$")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = other.Process.Kill(), other.Wait() }()
	var ended syscall.WaitStatus
	if _, err := syscall.Wait4(other.Process.Pid, &ended, syscall.WUNTRACED, nil); err != nil || !ended.Stopped() {
		t.Fatal(ended, err)
	}
	pid := strconv.Itoa(other.Process.Pid)
	put(t, filepath.Join(k.data, "locks", "one"), pid)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, _, err := k.hold(t.Context(), "one")
		if took := time.Since(begun).Round(time.Second); !errors.Is(err, errLocked) || took != k.patience ||
			!strings.Contains(err.Error(), "process "+pid+" of troupe is at work on this, and was stopped") {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
