package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCopyFiles: what is no file keeps nothing else from being copied, and of what cannot be copied nothing is left.
func TestCopyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, into := filepath.Join(dir, "from"), filepath.Join(dir, "into")
	if err := os.MkdirAll(filepath.Join(from, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "sub/a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(from, "sub/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub/a", filepath.Join(from, "z")); err != nil {
		t.Fatal(err)
	}
	left, err := copyFiles(into, from)
	if err != nil || !slices.Equal(left, []string{"sub/pipe"}) {
		t.Errorf("%q, %v", left, err)
	}
	a, err := os.ReadFile(filepath.Join(into, "z"))
	if err != nil || string(a) != "a" {
		t.Errorf("%q, %v", a, err)
	}
	if _, err := copyFiles(filepath.Join(dir, "other"), filepath.Join(dir, "none")); err == nil {
		t.Error("nothing was copied")
	}
	if _, err := os.Lstat(filepath.Join(dir, "other")); err == nil {
		t.Error("half a copy is left")
	}
}
