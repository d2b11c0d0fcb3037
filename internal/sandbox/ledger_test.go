package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestLedger: what a guarded file holds, and who may use it, is put back, and what was changed is said.
func TestLedger(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"its mode":    func(path string) error { return os.Chmod(path, 0o777) },
		"its content": func(path string) error { return os.WriteFile(path, []byte("evil"), 0o600) },
		"gone":        os.Remove,
		"nothing":     func(string) error { return nil },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "config")
		if err := os.WriteFile(path, []byte("as it was"), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := newLedger([]string{path}, func(string) string { return dir })
		if err != nil {
			t.Fatal(err)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		var want []string
		if name != "nothing" {
			want = []string{path}
		}
		if got := l.settle(); !slices.Equal(got, want) {
			t.Errorf("%s: put back are %q, want %q", name, got, want)
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "as it was" ||
			info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%s: it holds %q with %v (%v)", name, data, info.Mode(), err)
		}
	}
}

// TestKeptLedger: what is kept is settled once, in the folder that was looked at and nowhere else, when its process is
// gone.
func TestKeptLedger(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "data", "ledgers")
	top := t.TempDir()
	l, err := newLedger([]string{filepath.Join(top, "a", "envrc"), filepath.Dir(home)},
		func(string) string { return top })
	if err != nil {
		t.Fatal(err)
	}
	if err := l.keep(home); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "envrc"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(top, "a")); err != nil {
		t.Fatal(err)
	}
	if got, err := Settle(home); len(got) > 0 || err != nil {
		t.Errorf("while its process lives, %q is put back (%v)", got, err)
	}
	_ = l.kept.file.Close() // as the kernel does
	moved := top + "-moved"
	if err := os.Rename(top, moved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(moved) })
	if err := os.Symlink(moved, top); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(l.kept.path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Settle(home); len(got) > 0 || err != nil {
		t.Errorf("by a link for the folder, %q is put back (%v)", got, err)
	}
	if err := errors.Join(os.Remove(top), os.Rename(moved, top), os.WriteFile(l.kept.path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, err := Settle(home); !slices.Equal(got, []string{filepath.Join(top, "a", "envrc")}) || err != nil {
		t.Errorf("put back is %q (%v)", got, err)
	}
	if data, err := os.ReadFile(filepath.Join(outside, "envrc")); err != nil || string(data) != "mine" {
		t.Errorf("outside there is %q (%v)", data, err)
	}
	if _, err := os.Lstat(filepath.Join(top, "a.set-aside")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}

// TestKeepWhileSettled: other processes that settle what killed ones left keep none from writing its ledger down.
func TestKeepWhileSettled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	done := make(chan struct{})
	var settling sync.WaitGroup
	for range 2 {
		settling.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got, err := Settle(dir); len(got) > 0 || err != nil {
					t.Errorf("put back is %q (%v)", got, err)
					return
				}
			}
		})
	}
	failed := 0
	for range 100 {
		k, err := writeDown(dir, []entry{{path: "/p", top: "/"}}, maxKept)
		if err != nil {
			failed++
			t.Log(err)
		}
		k.drop()
	}
	close(done)
	settling.Wait()
	if failed > 0 {
		t.Errorf("%d ledgers were not written down", failed)
	}
}

// TestLedgerTooLarge: what could not be read whole after a kill is not taken for guarded: the command does not start.
func TestLedgerTooLarge(t *testing.T) {
	t.Parallel()
	dir, top := t.TempDir(), t.TempDir()
	var entries []entry
	for i := range 20 {
		entries = append(entries, entry{path: filepath.Join(top, strconv.Itoa(i)), top: top})
	}
	if k, err := writeDown(dir, entries, 100); err == nil || !strings.Contains(err.Error(), "too many files") {
		t.Errorf("it is written down: %v, %v", k, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}
