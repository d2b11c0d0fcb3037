package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// trap is a way by which a repository can make git run a command of its own.
type trap struct {
	name string
	// In these, EVIL is a script that leaves a mark.
	config [][2]string
	files  map[string]string
	setup  func(t *testing.T, dir, evil string)
	// plain is what an unsuspecting person would run; nil if the trap needs a terminal to
	// work, or does not work in any version.
	plain []string
	// harm is what HarmfulConfig has to list, among other things perhaps.
	harm string
	// blind: the trap keeps our own calls from finding out everything. That is no harm.
	blind bool
}

func traps() []trap {
	const fsmonitor = "[core]\n\tfsmonitor = EVIL\n"
	return []trap{
		{name: "fsmonitor", config: [][2]string{{"core.fsmonitor", "EVIL"}}, plain: []string{"status"},
			harm: "core.fsmonitor"},
		{name: "hooks folder", config: [][2]string{{"core.hooksPath", "hooks"}},
			files: map[string]string{"hooks/post-index-change": "#!/bin/sh\nEVIL\n"}, plain: []string{"status"},
			harm: "hooks/post-index-change"},
		{name: "hook", files: map[string]string{".git/hooks/post-index-change": "#!/bin/sh\nEVIL\n"},
			plain: []string{"status"}, harm: "hooks/post-index-change"},
		{name: "hook without any setting", files: map[string]string{".git/hooks/post-index-change": "#!/bin/sh\nEVIL\n",
			".git/config": ""}, plain: []string{"status"}, harm: "hooks/post-index-change"},
		{name: "clean filter", config: [][2]string{{"filter.x y.clean", "EVIL"}},
			files: map[string]string{".gitattributes": `* filter="x y"` + "\n* filter=x\n"}, harm: "filter.x y.clean"},
		{name: "clean filter by attributes", config: [][2]string{{"filter.x.clean", "EVIL"}},
			files: map[string]string{".gitattributes": "* filter=x\n"}, plain: []string{"status"},
			harm: "filter.x.clean"},
		{name: "required filter by info", config: [][2]string{{"filter.X.clean", "EVIL"},
			{"filter.X.required", "true"}}, files: map[string]string{".git/info/attributes": "* filter=X\n"},
			plain: []string{"diff"}, harm: "filter.X.clean"},
		{name: "filter process", config: [][2]string{{"filter.x.process", "EVIL"}},
			files: map[string]string{".gitattributes": "* filter=x\n"}, plain: []string{"status"},
			harm: "filter.x.process"},
		{name: "included filter", config: [][2]string{{"include.path", "more"}},
			files: map[string]string{".git/more": "[filter \"x\"]\n\tclean = EVIL\n", ".gitattributes": "* filter=x\n"},
			plain: []string{"status"}, harm: "filter.x.clean"},
		{name: "included for this branch", config: [][2]string{{"includeIf.onbranch:main.path", "../more"}},
			files: map[string]string{"more": fsmonitor}, plain: []string{"status"}, harm: "core.fsmonitor"},
		{name: "included for this folder", config: [][2]string{{"includeIf.gitdir:**.path", "../more"}},
			files: map[string]string{"more": fsmonitor}, plain: []string{"status"}, harm: "core.fsmonitor"},
		{name: "setting of the worktree", config: [][2]string{{"extensions.worktreeConfig", "true"}},
			files: map[string]string{".git/config.worktree": fsmonitor}, plain: []string{"status"},
			harm: "core.fsmonitor"},
		{name: "external diff", config: [][2]string{{"diff.external", "EVIL"}}, plain: []string{"diff"},
			harm: "diff.external"},
		{name: "diff driver", config: [][2]string{{"diff.x.command", "EVIL"}},
			files: map[string]string{".gitattributes": "* diff=x\n"}, plain: []string{"diff"}, harm: "diff.x.command"},
		{name: "textconv", config: [][2]string{{"diff.x.textconv", "EVIL"}},
			files: map[string]string{".gitattributes": "* diff=x\n"}, plain: []string{"diff"}, harm: "diff.x.textconv"},
		{name: "textconv and blame", config: [][2]string{{"diff.x.textconv", "EVIL"}},
			files: map[string]string{".gitattributes": "* diff=x\n"}, plain: []string{"blame", "a.txt"},
			harm: "diff.x.textconv"},
		{name: "pager", config: [][2]string{{"core.pager", "EVIL"}, {"pager.diff", "EVIL"}, {"pager.status", "EVIL"}},
			harm: "pager.diff"},
		{name: "alias", config: [][2]string{{"alias.status", "!EVIL"}, {"alias.diff", "!EVIL"}}},
		{name: "signatures", config: [][2]string{{"gpg.program", "EVIL"}, {"log.showSignature", "true"}}, setup: signed,
			plain: []string{"log", "-1", "signed"}, harm: "gpg.program"},
		{name: "signatures by a format", config: [][2]string{{"gpg.ssh.program", "EVIL"}, {"gpg.program", "EVIL"},
			{"format.pretty", "%G?"}}, setup: signed, plain: []string{"log", "-1", "signed"}, harm: "format.pretty"},
		{name: "archive", config: [][2]string{{"tar.x.command", "EVIL"}},
			plain: []string{"archive", "--format=x", "HEAD"}, harm: "tar.x.command"},
		{name: "a blob that is fetched when it is wanted", config: [][2]string{{"extensions.partialClone", "o"},
			{"core.repositoryFormatVersion", "1"}, {"remote.o.url", "."}, {"remote.o.promisor", "true"},
			{"remote.o.uploadpack", "EVIL"}},
			setup: missingBlob, plain: []string{"diff"}, harm: "remote.o.promisor", blind: true},
		{name: "submodule", setup: submodule, plain: []string{"status"}, harm: "submodule lib: core.fsmonitor"},
		{name: "bare repository in the way", setup: bare, plain: []string{"status"}, harm: "core.fsmonitor",
			blind: true},
		{name: "another worktree", config: [][2]string{{"core.worktree", "../.."}, {"core.fsmonitor", "EVIL"}},
			plain: []string{"status"}, harm: "core.fsmonitor", blind: true},
		{name: "the user's address", config: [][2]string{{"user.email", "$(EVIL)`EVIL`"}, {"user.name", "; EVIL;"}}},
		{name: "alternates that lead anywhere",
			files: map[string]string{".git/objects/info/alternates": "/dev\n/proc/self/fd\n\"quoted\n../../../..\n"}},
		{name: "remote helper", config: [][2]string{{"remote.origin.url", "ext::EVIL"},
			{"protocol.ext.allow", "always"}, {"core.sshCommand", "EVIL"}, {"credential.helper", "!EVIL"},
			{"core.askPass", "EVIL"}}, harm: "core.sshcommand"},
	}
}

