package worktree

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoLinkLeads: a file or folder that a link leads to, on any part of the way, is not opened, in the folder or out
// of it.
func TestNoLinkLeads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "keys", "deep", "id"), "secret")
	put(t, filepath.Join(dir, "in", "d", "id"), "mine")
	put(t, filepath.Join(dir, "in", "other", "deep", "id"), "hidden")
	in := filepath.Join(dir, "in")
	for name, to := range map[string]string{"out": "../keys", "within": "other", "d/file": "../other/deep/id"} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, fine := range map[string]bool{"d/id": true, "other/deep/id": true, "out/deep/id": false,
		"within/deep/id": false, "d/file": false, "none/id": false} {
		f, err := openIn(in, name)
		if (err == nil) != fine {
			t.Errorf("%s: opened is %v, want %v (%v)", name, err == nil, fine, err)
		}
		if err == nil {
			_ = f.Close()
		}
		root, err := rootIn(in, filepath.Dir(name))
		if there := err == nil; there != (fine || name == "d/file") {
			t.Errorf("the folder of %s: opened is %v (%v)", name, there, err)
		}
		if err == nil {
			_ = root.Close()
		}
	}
}
