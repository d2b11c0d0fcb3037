package config

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIndirectIsProtected: what protected links lead to, and what the repository's config names, stays as it is.
func TestIndirectIsProtected(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", "settings.json": "{}", "scripts/pre-commit": "",
		".git/config":       "[include]\n\tpath = ../project.gitconfig\n[core]\n\thooksPath = tools/hooks\n",
		"project.gitconfig": "[include] path = more.gitconfig\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		".git/hooks/pre-commit": "../../step", "step": "scripts/pre-commit",
		".claude/settings.json": "../settings.json",
		".claude/agents":        "../agents",
	} {
		path := filepath.Join(dir, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	p := Protect([]string{dir}, Dirs{}, nil)
	for name, want := range map[string]bool{
		"step": true, "scripts/pre-commit": true, "project.gitconfig": true, "more.gitconfig": true,
		"tools/hooks/pre-push": true, "settings.json": true, "agents/a.md": true,
		"scripts/other": false, "tools/x": false,
		".hg/hgrc": true, ".jj/repo/config.toml": true,
	} {
		if _, covered := p.Covers(filepath.Join(dir, name)); covered != want {
			t.Errorf("%s: protected %v, want %v", name, covered, want)
		}
	}
}