// signed makes a branch with a signature that somebody has to check.
func signed(t *testing.T, dir, _ string) {
	t.Helper()
	tree := strings.TrimSpace(plainGit(t, dir, "rev-parse", "HEAD^{tree}"))
	write(t, filepath.Join(dir, ".git", "c"), "tree "+tree+"\nauthor t <t@t> 1767400000 +0000\ncommitter t <t@t> "+
		"1767400000 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\nsigned\n")
	commit := strings.TrimSpace(plainGit(t, dir, "hash-object", "-t", "commit", "-w", ".git/c"))
	plainGit(t, dir, "branch", "signed", commit)
}

func missingBlob(t *testing.T, dir, _ string) {
	t.Helper()
	blob := strings.TrimSpace(plainGit(t, dir, "rev-parse", "HEAD:a.txt"))
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
}

func submodule(t *testing.T, dir, evil string) {
	t.Helper()
	lib := filepath.Join(dir, "lib")
	write(t, filepath.Join(lib, "x"), "x")
	plainGit(t, lib, "init", "-q")
	plainGit(t, lib, "add", ".")
	plainGit(t, lib, "commit", "-q", "-m", "lib")
	plainGit(t, dir, "add", "lib")
	plainGit(t, lib, "config", "core.fsmonitor", evil)
}

