package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestReplacedFolders: what was a folder when a process first looked at it, and is a link by now, is not followed;
// the temporary folder is made anew.
func TestReplacedFolders(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	home := g.app.dirs.Home
	cache, moved, victim := filepath.Join(home, ".cache/go-build"), filepath.Join(home, "moved"), t.TempDir()
	own := filepath.Join(home, ".cache/ruff")
	for _, path := range []string{cache, moved} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(moved, own); err != nil { // the user's own, from before
		t.Fatal(err)
	}
	confined := func() *troupe.Confinement {
		out, _, err := g.Confine(t.Context(), session.Confine{Level: troupe.LevelReadOnly,
			Session: troupe.Session{ID: "one", Root: "one", Cwd: dir}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := confined()
	for _, path := range []string{cache, moved} {
		if !slices.Contains(first.Scratch, path) {
			t.Errorf("%s is no cache: %q", path, first.Scratch)
		}
	}
	for _, path := range []string{cache, own, dir} {
		if !slices.Contains(first.Fixed, path) {
			t.Errorf("%s can be replaced: %q", path, first.Fixed)
		}
	}
	for _, path := range []string{cache, own, first.Temp} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, path); err != nil {
			t.Fatal(err)
		}
	}
	again := confined()
	if slices.Contains(again.Scratch, victim) || !slices.Contains(again.Scratch, moved) {
		t.Errorf("caches are %q, %s was replaced", again.Scratch, cache)
	}
	if info, err := os.Lstat(again.Temp); again.Temp == first.Temp || err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("the temporary folder is %s again (%v)", again.Temp, err)
	}
	if err := os.Chmod(again.Temp, 0o777); err != nil {
		t.Fatal(err)
	}
	if third := confined(); third.Temp != again.Temp {
		t.Errorf("an open folder was left: %s", third.Temp)
	} else if info, err := os.Stat(third.Temp); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it is open to others: %v (%v)", info, err)
	}
}
