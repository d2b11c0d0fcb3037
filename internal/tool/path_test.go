package tool_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/internal/tool"
)

func TestAbsAndRel(t *testing.T) {
	t.Parallel()
	env := tool.Env{Cwd: "/w/p", Environ: []string{"HOME=/old", "HOME=/home/me"}}
	for in, want := range map[string]string{
		"a/../b.go": "/w/p/b.go", "/etc//x/": "/etc/x", "~/x": "/home/me/x", "~": "/home/me", ".": "/w/p",
		"~x": "/w/p/~x",
	} {
		if got := env.Abs(in); got != want {
			t.Errorf("Abs(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"/w/p/a/b": "a/b", "/w/p": ".", "/w/px": "/w/px", "/w": "/w",
		"/w/p/..x": "..x"} {
		if got := env.Rel(in); got != want {
			t.Errorf("Rel(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"real/deep", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"link": "real", "abs": filepath.Join(dir, "real", "deep"), "dangling": "other/new.txt", "loop": "loop",
		"real/up": "../other", "chain": "link/up",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string]string{
		"real/deep": "real/deep", "link/deep/x": "real/deep/x", "abs/x": "real/deep/x", "dangling": "other/new.txt",
		"real/up/a/b": "other/a/b", "chain/z": "other/z", "none/at/all": "none/at/all", "loop/x": "loop/x",
	} {
		if got := tool.Resolve(filepath.Join(dir, in)); got != filepath.Join(dir, want) {
			t.Errorf("Resolve(%q) = %q, want %q", in, got, want)
		}
	}
	if got := tool.Resolve("/"); got != "/" {
		t.Errorf("Resolve(/) = %q", got)
	}
	link := filepath.Join(dir, "link")
	if got, want := tool.Touched(link), []string{link, filepath.Join(dir, "real")}; !slices.Equal(got, want) {
		t.Errorf("Touched = %q, want %q", got, want)
	}
	if got, want := tool.Touched(dir), []string{dir}; !slices.Equal(got, want) {
		t.Errorf("Touched = %q, want %q", got, want)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	// The first half of the well-known SHA-256 of "abc".
	const want = "ba7816bf8f01cfea414140de5dae2223"
	h := tool.NewHasher()
	for _, p := range []string{"a", "bc"} {
		if _, err := h.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if got := tool.Hash([]byte("abc")); got != want || h.Sum() != want {
		t.Errorf("Hash = %s, Hasher = %s, want %s", got, h.Sum(), want)
	}
	if s, n := tool.Cut("aé", 2); s != "a" || n != 2 {
		t.Errorf("Cut = %q %d", s, n)
	}
	if s, n := tool.Cut("aé", 3); s != "aé" || n != 0 {
		t.Errorf("Cut = %q %d", s, n)
	}
	known := []string{"main.go", "login.go", "server_test.go", "subagent_type"}
	for word, want := range map[string]string{"loging.go": "login.go", "zzzzzz": "", "server": "server_test.go",
		"agent_type": "subagent_type"} {
		if got := tool.Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
