package config

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPartOfGit: what makes a folder a repository, or decides what git runs in one, is told from other files
// wherever it is, with or without a folder named .git.
func TestPartOfGit(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []string{
		"bare/HEAD", "bare/objects/x", "bare/refs/x", // a repository
		"tree/HEAD", "tree/commondir", // a work tree's part of one
		"near/HEAD", "near/refs/x", // one that lacks its objects
		"headless/objects/x", "headless/refs/x", // one that lacks its HEAD
		"code/objects/a.go", "code/refs/b.go", "code/hooks/use.ts", "code/config",
		"whole/.git/HEAD", "whole/.git/objects/x", "whole/.git/refs/x", "whole/.git/logs/HEAD",
		"logs/HEAD",
		// What a command may lay down in a repository's refs.
		"whole/.git/refs/remotes/x/objects/o", "whole/.git/refs/remotes/x/refs/r",
		"whole/.git/logs/refs/remotes/y/objects/o", "whole/.git/logs/refs/remotes/y/refs/r",
		"whole/.git/refs/remotes/z/commondir",
	} {
		h.write(filepath.Join(h.repo, name), "x")
	}
	h.write(filepath.Join(h.repo, "headless/config"), "[core]\n\trepositoryformatversion = 0\n")
	p := Protect([]string{h.repo}, Dirs{}, nil)
	for path, want := range map[string]string{
		// Without one of these it would be no repository any more, and open.
		"bare/objects": "bare/objects", "bare/refs": "bare/refs", "headless/config": "headless/config",
		"headless/objects": "headless/objects", "headless/refs": "headless/refs", "headless/HEAD": "headless/HEAD",
		"headless/hooks/x": "headless/hooks", "headless/objects/x": "", "near/refs": "", "code/objects": "",
		".git": ".git", "sub/new/.git": "sub/new/.git", "sub/.GIT": "sub/.GIT", "g/HEAD": "g/HEAD",
		"sub/new/.git/description": "sub/new/.git", "sub/new/.git/objects/x": "sub/new/.git",
		"code/head": "code/head", "code/HEAD": "code/HEAD", "src/components/Head": "", "g/head": "",
		"bare/config": "bare/config", "bare/CONFIG": "bare/CONFIG", "near/objects": "near/objects",
		"bare/remotes/x": "bare/remotes", "bare/branches": "bare/branches", "headless/remotes": "headless/remotes",
		"code/remotes/x": "", "whole/.git/refs/remotes": "", "whole/.git/logs/refs/remotes/origin/x": "",
		"bare/hooks/post-checkout": "bare/hooks", "bare/commondir": "bare/commondir",
		"bare/info/attributes": "bare/info/attributes", "tree/config.worktree": "tree/config.worktree",
		"bare/info/exclude": "", "bare/info": "", "bare/gitdir": "bare/gitdir",
		"tree/commondir": "tree/commondir", "near/objects/pack/p": "near/objects", "near/commondir": "near/commondir",
		".git/HEAD": ".git/HEAD", ".git/COMMIT_EDITMSG": "", "bare/README": "", "bare/main/config.go": "",
		"bare/worktree/config/a": "", "near/config": "", "g/config": "", "g/objects/x": "", "g/commondir": "",
		"code/objects/c.go": "", "code/refs/b.go": "", "code/hooks/use.ts": "", "code/config": "", "Head/index.tsx": "",
		".gitignore": "", ".github/x": "",
		// What git writes in a repository that is there already, day by day.
		"bare/objects/y/z": "", "bare/refs/heads/m": "", "bare/HEAD": "", "bare/logs/HEAD": "", "tree/HEAD": "",
		"whole/.git/HEAD": "", "whole/.git/logs/HEAD": "", "whole/.git/refs/remotes/origin/HEAD": "",
		"whole/.git/logs/refs/remotes/origin/HEAD": "", "whole/.git/sequencer/head": "",
		"whole/.git/logs/refs": "", "whole/.git/logs/refs/heads/m": "",
		"whole/.git/logs/objects": "whole/.git/logs/objects",
		"logs/refs":               "logs/refs",
		"whole/.git/refs/x/HEAD":  "whole/.git/refs/x/HEAD", "whole/.git/logs/y/HEAD": "whole/.git/logs/y/HEAD",
		"whole/.git/refs/HEAD": "whole/.git/refs/HEAD", "whole/.git/refs/heads/HEAD": "whole/.git/refs/heads/HEAD",
		"whole/.git/refs/remotes/x/HEAD":      "whole/.git/refs/remotes/x/HEAD",
		"whole/.git/logs/refs/remotes/y/HEAD": "whole/.git/logs/refs/remotes/y/HEAD",
		"whole/.git/refs/remotes/z/HEAD":      "whole/.git/refs/remotes/z/HEAD",
		"whole/.git/refs/remotes/a/b/HEAD":    "", "whole/.git/refs/heads/hooks": "",
		"whole/.git/refs/heads/config": "",
		"whole/.git/modules/m/HEAD":    "whole/.git/modules/m/HEAD",
	} {
		if want != "" {
			want = filepath.Join(h.repo, want)
		}
		if got := p.PartOfGit(filepath.Join(h.repo, path)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestCoversAnywhere: a place is protected wherever in the project it lies or would lie.
func TestCoversAnywhere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []string{"nested/.git/HEAD", "nested/.git/objects/x", "nested/.git/refs/x",
		"bare.git/HEAD", "bare.git/objects/x", "bare.git/refs/x"} {
		h.project(name, "x")
	}
	h.project("module/.git", "gitdir: ../.git/modules/module")
	deny := []string{h.repo + "/fixed", h.repo + "/**/*.pem", h.repo + "/[!a-c]x/one", h.repo + "/broken/[",
		h.repo + `/st\*r`}
	p := Protect([]string{h.repo}, h.at().Dirs, deny)
	for path, want := range map[string]bool{
		"nested/.git/remotes/origin": true, "nested/.git/branches": true, ".git/remotes": true,
		"bare.git/remotes/x": true, "bare.git/branches/x": true, "nested/.git/refs/remotes/origin/x": false,
		".git/modules/module/remotes/x": true, "src/branches/x": false, "remotes": false,
		"nested/.git/hooks/pre-commit": true, "nested/.git/config": true, "nested/.git/index": false,
		"nested/.git/HEAD": false, "nested/.git/config.lock": false, "nested/.git": true, "module/.git": true,
		"module/.git/config": true, ".git/modules/module/hooks": true, "a/b/.git": true, "a/.git/x": true,
		"bare.git/config": true, "bare.git/hooks/update": true, "bare.git/refs/heads/x": false,
		"sub/.envrc": true, "sub/.claude/settings.json": true, "sub/.vscode/tasks.json": true, "sub/.husky/x": true,
		"SUB/.Claude/Settings.json": true, "sub/.claude.bak": false, "sub/x.claude": false, "sub/.envrc.lock": false,
		".yarnrc.yml": true, "pkg/.yarnrc.yml": true, ".cargo/config.toml": true, "x/.cargo/config": true,
		".cargo/registry": false, "opencode.json": true, "opencode.jsonc": true, ".opencode/x": true,
		".windsurf/mcp.json": true, ".yarn/releases/yarn.cjs": true, "mise.toml": true, ".mise.toml": true,
		".irbrc": true, "sub/.ghci": true, ".iex.exs": true, ".erlang": true, "lib/.ocamlinit": true, ".octaverc": true,
		".pythonrc.py": true, "$irbrc": true, "sub/.RData": true, ".Renviron": true, ".rprofile": true, "irbrc": false,
		"startup.m": true, "sub/.perldb": true, "ghci.hs": false, ".dir-locals.el": true,
		".github/workflows/ci.yml": true, "sub/.github/workflows/ci.yml": true,
		".github/CODEOWNERS": false, ".github": false,
		// Files of other version controls that name programs.
		".hg/hgrc": true, ".hg/hgrc-not-shared": true, "sub/.hg/sharedpath": true, ".HG/requires": true,
		".hg/dirstate": false, ".jj/repo/config.toml": true, ".jj/repo/config-id": true, "sub/.jj/config.toml": true,
		".jj/workspace-config.toml": true, ".JJ/workspace-config-id": true, ".jj/working_copy/checkout": false,
		".sl/config": true, "sub/.sl/hgrc": true, ".sl/sharedpath": true, ".sl/dirstate": false,
		".bzr/branch/branch.conf": true, ".bzr/checkout/dirstate": false, "_darcs/prefs/defaults": true,
		"_darcs/pristine": false, ".p4config": true, "sub/.P4Config": true,
		"main.go": false, "package.json": false, "Makefile": false,
		"CLAUDE.md": false, ".gitattributes": false, ".gitignore": false, "src/head": false, "HEAD": true,
		"fixed": true, "FIXED/x": true, "fixed2": false, "a/b.pem": true, "dx/one": true, "ax/one": false,
		"broken/x": true, "st*r": true, "star": false, "\u017fub/.huſky": true, "sub/.hu\u017fky/x": true,
	} {
		full := filepath.Join(h.repo, path)
		if why, got := p.Covers(full); got != want || got != (why != "") {
			t.Errorf("%s: covered %v (%q), want %v", path, got, why, want)
		}
	}
	for path, want := range map[string]bool{
		"~/.bashrc": true, "~/.config/troupe/settings.json": true, "~/.local/share/troupe": true, "~/notes": false,
		"~/src/other/.envrc": false, "~/src/other/.git/hooks/x": true, "~/src/other/.git": true,
	} {
		if _, got := p.Covers(strings.Replace(path, "~", h.home, 1)); got != want {
			t.Errorf("%s: covered %v, want %v", path, got, want)
		}
	}
	for path, want := range map[string]bool{
		".github": true, "sub/.GitHub": true, ".cargo": true, ".git/info": true, "nested/.git/modules": true,
		"nested/.git/modules/one/two": true, "bare.git/info": true, "src/info": false, "src": false, "sub/.git": true,
		"nested/.git/worktrees/x": true, "nested/.git/refs": false,
	} {
		if got := p.Leads(filepath.Join(h.repo, path)); got != want {
			t.Errorf("%s: leads %v, want %v", path, got, want)
		}
	}
	for path, want := range map[string]bool{h.home: true, h.home + "/.config": true, h.home + "/x": false} {
		if got := p.Leads(path); got != want {
			t.Errorf("%s: leads %v, want %v", path, got, want)
		}
	}
}

// TestInProject finds by looking what is protected further down.
func TestInProject(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []string{"nested/.git/HEAD", "nested/.git/hooks/x", "a/b/.envrc", "a/.claude/settings.json",
		"a/main.go", "module/.git", "eg/HEAD", "eg/objects/x", "eg/refs/x", "eg/config"} {
		h.project(name, "x")
	}
	p := Protect([]string{h.repo}, h.at().Dirs, nil)
	paths, whole := p.InProject(10_000)
	for _, name := range []string{"nested/.git/hooks", "nested/.git/config", "a/b/.envrc", "a/.claude", "module/.git",
		"eg/config"} {
		if !slices.Contains(paths, filepath.Join(h.repo, name)) {
			t.Errorf("%s is not among %q", name, paths)
		}
	}
	if slices.Contains(paths, filepath.Join(h.repo, "nested/.git")) || !whole {
		t.Errorf("%v %q", whole, paths)
	}
	if _, whole := p.InProject(3); whole {
		t.Error("a look at three names was the whole")
	}
}

// TestCoversAsGlobs: Covers, which finds a guard by its names, says what each glob by itself would.
func TestCoversAsGlobs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := Protect([]string{h.repo, filepath.Join(h.home, "more")}, h.at().Dirs, []string{h.repo + "/**/gen/*.go",
		h.repo + "/one/**", "/**/any", h.repo + "/a?c"})
	var globs [][]segment
	for _, g := range p.Globs() {
		globs = append(globs, segments(fold(g)))
	}
	r := rand.New(rand.NewPCG(1, 2))
	covered := 0
	for range 4000 {
		path := randomPath(r, h)
		want := p.PartOfGit(path) != "" || slices.ContainsFunc(globs, func(g []segment) bool {
			return matchSegments(g, strings.TrimPrefix(fold(path), "/"), false)
		})
		if why, got := p.Covers(path); got != want {
			t.Fatalf("%s: %v (%q), want %v", path, got, why, want)
		}
		if want {
			covered++
		}
	}
	if covered < 400 || covered > 3600 {
		t.Errorf("%d of the paths were covered: they show little", covered)
	}
}

// randomPath is a path made of names that mean something, and of others.
func randomPath(r *rand.Rand, h *house) string {
	names := []string{"src", "a", ".git", "hooks", "config", "modules", "HEAD", "gen", "x.go", "one", "any", "abc",
		"info"}
	for _, e := range protectedEntries() {
		names = append(names, e.name)
	}
	dir := []string{h.repo, h.home, filepath.Join(h.home, "more"), h.root}[r.IntN(4)]
	for range 1 + r.IntN(4) {
		name := names[r.IntN(len(names))]
		switch r.IntN(8) {
		case 0:
			name = strings.ToUpper(name)
		case 1:
			name += []string{".lock", "x", "~", ".d"}[r.IntN(4)]
		case 2:
			name = fmt.Sprint("f", r.IntN(9))
		}
		dir = filepath.Join(dir, name)
	}
	return dir
}

func BenchmarkCovers(b *testing.B) {
	project := b.TempDir()
	p := Protect([]string{project}, Dirs{Config: "/c", Data: "/d", Run: "/r", Home: b.TempDir()}, nil)
	for name, path := range map[string]string{
		"source": "/internal/session/confine_test.go", "nested": "/web/app/node_modules/x/lib/.envrc",
		"objects": "/.git/objects/ab/cdef", "hooks": "/web/src/hooks/use.ts",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Covers(project + path)
			}
		})
	}
}

