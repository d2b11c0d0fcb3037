package worktree

import (
	"errors"
	"fmt"
	"os"
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

// TestApplyLaysAllFirst: where the new content of one file cannot be laid beside it, none is written, and nothing stays
// of
// what was laid. What something takes away that was laid, as git stash -u does, is laid again.
func TestApplyLaysAllFirst(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "a"), "was\n")
	changes := []Change{
		{Path: filepath.Join(dir, "a"), Was: troupe.ContentHash([]byte("was\n")), Content: []byte("new\n"),
			Mode: 0o644},
		{Path: filepath.Join(dir, "new/deep/n"), Content: []byte("n\n"), Mode: 0o644},
		{Path: filepath.Join(dir, "link"), Link: true}, // which can lead nowhere
	}
	names := func() string {
		entries, err := os.ReadDir(dir)
		return fmt.Sprint(entries, err)
	}
	before := names()
	if written, err := Apply(dir, changes); err == nil || len(written) > 0 || get(filepath.Join(dir, "a")) != "was\n" ||
		names() != before {
		t.Errorf("%v, %v: %s", written, err, names())
	}
	changes[2].Content = []byte("a")
	w, err := writerOf(dir, changes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range changes {
		if err := w.lay(i); err != nil {
			t.Fatal(err)
		}
		if err := w.root.Remove(filepath.Join(filepath.Dir(w.names[i]), w.laid[i].name)); err != nil {
			t.Fatal(err)
		}
		if err := w.apply(i); err != nil {
			t.Error(err)
		}
	}
	if err := w.end(len(changes)); err != nil || get(filepath.Join(dir, "a")) != "new\n" ||
		get(filepath.Join(dir, "new/deep/n")) != "n\n" || get(filepath.Join(dir, "link")) != "new\n" {
		t.Errorf("%v: %s", err, names())
	}
}
