package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/disk"
)

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := disk.Read(name, 5); err != nil || string(data) != "12345" {
		t.Errorf("read: %q, %v", data, err)
	}
	if data, err := disk.Read(name, 3); !errors.Is(err, disk.ErrTooLarge) || string(data) != "1234" {
		t.Errorf("one that is larger: %q, %v", data, err)
	}
	for odd, want := range map[string]error{filepath.Dir(name): disk.ErrNotRegular, name + "b": fs.ErrNotExist} {
		if _, err := disk.Read(odd, 5); !errors.Is(err, want) || !strings.Contains(err.Error(), odd) {
			t.Errorf("%s: %v, want %v that names it", odd, err, want)
		}
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	for name, replace := range map[string]func(path string, data []byte) error{
		"replace": func(path string, data []byte) error { return disk.Replace(path, data, 0o644) },
		"cache":   disk.Cache,
	} {
		path := filepath.Join(dir, name)
		for _, text := range []string{"first", "second"} {
			if err := replace(path, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != text {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		want := map[string]fs.FileMode{"replace": 0o644, "cache": 0o600}[name]
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		taken := filepath.Join(dir, name+".d")
		if err := os.MkdirAll(taken, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := replace(taken, []byte("x")); err == nil {
			t.Errorf("%s: a folder was replaced", name)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTidy(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		name := filepath.Join(dir, string(rune('a'+i)))
		if err := errors.Join(disk.Cache(name, nil), os.Chtimes(name, time.Time{},
			time.Unix(int64(100-i), 0))); err != nil {
			t.Fatal(err)
		}
	}
	disk.Tidy(dir, 2)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "a" || left[1].Name() != "b" {
		t.Errorf("left: %v, %v", left, err)
	}
}
