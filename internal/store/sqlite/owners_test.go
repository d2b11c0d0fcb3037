package sqlite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestAskingIsNotHolding: whoever looks whether an owner lives is not taken for the owner by
// another who looks at the same moment.
func TestAskingIsNotHolding(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dead.lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	asking, err := tryShare(path)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := isHeld(path); held || err != nil {
		t.Errorf("a dead owner's lock is held: %v, %v", held, err)
	}
	if err := asking.close(); err != nil {
		t.Error(err)
	}
	living, err := tryLock(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := isHeld(path); !held || err != nil {
		t.Errorf("a living owner's lock is held: %v, %v", held, err)
	}
	if err := living.close(); err != nil {
		t.Error(err)
	}
}

// TestOwnersAreBuried: files of dead owners go with the next registration; rows stay for
// the latest, and for whoever lives.
func TestOwnersAreBuried(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	s := mustOpen(t, path, Options{})
	ctx := t.Context()
	old := mustOpen(t, path, Options{})
	if _, err := old.Register(ctx, troupe.Owner{ID: "methuselah"}); err != nil {
		t.Fatal(err)
	}
	dying := mustOpen(t, path, Options{})
	for i := range keepOwners + 20 {
		if _, err := dying.Register(ctx, troupe.Owner{ID: troupe.OwnerID(fmt.Sprint("mortal-", i))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := dying.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.ownersDir(), "x.lock.123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Register(ctx, troupe.Owner{ID: "last"}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.ownersDir(), "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("two owners live, and there are the files %v (%v)", files, err)
	}
	for id, want := range map[troupe.OwnerID]struct {
		alive bool
		err   error
	}{
		"methuselah": {alive: true},
		"last":       {alive: true},
		"mortal-0":   {err: troupe.ErrNotFound},
		troupe.OwnerID("mortal-" + fmt.Sprint(keepOwners+19)): {},
	} {
		_, alive, err := s.Owner(ctx, id)
		if alive != want.alive || !errors.Is(err, want.err) {
			t.Errorf("%s: alive %v, %v; want %v, %v", id, alive, err, want.alive, want.err)
		}
	}
}

// TestRegisterTogether: of many who register one id at once, one succeeds.
func TestRegisterTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "troupe.db")
	stores := []*Store{mustOpen(t, path, Options{}), mustOpen(t, path, Options{})}
	for round := range 10 {
		var wg sync.WaitGroup
		won := make(chan struct{}, 8)
		for i := range cap(won) {
			wg.Go(func() {
				_, err := stores[i%2].Register(t.Context(), troupe.Owner{ID: troupe.OwnerID(fmt.Sprint("o", round))})
				if err == nil {
					won <- struct{}{}
				} else if !errors.Is(err, troupe.ErrExists) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Errorf("%d registered the same id", len(won))
		}
	}
}

// TestHeirs: what a process was just starting when it was killed may have its locks for a
// moment. It is not taken for the process itself.
func TestHeirs(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "troupe.db"), Options{})
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Skip(err)
	}
	if _, err := s.Register(t.Context(), troupe.Owner{ID: "late", PID: dead.Process.Pid}); err != nil {
		t.Fatal(err)
	}
	held := s.owned["late"]
	heir := exec.Command("sleep", "0.1")
	heir.ExtraFiles = []*os.File{held.f}
	if err := heir.Start(); err != nil {
		t.Fatal(err)
	}
	delete(s.owned, "late")
	if err := held.close(); err != nil {
		t.Error(err)
	}
	if _, alive, err := s.Owner(t.Context(), "late"); alive || err != nil {
		t.Errorf("a dead process is alive while its heir has its lock: %v, %v", alive, err)
	}
	if err := heir.Wait(); err != nil {
		t.Error(err)
	}
}
