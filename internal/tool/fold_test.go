package tool

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// foldingDisk takes any letter case for a name, drops what some systems drop at its end, and
// takes e with an accent in both ways of writing it.
func foldingDisk(folds bool) disk {
	plain := func(s string) string {
		return strings.ReplaceAll(strings.ToLower(strings.TrimRight(s, ". ")), "e\u0301", "\u00e9")
	}
	find := func(path string) (os.FileInfo, error) {
		dir, name := filepath.Dir(path), filepath.Base(path)
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if plain(e.Name()) == plain(name) {
				return os.Lstat(filepath.Join(dir, e.Name()))
			}
		}
		if err == nil {
			err = fs.ErrNotExist
		}
		return nil, err
	}
	return disk{lstat: find, list: os.ReadDir, folds: folds}
}

// However a file is spelled, what is judged is the name its folder has for it.
func TestResolveToTheNameOnDisk(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".env", "Sub/.\u00e9nv", "n1", "twin"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "twin"), filepath.Join(dir, "Twin")); err != nil {
		t.Fatal(err)
	}
	for _, folds := range []bool{false, true} {
		d := foldingDisk(folds)
		for spelled, want := range map[string]string{
			".env": ".env", ".ENV": ".env", ".Env.": ".env", ".env ": ".env", "SUB/.\u00c9NV": "Sub/.\u00e9nv",
			"sub/.e\u0301nv": "Sub/.\u00e9nv",
			".ENVX":          ".ENVX", "sub/new": "Sub/new", "none/X": "none/X",
		} {
			if got := d.resolve(filepath.Join(dir, spelled)); got != filepath.Join(dir, want) {
				t.Errorf("%v: Resolve(%q) = %q, want %q", folds, spelled, got, want)
			}
		}
	}
	if got := foldingDisk(true).resolve(filepath.Join(dir, "N1..")); got != filepath.Join(dir, "n1") {
		t.Errorf("got %q", got)
	}
	// Two names that are really two, of one file, stay what they are.
	for _, name := range []string{"twin", "Twin"} {
		if got := Resolve(filepath.Join(dir, name)); got != filepath.Join(dir, name) {
			t.Errorf("Resolve(%q) = %q", name, got)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		Resolve(dir)
	}
}