// TestLeadsToRefs: no folder and no link is brought into a repository's refs, where it could be one with its config.
func TestLeadsToRefs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []string{"whole/.git/HEAD", "whole/.git/objects/x", "whole/.git/refs/x"} {
		h.write(filepath.Join(h.repo, name), "x")
	}
	p := Protect([]string{h.repo}, Dirs{}, nil)
	for path, want := range map[string]bool{
		"whole/.git/refs/remotes/x": true, "whole/.git/logs": true, "whole/.git/logs/y": true, "src/refs/x": false,
		"whole/.git/objects/aa": false, "whole/logs/x": false,
	} {
		if got := p.Leads(filepath.Join(h.repo, path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// TestGitFolder: what lies in a folder of git is told from what lies in a work tree, wherever that is.
func TestGitFolder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, name := range []string{
		"bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/main/.git", ".git/HEAD", ".git/tree/.git", "src/HEAD",
	} {
		h.write(filepath.Join(h.repo, name), "x")
	}
	for path, want := range map[string]string{
		".git/MSG": ".git", ".git/modules/m/logs/HEAD": ".git", "new/.GIT/x": "new/.GIT", "bare/logs/HEAD": "bare",
		".git": "", "src/x": "", "bare": "", "bare/main/x": "", "bare/main/a/b": "", ".git/tree/a": "",
	} {
		if want != "" {
			want = filepath.Join(h.repo, want)
		}
		if got := GitFolder(filepath.Join(h.repo, path)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
