package worktree

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestApplyNothing: where one of several files is not what it was, none is written; a file that becomes a folder, and a
// folder that becomes a file, are no reason for that.
func TestApplyNothing(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	was := troupe.ContentHash([]byte("was\n"))
	for _, name := range []string{"a", "turned", "d/x", "moved"} {
		put(t, filepath.Join(dir, name), "was\n")
	}
	change := func(name, was string) Change {
		return Change{Path: filepath.Join(dir, name), Was: was, Content: []byte("new\n"), Mode: 0o644, Gone: false}
	}
	gone := func(name string) Change { return Change{Path: filepath.Join(dir, name), Was: was, Gone: true} }
	all := []Change{change("a", was), change("new/n", ""), gone("turned"), change("turned/t", ""), gone("d/x"),
		change("d", ""), change("moved", was)}
	put(t, filepath.Join(dir, "moved"), "meanwhile\n")
	if written, err := Apply(dir, all); !errors.Is(err, ErrMoved) || len(written) > 0 ||
		get(filepath.Join(dir, "a")) != "was\n" || there(filepath.Join(dir, "new")) {
		t.Errorf("%v, %v", written, err)
	}
	put(t, filepath.Join(dir, "moved"), "was\n")
	if written, err := Apply(dir, all); err != nil || len(written) != len(all) ||
		get(filepath.Join(dir, "turned/t")) != "new\n" || get(filepath.Join(dir, "d")) != "new\n" {
		t.Errorf("%v, %v", written, err)
	}
}
