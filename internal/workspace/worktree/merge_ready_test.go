package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

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
// of what was laid. What something takes away that was laid, as git stash -u does, is laid again.
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

// TestApplyEndsWithItsOwn: a merge that ends before it was written removes what it laid, and neither fails for what
// something took away meanwhile nor removes what has come to its place. Names that differ in case alone are one place,
// which is not looked at before.
func TestApplyEndsWithItsOwn(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	changes := []Change{{Path: path("a"), Content: []byte("a\n"), Mode: 0o644},
		{Path: path("b"), Content: []byte("b\n"), Mode: 0o644}, {Path: path("c"), Content: []byte("c\n"), Mode: 0o644}}
	w, err := writerOf(dir, changes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range changes {
		if err := w.lay(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(path(w.laid[0].name)); err != nil {
		t.Fatal(err)
	}
	put(t, path("other"), "not ours\n")
	if err := os.Rename(path("other"), path(w.laid[1].name)); err != nil {
		t.Fatal(err)
	}
	if err := w.end(0); err != nil || get(path(w.laid[1].name)) != "not ours\n" || there(path(w.laid[2].name)) {
		t.Errorf("%v: what came there holds %q", err, get(path(w.laid[1].name)))
	}
	w, err = writerOf(dir, []Change{{Path: path("README"), Gone: true}, {Path: path("readme")}, {Path: path("x")}})
	if err != nil {
		t.Fatal(err)
	}
	if !w.turns(0) || !w.turns(1) || w.turns(2) {
		t.Error("names that differ in case alone are looked at before one of them has made place")
	}
	if err := w.end(0); err != nil {
		t.Error(err)
	}
}

// TestApplyLeavesWhatIsOthers: a merge that ends before it was written removes the folders that it made, but for those
// in which something of others lies by then, and none that has become something else.
func TestApplyLeavesWhatIsOthers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	var changes []Change
	for _, name := range []string{"free/f", "used/f", "other/f"} {
		changes = append(changes, Change{Path: path(name), Content: []byte("new\n"), Mode: 0o644})
	}
	w, err := writerOf(dir, changes)
	for i := range changes {
		if err == nil {
			err = w.lay(i)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	put(t, path("used/mine"), "mine\n")
	if err := os.RemoveAll(path("other")); err != nil {
		t.Fatal(err)
	}
	put(t, path("other"), "mine\n")
	if err := w.end(0); err != nil || there(path("free")) || get(path("used/mine")) != "mine\n" ||
		get(path("other")) != "mine\n" {
		t.Errorf("%v", err)
	}
}

// TestWritingIsOfTheFolder: two merges into one folder wait for each other, by whatever name they have it, and those
// into others do not.
func TestWritingIsOfTheFolder(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	_, release, err := Writing(t.Context(), b.k, filepath.Join(dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	for name, waits := range map[string]bool{"one": true, "link": true, "two": false} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, done, err := Writing(ctx, b.k, filepath.Join(dir, name))
		if errors.Is(err, context.DeadlineExceeded) != waits || !waits && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			done()
		}
		cancel()
	}
	release()
}
