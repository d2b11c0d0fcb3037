package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
