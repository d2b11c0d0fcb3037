package front_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/front"
)

// Whatever changes about the files of a source changes its signature; nothing else does.
func TestSignature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sources := []front.Source{{Path: filepath.Join(dir, "agents")}, {Path: filepath.Join(dir, "none")}}
	at := time.Unix(1e9, 0)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		check(os.MkdirAll(filepath.Dir(path), 0o755))
		check(os.WriteFile(path, []byte(text), 0o644))
		check(os.Chtimes(path, at, at))
	}
	write("elsewhere.md", "one")
	before := front.Signature(sources)
	for _, step := range []struct {
		what    string
		do      func()
		changes bool
	}{
		{"a folder comes", func() { write("agents/a.md", "a") }, true},
		{"nothing", func() {}, false},
		{"a file beside it", func() { write("b.md", "b") }, false},
		{"a file deep below", func() { write("agents/x/y/b.md", "b") }, true},
		{"other text of the same size and time", func() { write("agents/x/y/b.md", "c") }, true},
		{"a link", func() { check(os.Symlink("../elsewhere.md", filepath.Join(dir, "agents", "l.md"))) }, true},
		{"what it leads to", func() { write("elsewhere.md", "longer") }, true},
		{"another file in its place", func() {
			write("new", "a")
			check(os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "agents/a.md")))
		}, true},
		{"a file goes", func() { check(os.Remove(filepath.Join(dir, "agents/x/y/b.md"))) }, true},
	} {
		step.do()
		now := front.Signature(sources)
		if (now != before) != step.changes {
			t.Errorf("%s: changed %v", step.what, !step.changes)
		}
		before = now
	}
}
