package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		".git/HEAD": "ref: refs/heads/main\n", "settings.json": "{}", "scripts/pre-commit": "", "scripts/push.sh": "",
		"scripts/hooks/commit-msg": "", "scripts/inner": "",
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
		".husky/pre-push":       "../push", "push": "scripts/push.sh", ".githooks": "scripts/hooks",
		".husky/_/pre-commit": "../../scripts/inner", ".lefthook/pre-push": "../scripts/new",
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
		"push": true, "scripts/push.sh": true, "scripts/hooks/pre-push": true, "scripts/inner": true,
		"scripts/new": true,
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

// TestStrategies: where a repository brings a folder git-merge-*, the files that name a way to merge are protected, for
// what they name may lie there or lead out of it again; elsewhere git writes them as it likes.
func TestStrategies(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain/.git/HEAD", "brings/.git/HEAD", "brings/git-merge-x/evil", "file/.git/HEAD",
		"file/git-merge-octopus.sh", "linked/.git/HEAD", "linked/y/evil"} {
		writeUnder(t, base, name, "ref: refs/heads/main\n")
	}
	if err := os.Symlink("y", filepath.Join(base, "linked", "git-merge-y")); err != nil {
		t.Fatal(err)
	}
	for project, want := range map[string]bool{"plain": false, "brings": true, "file": false, "linked": true} {
		dir := filepath.Join(base, project)
		p := Protect([]string{dir}, Dirs{}, nil)
		for _, file := range []string{".git/rebase-merge/strategy", ".git/sequencer/opts"} {
			if _, covered := p.Covers(filepath.Join(dir, file)); covered != want {
				t.Errorf("%s/%s: protected %v, want %v", project, file, covered, want)
			}
		}
		for _, made := range []string{"git-merge-z", "git-merge-z/evil"} {
			if _, covered := p.Covers(filepath.Join(dir, made)); !covered {
				t.Errorf("%s/%s is not protected", project, made)
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

// TestHooksOfAnyConfig: which files a repository's own configs name is read as git reads it. If it cannot be told,
// all of the project is protected.
func TestHooksOfAnyConfig(t *testing.T) {
	t.Parallel()
	const inWorktree = "[extensions]\n\tworktreeConfig = true\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		not   []string
	}{
		"plain":          {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/hooks\n"}},
		"a comment":      {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/hooks ; team\n"}},
		"quoted":         {files: map[string]string{".git/config": "[core]\n\thooksPath = \"tools/hooks\" # team\n"}},
		"partly quoted":  {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/\"hooks\"\n"}},
		"header comment": {files: map[string]string{".git/config": "[core] ; x\n\thooksPath = tools/hooks\n"}},
		"continued":      {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/\\\nhooks\n"}},
		"one line":       {files: map[string]string{".git/config": "[user] name = x\n[core]hooksPath=tools/hooks\n"}},
		"a mark":         {files: map[string]string{".git/config": "\xef\xbb\xbf[core]\n\thooksPath = tools/hooks\n"}},
		"of a work tree": {files: map[string]string{".git/config": inWorktree,
			".git/config.worktree": "[core]\n\thooksPath = tools/hooks\n"}},
		"not the first": {files: map[string]string{
			".git/config": "[core]\n\thooksPath = tools/hooks\n\thooksPath = .mine\n"}, want: []string{".mine/x"}},
		"another core": {files: map[string]string{
			".git/config": "[core \"\"]\n\thooksPath = other\n[core]\n\thooksPath = tools/hooks\n"},
			not: []string{"other/x"}},
		"included": {files: map[string]string{".git/config": "[include]\n\tpath = ../team # shared\n",
			"team": "[core]\n\thooksPath = tools/hooks\n"}, want: []string{"team"}},
		"included on a condition": {files: map[string]string{
			".git/config": "[includeIf \"gitdir:a]b\"]\n\tpath = \"../team\"\n",
			"team":        "[core]\n\thooksPath = tools/hooks\n"}, want: []string{"team"}},
		"of the user": {files: map[string]string{".gitconfig": "[core]\n\thooksPath = \"tools/hooks\" # team\n"}},
		"broken, of the user": {files: map[string]string{".gitconfig": "[core\n\thooksPath = tools/hooks\n"},
			want: []string{"main.go"}},
		"in the home": {files: map[string]string{".git/config": "[core]\n\thooksPath = ~/tools/hooks\n"}},
		"a blank": {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/ho\tks\n"},
			want: []string{"tools/ho\tks/x", "tools/ho ks/x"}, not: []string{"tools/hooks/x"}},
		"here": {files: map[string]string{".git/config": "[core]\n\thooksPath = .\n"},
			want: []string{"pre-commit", "pre-push", "post-checkout"}, not: []string{"tools/hooks/x"}},
		"a link": {files: map[string]string{".git/config": "[core]\n\thooksPath = linked\n",
			"tools/hooks/x": "", "linked": "-> tools/hooks"}, want: []string{"linked/x"}},
		"links in it": {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/hooks\n",
			"tools/hooks/pre-push": "-> ../../step"}, want: []string{"step"}},
		"of a submodule": {files: map[string]string{".git/modules/m/HEAD": "",
			".git/modules/m/config": "[core]\n\tworktree = ../../../m\n\thooksPath = ../tools/hooks\n"}},
		"not to be read": {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/ho\x00ks\n"},
			want: []string{"main.go"}},
		"broken": {files: map[string]string{".git/config": "[core]\n\thooksPath = tools/hooks\n[oops\n"},
			want: []string{"main.go"}},
		"broken where it is included": {files: map[string]string{".git/config": "[include]\n\tpath = ../team\n",
			"team": "oops\x00"}, want: []string{"main.go"}},
		"broken, and one that is not": {files: map[string]string{".git/config": inWorktree + "[oops\n",
			".git/config.worktree": "[core]\n\thooksPath = tools/hooks\n"}, want: []string{"main.go"}},
		"broken where it is included, and one that is not": {files: map[string]string{
			".git/config": "[include]\n\tpath = ../team\n[include]\n\tpath = ../more\n", "team": "oops\x00",
			"more": "[core]\n\thooksPath = tools/hooks\n"}, want: []string{"main.go"}},
		"large": {files: map[string]string{
			".git/config": strings.Repeat("#", maxSettings) + "\n[core]\n\thooksPath = tools/hooks\n"},
			want: []string{"main.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			for file, text := range c.files {
				path := filepath.Join(h.repo, file)
				target, link := strings.CutPrefix(text, "-> ")
				if !link {
					h.write(path, text)
					continue
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(target, path); err != nil {
					t.Fatal(err)
				}
			}
			home := h.repo // so that what lies there is of the project
			p := Protect([]string{h.repo}, Dirs{Home: home}, nil)
			want := append([]string{"tools/hooks/x"}, c.want...)
			if slices.Contains(c.not, want[0]) {
				want = want[1:]
			} else if !slices.Contains(c.want, "main.go") {
				c.not = append(c.not, "main.go", "tools/x")
			}
			for _, path := range want {
				if _, covered := p.Covers(filepath.Join(h.repo, path)); !covered {
					t.Errorf("%q is not protected", path)
				}
			}
			for _, path := range c.not {
				if why, covered := p.Covers(filepath.Join(h.repo, path)); covered {
					t.Errorf("%q is protected: %s", path, why)
				}
			}
		})
	}
}

// TestBesideGit: what holds beside a repository's config is read from each place where it may stand, with all that it
// includes; what cannot be read leaves it unsure.
func TestBesideGit(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	home := filepath.Join(base, "home")
	for name, text := range map[string]string{
		"home/.gitconfig":         "[includeIf \"gitdir:/nowhere/\"] path = work\n",
		"home/work":               "[remote \"a\"] prune = true\n",
		"home/.config/git/config": "[remote \"b\"] prune = true\n",
		"xdg/git/config":          "[remote \"c\"] prune = true\n",
		"system":                  "[remote \"d\"] prune = true\n",
		"global":                  "[remote \"e\"] prune = true\n",
	} {
		writeUnder(t, base, name, text)
	}
	environ := map[string]string{"XDG_CONFIG_HOME": base + "/xdg", "GIT_CONFIG_SYSTEM": base + "/system",
		"GIT_CONFIG_GLOBAL": base + "/global"}
	look := func(name string) (string, bool) {
		value, ok := environ[name]
		return value, ok
	}
	beside, has := BesideGit(home, look), ""
	for _, e := range beside.Entries {
		if sub, _ := e.Sub(); e.Name() == "prune" {
			has += sub
		}
	}
	if has != "decab" || beside.Unsure {
		t.Errorf("%q, %+v", has, beside)
	}
	writeUnder(t, home, "work", "[remote\n")
	if !BesideGit(home, look).Unsure {
		t.Error("what cannot be read is left out")
	}
}
