package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func execShell(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }

// TestApply: a file that is not what it was stays as it is, and nothing is written through a link.
func TestApply(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "dir")
	path := func(name string) string { return filepath.Join(dir, name) }
	was := troupe.ContentHash([]byte("was\n"))
	put(t, filepath.Join(top, "outside/f"), "was\n")
	for _, c := range []struct {
		name, before string
		change       Change
		want         string
		fails        bool
	}{
		{"changes", "echo was > f; chmod 640 f", Change{Path: path("f"), Was: was, Content: []byte("new\n"),
			Mode: 0o755},
			"750 f new", false},
		{"makes", "", Change{Path: path("a/b/f"), Content: []byte("new\n"), Mode: 0o644}, "644 a/b/f new", false},
		{"removes", "mkdir -p a/b; echo was > a/b/f; echo x > f", Change{Path: path("a/b/f"), Was: was, Gone: true},
			"644 f x", false},
		{"changed", "echo other > f", Change{Path: path("f"), Was: was, Content: []byte("new\n"), Mode: 0o644},
			"644 f other", true},
		{"changed, and to be removed", "echo other > f", Change{Path: path("f"), Was: was, Gone: true},
			"644 f other", true},
		{"gone", "", Change{Path: path("f"), Was: was, Content: []byte("new\n"), Mode: 0o644}, "", true},
		{"come", "echo other > f", Change{Path: path("f"), Content: []byte("new\n"), Mode: 0o644}, "644 f other", true},
		{"a link now", "ln -s ../outside/f f", Change{Path: path("f"), Was: was, Content: []byte("new\n"), Mode: 0o644},
			"777 f was", true},
		{"a link above", "ln -s ../outside a", Change{Path: path("a/f"), Was: was, Content: []byte("new\n"),
			Mode: 0o644},
			"777 a was", true},
		{"a link above that stays inside", "mkdir b; echo was > b/f; ln -s b a", Change{Path: path("a/f"), Was: was,
			Content: []byte("new\n"), Mode: 0o644}, "777 a was|644 b/f was", true},
		{"a pipe", "mkfifo f", Change{Path: path("f"), Was: was, Content: []byte("new\n"), Mode: 0o644}, "644 f ",
			true},
		{"a folder that is empty", "mkdir -p f/g", Change{Path: path("f"), Content: []byte("new\n"), Mode: 0o644},
			"644 f new", false},
		{"a folder that is not", "mkdir -p f/g; echo x > f/g/h", Change{Path: path("f"), Content: []byte("new\n"),
			Mode: 0o644}, "644 f/g/h x", true},
		{"a link to a link", "ln -s was f", Change{Path: path("f"), Was: troupe.ContentHash([]byte("was")),
			WasLink: true,
			Content: []byte("../outside/f"), Link: true}, "777 f was", false},
		{"outside", "", Change{Path: filepath.Join(top, "new"), Content: []byte("new\n"), Mode: 0o644}, "", true},
		{"up", "", Change{Path: dir + "/../new", Content: []byte("new\n"), Mode: 0o644}, "", true},
		{"a repository but for case", "", Change{Path: path("a/.GIT/config"), Content: []byte("new\n"), Mode: 0o644},
			"", true},
		{"a repository", "mkdir .git", Change{Path: path(".git/config"), Content: []byte("new\n"), Mode: 0o644}, "",
			true},
	} {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		cmd := execShell("umask 022; " + c.before)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, out)
		}
		written, err := Apply(dir, []Change{c.change})
		if (err != nil) != c.fails || (len(written) == 1) == c.fails {
			t.Errorf("%s: %v, %v", c.name, written, err)
		}
		cmd = execShell(`find . ! -type d | sort | while read -r f; do
			c=; [ -f "$f" ] && c=$(cat "$f"); [ -d "$f" ] && c=$(cat "$f/f"); echo "$(stat -c %a "$f") ${f#./} $c"; done`)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if got := strings.ReplaceAll(strings.TrimSuffix(string(out), "\n"), "\n", "|"); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if get(filepath.Join(top, "outside/f")) != "was\n" || there(filepath.Join(top, "new")) {
			t.Errorf("%s: something was written outside", c.name)
		}
	}
}

// TestApplyLooksTwice: what was changed while its new content was written beside it stays as it is.
func TestApplyLooksTwice(t *testing.T) {
	for name, c := range map[string]Change{"changed": {Was: troupe.ContentHash([]byte("was\n"))}, "come": {}} {
		dir := t.TempDir()
		folder, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.Content, c.Mode = []byte("new\n"), 0o644
		temp, err := tempIn(folder, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "f"), "meanwhile\n")
		if err := replace(folder, temp, "f", c); !errors.Is(err, ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
		if got := get(filepath.Join(dir, "f")); got != "meanwhile\n" {
			t.Errorf("%s: %q", name, got)
		}
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestApplyExchanged: of a folder that a merge made and somebody has put a link in the place of, the link stays.
func TestApplyExchanged(t *testing.T) {
	dir := t.TempDir()
	w, err := writerOf(dir, []Change{{Path: filepath.Join(dir, "a/f"), Content: []byte("new\n"), Mode: 0o644}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.lay(0); err != nil {
		t.Fatal(err)
	}
	link, moved := filepath.Join(dir, "a"), filepath.Join(dir, "moved")
	if err := errors.Join(os.Rename(link, moved), os.Symlink(moved, link)); err != nil {
		t.Fatal(err)
	}
	if written, err := w.apply(0), w.end(0); written == nil || err != nil {
		t.Errorf("%v, %v", written, err)
	}
	if to, err := os.Readlink(link); to != moved || err != nil || there(filepath.Join(moved, "f")) {
		t.Errorf("the link: %q, %v", to, err)
	}
}
