package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestNothingStaysOfTrees: a process that hosts trees one after the other, each in a folder of its own, keeps what it
// knows of the last few folders and of no other.
func TestNothingStaysOfTrees(t *testing.T) {
	t.Parallel()
	a := openHome(t, t.TempDir())
	for range 3 * mostIdle {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies:\n  - text: done\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
		if err == nil {
			err = api.Finish(t.Context(), you(a), r.Root)
		}
		if err == nil {
			err = you(a).Remove(t.Context(), r.Root)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	g := a.engine.Load().guard
	g.mu.Lock()
	folders, finders := len(g.folders), len(g.finders)
	g.mu.Unlock()
	if folders > mostIdle || finders > mostIdle {
		t.Errorf("after %d trees %d folders and %d watches are kept", 3*mostIdle, folders, finders)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
