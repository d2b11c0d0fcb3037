package app

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestOpenedIsNew: leave to make a repository changes no file that was in its folder, and leave to make a file of a
// submodule or a work tree opens its folder only if that is new.
func TestOpenedIsNew(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	for _, name := range []string{
		"site/hooks/theirs", "site/config", "site/objects/x", "site/refs/x", // half a repository, which a person began
		"full/HEAD", "full/objects/x", "full/refs/x", "many/refs/x",
		".git/modules/there/HEAD", ".git/worktrees/there/HEAD",
	} {
		writeFile(t, filepath.Join(dir, name), "x")
	}
	for i := range mostKept + 1 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("many/objects/%d", i)), "")
	}
	repository := func(name string) troupe.Attempt {
		return troupe.Attempt{Op: troupe.OpCreate, Path: name, Kind: troupe.KindRepository}
	}
	guarded, _ := confinedBy(t, g, dir, repository("site"), repository("full"), repository("new"), repository("many"),
		troupe.Attempt{Op: troupe.OpCreate, Path: ".git/modules/there/config"},
		troupe.Attempt{Op: troupe.OpCreate, Path: ".git/worktrees/there/commondir"},
		troupe.Attempt{Op: troupe.OpCreate, Path: ".git/modules/new/config"},
		troupe.Attempt{Op: troupe.OpWrite, Path: ".git/modules/written/config"})
	// While the command runs, the pieces that it makes complete the repositories.
	for _, name := range []string{"site/HEAD", "many/HEAD", "new/HEAD", "new/objects/x", "new/refs/x"} {
		writeFile(t, filepath.Join(dir, name), "x")
	}
	for path, want := range map[string]bool{
		"site/HEAD": false, "site/config": true, "site/hooks/theirs": true, "site/hooks/mine": false,
		"site/.envrc": true,
		"full/config": true, "full/hooks/x": true, "many/config": true,
		"new/HEAD": false, "new/hooks/x": false, "new/.envrc": true,
		".git/modules/there/config": true, ".git/modules/there/hooks/x": true, ".git/worktrees/there/commondir": true,
		".git/modules/new/config": false, ".git/modules/new/hooks/x": false, ".git/modules/written/config": true,
	} {
		if why := guarded(filepath.Join(dir, path)); (why != "") != want {
			t.Errorf("%s: %q", path, why)
		}
	}
}

// TestDenyWriteHolds: what sandbox.deny_write names stays as it is under every leave for a command, also below what
// a leave opens whole.
func TestDenyWriteHolds(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	writeFile(t, g.app.dirs.Settings(), `{"sandbox": {"deny_write": ["keep.txt", "src/gen", ".git/modules/m/hooks"]}}`)
	writeFile(t, filepath.Join(dir, "keep.txt"), "x")
	all := []troupe.Attempt{
		{Op: troupe.OpWrite, Path: "keep.txt"}, {Op: troupe.OpRemove, Path: "keep.txt"},
		{Op: troupe.OpCreate, Path: "src/gen", Kind: troupe.KindFolder},
		{Op: troupe.OpCreate, Path: "b", Kind: troupe.KindRepository},
		{Op: troupe.OpCreate, Path: "c", Kind: troupe.KindTree},
		{Op: troupe.OpCreate, Path: ".git/modules/m/config"},
	}
	guarded, closed := confinedBy(t, g, dir, all...)
	for path, want := range map[string]bool{
		"keep.txt": true, "b/hooks/keep.txt": true, "b/hooks/other": false, "b/config": false, "c/keep.txt": true,
		"KEEP.TXT": true, "c/other": false, "src/gen": true, "src/gen/x": true, "src/y": false,
		".git/modules/m/hooks/x": true, ".git/modules/m/config": false,
	} {
		path = filepath.Join(dir, path)
		if why := guarded(path); (why != "") != want || closed(path) != want {
			t.Errorf("%s: %q, closed %v", path, why, closed(path))
		}
	}
	out, _, err := g.Confine(t.Context(), session.Confine{Session: troupe.Session{ID: "0123456789ab", Cwd: dir},
		Level: troupe.LevelGranted, Granted: []troupe.Attempt{{Op: troupe.OpWrite, Path: dir + "/keep.txt"}}})
	if err != nil || len(out.Granted) > 0 {
		t.Errorf("granted %v, %v", out.Granted, err)
	}
}
