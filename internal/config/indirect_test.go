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

// TestHooksOfOtherConfigs: a config that makes the project itself the folder of hooks, or that is the user's own,
// names what git runs as well.
func TestHooksOfOtherConfigs(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"here/.git/HEAD": "ref: refs/heads/main\n", "here/.git/config": "[core]\n\thooksPath = .\n",
		"there/.git/HEAD": "ref: refs/heads/main\n", "there/.git/config": "[core]\n\tbare = false\n",
		"home/.gitconfig":         "[core]\n\thooksPath = tools/hooks\n[includeIf \"gitdir:~/\"] path = ~/of/work\n",
		"home/.config/git/config": "[include] path = \"" + filepath.Join(base, "there", "mine.gitconfig") + "\"\n",
		"home/of/work":            "[include]\n\tpath = " + filepath.Join(base, "there", "deeper") + "\n",
	} {
		writeUnder(t, base, name, text)
	}
	home := filepath.Join(base, "home")
	for project, paths := range map[string]map[string]bool{
		"here":  {"pre-commit": true, "post-checkout": true, "main.go": false, "src/pre-commit": false},
		"there": {"tools/hooks/pre-push": true, "mine.gitconfig": true, "deeper": true, "pre-commit": false},
	} {
		dir := filepath.Join(base, project)
		p := Protect([]string{dir}, Dirs{Home: home}, nil)
		for name, want := range paths {
			if _, covered := p.Covers(filepath.Join(dir, name)); covered != want {
				t.Errorf("%s/%s: protected %v, want %v", project, name, covered, want)
			}
		}
	}
}

func writeUnder(t *testing.T, base, name, text string) {
	t.Helper()
	path := filepath.Join(base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