// bare takes the place of the repository: what git finds in the folder itself counts.
func bare(t *testing.T, dir, evil string) {
	t.Helper()
	git := filepath.Join(dir, ".git")
	plainGit(t, dir, "config", "core.bare", "false")
	plainGit(t, dir, "config", "core.worktree", ".")
	plainGit(t, dir, "config", "core.fsmonitor", evil)
	for _, name := range []string{"HEAD", "config", "objects", "refs", "index"} {
		if err := os.Rename(filepath.Join(git, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(git); err != nil {
		t.Fatal(err)
	}
	// It is found below a real repository too, but here it is alone.
}

// set springs a trap: the folder, and a test for the mark its script leaves.
func (tr *trap) set(t *testing.T) (dir string, sprung func() bool) {
	t.Helper()
	dir = repository(t)
	mark := filepath.Join(t.TempDir(), "mark")
	evil := filepath.Join(t.TempDir(), "evil")
	write(t, evil, "#!/bin/sh\necho ran > "+mark+"\nexec cat < /dev/null\n")
	for name, content := range tr.files {
		write(t, filepath.Join(dir, name), strings.ReplaceAll(content, "EVIL", evil))
	}
	if tr.setup != nil {
		tr.setup(t, dir, evil)
	}
	for _, kv := range tr.config {
		plainGit(t, dir, "config", kv[0], strings.ReplaceAll(kv[1], "EVIL", evil))
	}
	if err := os.Remove(mark); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return dir, func() bool {
		_, err := os.Stat(mark)
		return err == nil
	}
}

// What we run ourselves springs no trap, and what would spring it is found. Each is first
// shown to work on a git without our precautions.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	for _, test := range traps() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, sprung := test.set(t)
			later := time.Now()
			dirty := func() {
				write(t, filepath.Join(dir, "a.txt"), "two\n") // same size: git has to look inside
				later = later.Add(time.Hour)
				// What has changed by its time alone makes git write its index, and run the hook of that.
				for _, name := range []string{"a.txt", "sub/b.txt"} {
					if err := os.Chtimes(filepath.Join(dir, name), later, later); err != nil {
						t.Fatal(err)
					}
				}
			}
			dirty()
			if got := look(t.Context(), dir, environ(t)); !test.blind && (got.Problem != "" || got.Changed == 0) {
				t.Errorf("%+v", got)
			}
			harm, err := HarmfulConfig(t.Context(), dir, environ(t))
			if err != nil || test.harm != "" && !slices.Contains(harm, test.harm) || test.harm == "" && len(harm) > 0 {
				t.Errorf("harmful: %q, %v; want %q", harm, err, test.harm)
			}
			if sprung() {
				t.Fatal("the repository ran its command")
			}
			if test.plain == nil {
				return
			}
			// More than once, because a script cannot be run while a process that another
			// test is just starting still holds it open for writing.
			for range 20 {
				cmd := exec.Command("git", test.plain...)
				cmd.Dir, cmd.Env = dir, environ(t)
				cmd.Run() //nolint:errcheck // how it ends does not matter, only what it left behind
				if sprung() {
					return
				}
				dirty()
			}
			t.Error("the trap does not work on an unprotected git either, so this proves nothing")
		})
	}
}

// A bare repository inside of another takes the place of it for whoever stands in it.
func TestBareRepositoryBelowAnother(t *testing.T) {
	t.Parallel()
	outer := repository(t)
	inner := trap{setup: bare}
	dir, sprung := inner.set(t)
	below := filepath.Join(outer, "below")
	if err := os.Rename(dir, below); err != nil {
		t.Fatal(err)
	}
	look(t.Context(), below, environ(t))
	if harm, err := HarmfulConfig(t.Context(), below, environ(t)); err != nil ||
		!slices.Contains(harm, "core.fsmonitor") {
		t.Errorf("harmful: %q, %v", harm, err)
	}
	if sprung() {
		t.Error("the repository ran its command")
	}
}

