package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestPlanHasTheNewName: the plan of a session that is renamed is found by its new name, and no other session gets it
// with the name that is free. While it is being written it stays where it is.
func TestPlanHasTheNewName(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies: [{text: done}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := openHome(t, home)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for mode, moves := range map[troupe.Mode]bool{troupe.ModeDefault: true, troupe.ModePlan: false} {
		name := "plan-in-" + string(mode)
		b := wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml", Name: name}
		b.Mode = mode
		r, err := you(a).Begin(t.Context(), b)
		if err == nil {
			err = you(a).Wait(t.Context(), r.Root)
		}
		if err != nil {
			t.Fatal(err)
		}
		folder := plansOf(a).dir
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+planSuffix), []byte("# it"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := you(a).Change(t.Context(), r.Root, wire.SessionChange{Rename: "new-" + name}); err != nil {
			t.Fatal(err)
		}
		_, before := os.Stat(filepath.Join(folder, name+planSuffix))
		_, after := os.Stat(filepath.Join(folder, "new-"+name+planSuffix))
		if (before != nil) != moves || (after == nil) != moves {
			t.Errorf("%s: it moves: %v, %v", mode, before, after)
		}
	}
}
