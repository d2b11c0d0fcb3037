package worktree

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func pipe(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPipeThroughNoLink: a folder that was exchanged for a link since it was looked at leads to nothing that is removed
// or opened.
func TestPipeThroughNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	pipe(t, filepath.Join(in, "own", ".gitignore"))
	put(t, filepath.Join(in, "file", ".gitignore"), "x")
	put(t, filepath.Join(dir, "theirs", ".gitignore"), "keys\n")
	pipe(t, filepath.Join(dir, "pipes", ".gitattributes"))
	for name, to := range map[string]string{"a": "../theirs", "b": "../pipes"} {
		if err := os.Symlink(to, filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, gone := range map[string]bool{"own/.gitignore": true, "file/.gitignore": false, "a/.gitignore": false,
		"b/.gitattributes": false} {
		removePipe(in, name)
		feedPipe(in, name)
		if _, err := os.Lstat(filepath.Join(in, name)); (err != nil) != gone {
			t.Errorf("%s: removed is %v, want %v", name, err != nil, gone)
		}
	}
	surveyOf(in, []string{"a/x", "b/x"})
	for _, name := range []string{"theirs/.gitignore", "pipes/.gitattributes"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestPipesDoNotStop: a pipe among the rules of a person's folder, or one that takes a file's place while git looks,
// keeps git waiting for a moment and not until its time is over. A person's stays.
func TestPipesDoNotStop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ws := b.made("one")
	put(t, filepath.Join(ws.Top, "one.txt"), "one\n")
	b.close(ws)
	at := filepath.Join(b.dir, "d", ".gitignore")
	pipe(t, at)
	put(t, filepath.Join(b.dir, "d", "f"), "f")
	out, err := b.k.Merge(t.Context(), ws, Into{})
	if err != nil || len(out.Changes) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if info, err := os.Lstat(at); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
}
