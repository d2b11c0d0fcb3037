package app

import (
	"crypto/rand"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestOpenTells: who has a folder made is told how many of its files are there.
func TestOpenTells(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	dir = filepath.Join(filepath.Dir(dir), "tree")
	writeFile(t, filepath.Join(dir, "a.txt"), "a\n")
	writeFile(t, filepath.Join(dir, "b.txt"), "b\n")
	w, s := inWorktree(t, g, dir, "told")
	done, all := 0, 0
	_, err := w.Open(t.Context(), session.Opening{Session: s, Progress: func(d, a int) { done, all = d, a }})
	if err != nil || done < 2 || done != all {
		t.Errorf("%d of %d, %v", done, all, err)
	}
}

// inWorktree makes a repository of a folder, and plans a session that works in a worktree of it.
func inWorktree(t *testing.T, g *guard, dir, name string) (*workspaces, troupe.Session) {
	t.Helper()
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := &workspaces{keeper: keeperOf(g.app), app: g.app, guard: g}
	id, err := troupe.NewRootID(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := troupe.Session{ID: id, Root: id, Cwd: dir}
	if s.Workspace, err = w.Plan(s, session.Wish{ID: id, Kind: troupe.WorkspaceTree, Name: name}); err != nil {
		t.Fatal(err)
	}
	return w, s
}