// Nothing of the environment changes what our git does, and nothing that a project brings in
// its own folder is run to find out about it.
func TestNothingElseIsRun(t *testing.T) {
	t.Parallel()
	dir, sprung := (&trap{}).set(t)
	evil := filepath.Join(t.TempDir(), "evil")
	mark := filepath.Join(t.TempDir(), "mark")
	write(t, evil, "#!/bin/sh\necho ran > "+mark+"\n")
	for name, content := range map[string]string{
		"package.json": `{"packageManager":"yarn@3.0.0","scripts":{"preinstall":"` + evil + `"}}`,
		".yarnrc.yml":  "yarnPath: " + evil + "\n", ".yarnrc": "yarn-path " + evil + "\n",
		".npmrc": "node-options=--require=" + evil + "\nscript-shell=" + evil + "\n", "pnpm-workspace.yaml": "",
		"sitecustomize.py": "raise SystemExit\n", "Cargo.toml": "",
		".cargo/config.toml": "[build]\nrustc = \"" + evil + "\"\n",
		"go.mod":             "module x\ntoolchain go9.9.9\n", ".envrc": evil + "\n", ".tool-versions": "nodejs 1\n",
		"mise.toml": "[hooks]\nenter = \"" + evil + "\"\n", "Makefile": "X := $(shell " + evil + ")\n",
	} {
		write(t, filepath.Join(dir, name), content)
	}
	// Programs that a helper might be tempted to ask, in the project and first in the PATH.
	front := t.TempDir()
	for _, name := range []string{"npm", "npx", "yarn", "pnpm", "node", "python", "python3", "pip", "cargo", "rustc",
		"go", "make", "direnv", "mise", "sh", "bash", "less", "ssh", "gpg", "git-status", "git-config"} {
		write(t, filepath.Join(front, name), "#!/bin/true\n")
		if err := os.Remove(filepath.Join(front, name)); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{front, dir} {
			if err := os.Symlink(evil, filepath.Join(at, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	env := []string{
		"PATH=:.:" + front + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"GIT_DIR=/nowhere", "GIT_WORK_TREE=/", "GIT_INDEX_FILE=/nowhere", "GIT_EXEC_PATH=" + dir,
		"GIT_EXTERNAL_DIFF=" + evil, "GIT_PAGER=" + evil, "PAGER=" + evil,
		"GIT_SSH_COMMAND=" + evil, "GIT_ASKPASS=" + evil, "GIT_EDITOR=" + evil, "GIT_TRACE=" + mark,
		"GIT_TRACE2=" + mark, "GIT_CONFIG_GLOBAL=" + evil, "GIT_CONFIG_SYSTEM=" + evil,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + evil,
		"GIT_CONFIG_PARAMETERS='core.fsmonitor'='" + evil + "'",
		"GIT_OBJECT_DIRECTORY=/nowhere", "GIT_ALTERNATE_OBJECT_DIRECTORIES=/nowhere", "GIT_NAMESPACE=x",
		"GIT_DISCOVERY_ACROSS_FILESYSTEM=1", "GIT_CEILING_DIRECTORIES=" + dir,
		"GIT_PROXY_COMMAND=" + evil, "GIT_TEMPLATE_DIR=" + dir, "GIT_ATTR_SOURCE=HEAD", "LD_PRELOAD=" + evil,
		"BASH_ENV=" + evil, "ENV=" + evil, "LESSOPEN=|" + evil, "NODE_OPTIONS=--require=" + evil,
	}
	if got := look(t.Context(), dir, env); got.Problem != "" || got.Branch != "main" {
		t.Errorf("%+v", got)
	}
	if harm, err := HarmfulConfig(t.Context(), dir, env); err != nil || len(harm) > 0 {
		t.Errorf("harmful: %q, %v", harm, err)
	}
	if _, err := os.Stat(mark); err == nil || sprung() {
		t.Error("something was run")
	}
}

// What the user has set for themself is the user's; what it includes from the repository is
// the repository's. Switches are no programs.
func TestHarmfulConfigIsTheRepositorys(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	home := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	const own = "[core]\n\tpager = delta\n\tfsmonitor = mine\n[filter \"lfs\"]\n\tclean = git-lfs clean\n"
	write(t, filepath.Join(home, ".gitconfig"), own)
	for _, kv := range [][2]string{{"core.fsmonitor", "true"}, {"core.pager", "cat"}, {"pager.log", "false"},
		{"log.showSignature", "off"}, {"core.hooksPath", ".husky/_"}, {"remote.origin.url", "x"},
		{"alias.lg", "log --graph"}, {"diff.algorithm", "histogram"}} {
		plainGit(t, dir, "config", kv[0], kv[1])
	}
	write(t, filepath.Join(dir, ".husky", "_", "pre-commit"), "#!/bin/sh\n")
	if got, err := HarmfulConfig(t.Context(), dir, env); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	sub := filepath.Join(dir, "sub")
	if got, err := HarmfulConfig(t.Context(), sub, env); err != nil || len(got) > 0 {
		t.Errorf("below: %q, %v", got, err)
	}
	if got, err := HarmfulConfig(t.Context(), t.TempDir(), env); err != nil || len(got) > 0 {
		t.Errorf("no repository: %q, %v", got, err)
	}
	write(t, filepath.Join(dir, "team.gitconfig"), "[diff]\n\texternal = theirs\n[core]\n\tfsmonitor\n\tpager\n")
	write(t, filepath.Join(home, ".gitconfig"), own+"[include]\n\tpath = "+filepath.Join(dir, "team.gitconfig")+"\n")
	if got, err := HarmfulConfig(t.Context(), sub, env); err != nil ||
		!slices.Equal(got, []string{"diff.external", "core.pager"}) {
		t.Errorf("included: %q, %v", got, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := HarmfulConfig(cancelled, dir, env); err == nil {
		t.Errorf("nobody was asked, and %q is known", got)
	}
	write(t, filepath.Join(dir, ".git", "config"), "[broken\n")
	if got, err := HarmfulConfig(t.Context(), dir, env); err == nil {
		t.Errorf("git cannot read it, and %q is known", got)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("local\x00file:.git/config\x00core.fsmonitor\nx\ny\x00local\x00file:.git/config\x00core.bare\x00")
	f.Add("a\x00b\x00")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := parseSettings(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, s := range settings {
			harmful(s.key, s.value)
			again.WriteString(s.scope + "\x00" + s.origin + "\x00" + s.key + "\n" + s.value + "\x00")
		}
		twice, err := parseSettings(again.String())
		if d := cmp.Diff(settings, twice, cmp.AllowUnexported(setting{})); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	})
}

func FuzzLinks(f *testing.F) {
	f.Add([]byte("100644 aa 0\ta.txt\x00160000 bb 0\tlib\x00100755 cc 0\t160000 x\ty\x00"), 3)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		var whole, parts linkReader
		_, _ = whole.Write(data)
		size = min(max(size, 1), 9)
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = parts.Write(rest[:min(size, len(rest))])
		}
		if !slices.Equal(whole.paths, parts.paths) || whole.cut != parts.cut {
			t.Errorf("%q in one piece, %q in several", whole.paths, parts.paths)
		}
	})
}

func BenchmarkHarmfulConfig(b *testing.B) {
	dir := repository(b)
	env := environ(b)
	for b.Loop() {
		if got, err := HarmfulConfig(b.Context(), dir, env); err != nil || len(got) > 0 {
			b.Fatal(got, err)
		}
	}
}
