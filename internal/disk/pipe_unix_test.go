//go:build unix

package disk_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe/internal/disk"
)

func TestReadDoesNotWait(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Read(name, 5); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
}
