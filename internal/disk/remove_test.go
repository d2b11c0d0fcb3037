package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveFollowsNoLink: what is opened so that it can be removed is what lies in the folder, and nothing that a link
// in it leads to, or that the removed name itself leads to.
func TestRemoveFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.MkdirAll(path("victim"), 0o755), os.MkdirAll(path("tree/shut"), 0o755),
		os.Symlink("../victim", path("tree/link")), os.Symlink("victim", path("itself")),
		os.Chmod(path("tree/shut"), 0o500), os.Chmod(path("victim"), 0o751)); err != nil {
		t.Fatal(err)
	}
	mode := func(name string) os.FileMode {
		info, err := os.Stat(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	if err := errors.Join(opened(path("itself")), opened(path("tree")), opened(path("none"))); err != nil {
		t.Error(err)
	}
	if mode("victim") != 0o751 || mode("tree/shut") != 0o700 {
		t.Errorf("victim is %v, the folder within %v", mode("victim"), mode("tree/shut"))
	}
	if err := errors.Join(RemoveTree(path("itself")), RemoveTree(path("tree"))); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path("tree")); err == nil || mode("victim") != 0o751 {
		t.Errorf("after the removal: %v, victim is %v", err, mode("victim"))
	}
}
