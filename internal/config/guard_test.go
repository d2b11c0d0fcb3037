package config

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestHidden(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(h.userOurs,
		`{"sandbox": {"deny_read": ["~/diary", "*.pem", "notes/private"], "allow_read": ["~/.npmrc", "~/.ssh/known_hosts"]}}`)
	h.project(".troupe/settings.json", `{"sandbox": {"deny_read": ["~/.npmrc2", "local"], "allow_read": ["~/.aws"]}}`)
	h.write(filepath.Join(h.home, ".ssh/id_rsa"), "key")
	h.write(filepath.Join(h.home, ".ssh/known_hosts"), "hosts")
	h.write(filepath.Join(h.home, ".ssh/keys/one"), "key")
	h.write(filepath.Join(h.home, ".npmrc"), "x")
	h.write(filepath.Join(h.home, ".netrc"), "x")
	// As where a folder takes both names for one.
	if err := os.Link(filepath.Join(h.home, ".netrc"), filepath.Join(h.home, ".NETRC")); err != nil {
		t.Fatal(err)
	}
	h.project(".env", "x")
	h.project("pkg/.env.production", "x")
	h.project("pkg/.env.example", "x")
	h.project("node_modules/x/.env", "x")
	h.project("certs/a.pem", "x")
	all := h.read()
	hidden := all.Hidden()
	for path, want := range map[string]bool{
		"~/.ssh/id_rsa": true, "~/.ssh": true, "~/.sshd": false, "~/.ssh/known_hosts": false,
		"~/.aws/credentials": true, "~/.npmrc": false, "~/.npmrc2": true,
		"~/diary/today": true, "~/.netrc": true, "~/.gitconfig": false, "~/.bash_history": true, "/etc/shadow": true,
		"/etc/passwd":            false,
		"~/.config/gh/hosts.yml": true, "~/.docker/config.json": true, "~/.docker/daemon.json": false,
		"~/.cargo/credentials.toml": true, "~/.cargo/registry": false,
		"~/.local/share/troupe/troupe.db": true, "~/.local/share/troupe/troupe.db-wal": true,
		"~/.local/share/troupe/troupe.db.lock": true, "~/.local/share/troupe/history": true,
		"~/.local/share/troupe/outputs/x": false,
		"./.env":                          true, "./a/b/.env": true, "./.env.local": true, "./.env.example": false,
		"./.env.d.sample": false, "./.env.sample.local": true,
		"./.environment": false, "./.envrc": false,
		"./x/y.pem": true, "./notes/private/a": true, "./other/notes/private": false, "./a/local": true,
		"./main.go": false, "~/x/.env": false,
		// Some folders take names that differ in case for one; in others a name is hidden in any case all the same.
		"./.ENV": true, "./a/.Env.Local": true, "./.ENV.EXAMPLE": false, "./x/Y.PEM": true, "./a/LOCAL/x": true,
		"~/.NETRC": true, "~/.SSH/id_rsa": false, "~/.Npmrc": false,
	} {
		full := strings.Replace(strings.Replace(path, "~", h.home, 1), "./", h.repo+"/", 1)
		if why, got := hidden.Covers(full); got != want || got != (why != "") {
			t.Errorf("%s: hidden %v (%q), want %v", path, got, why, want)
		}
	}
	paths := hidden.Paths()
	for _, path := range []string{".ssh/id_rsa", ".ssh/keys", ".netrc"} {
		if !slices.Contains(paths, filepath.Join(h.home, path)) {
			t.Errorf("%s is not among %q", path, paths)
		}
	}
	for _, path := range []string{".ssh", ".ssh/known_hosts", ".npmrc", ".aws"} {
		if slices.Contains(paths, filepath.Join(h.home, path)) {
			t.Errorf("%s is among %q", path, paths)
		}
	}
	found := inProject(t, hidden)
	if want := []string{h.repo + "/.env", h.repo + "/certs/a.pem", h.repo + "/node_modules/x/.env",
		h.repo + "/pkg/.env.production"}; !slices.Equal(found, want) {
		t.Errorf("in the project %q", found)
	}
	h.folder = filepath.Join(h.repo, "pkg")
	if found := inProject(t, h.read().Hidden()); !slices.Contains(found, h.repo+"/.env") {
		t.Errorf("from a folder below %q", found)
	}
	if n := len(hidden.Entries()); n < 100 || slices.ContainsFunc(hidden.Entries(),
		func(e Entry) bool { return e.Why == "" || strings.HasSuffix(e.Glob, "/.npmrc") }) {
		t.Errorf("%d entries", n)
	}
}

// inProject walks the project for what globs hide, and checks that names tell of it.
func inProject(t *testing.T, hidden Hidden) (found []string) {
	t.Helper()
	err := filepath.WalkDir(hidden.Project(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !hidden.IsIn(path) {
			return err
		}
		below, _ := filepath.Rel(hidden.Project(), path)
		if !slices.ContainsFunc(strings.Split(below, "/"), hidden.MayCover) {
			t.Errorf("%s is hidden, and none of its names may be", path)
		}
		found = append(found, path)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestHiddenInProject: what tools are refused in a project is what commands are kept from, whatever globs there are.
func TestHiddenInProject(t *testing.T) {
	t.Parallel()
	for _, globs := range []string{`"**"`, `"/**/b"`, `"b/**"`, `"*.d/x"`, `"[a"`, `"b/?"`, `"~/**"`, `"//**/src"`,
		`"x", "*.y"`} {
		h := newHouse(t)
		h.write(h.userTheirs, `{"sandbox": {"enabled": true, "filesystem": {"denyRead": [`+globs+
			`], "allowRead": ["b/.env"]}}}`)
		names := []string{"a", "b", "c.d", ".env", ".env.example", "x", "x.y", "[a"}
		for _, one := range names {
			for _, two := range names {
				h.write(filepath.Join(h.repo, one, two, "x"), "x")
				h.write(filepath.Join(h.repo, one, two, ".env"), "x")
			}
		}
		for _, h.folder = range []string{h.repo, filepath.Join(h.repo, "b")} {
			hidden := h.read().Hidden()
			found := inProject(t, hidden)
			err := filepath.WalkDir(h.repo, func(path string, _ fs.DirEntry, err error) error {
				_, want := hidden.Covers(path)
				got := slices.ContainsFunc(found, func(f string) bool { return troupe.Within(path, f) })
				if want && !got && !troupe.Within(h.folder, path) || got && !want && !slices.Contains(found, path) {
					t.Errorf("%s: %s is refused to tools: %v; kept from commands: %v", globs, path, want, got)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestHiddenAround: an entry that covers the session's own folder leaves that readable.
func TestHiddenAround(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.write(h.userTheirs, `{"sandbox": {"enabled": true, "filesystem": {"denyRead": ["~/"], "allowRead": ["."]}}}`)
	h.write(filepath.Join(h.home, "private/x"), "x")
	h.project("x", "x")
	hidden := h.read().Hidden()
	if _, got := hidden.Covers(filepath.Join(h.home, "private/x")); !got {
		t.Error("the home is not hidden")
	}
	if _, got := hidden.Covers(filepath.Join(h.repo, "x")); got {
		t.Error("the session's own folder is hidden")
	}
	paths := hidden.Paths()
	if !slices.Contains(paths, filepath.Join(h.home, "private")) || slices.Contains(paths, h.home) ||
		slices.Contains(paths, filepath.Join(h.home, "src")) || slices.Contains(paths, h.repo) {
		t.Errorf("hidden are %q", paths)
	}
}

func TestProtected(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.at().Dirs
	h.write(filepath.Join(h.repo, ".git/modules/one/modules/two/HEAD"), "x")
	h.write(filepath.Join(h.repo, ".git/modules/one/HEAD"), "x")
	globs := Protect([]string{h.repo}, d, nil).Globs()
	is := func(path string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { return matchesAtOrAbove(glob, path) })
	}
	for path, want := range map[string]bool{
		".git/hooks/pre-commit": true, ".git/config": true, ".git/info/attributes": true, ".git/HEAD": false,
		".git/index": false, ".git/objects/ab/cd": false, ".git/refs/heads/x": false,
		".git/modules/one/hooks/x": true, ".git/modules/one/modules/two/config": true, ".git/modules/one/HEAD": false,
		".git/commondir": true, ".git/worktrees/x/gitdir": true,
		"sub/.git/hooks/x": true, "sub/.git/config": true, ".claude/settings.json": true, ".claude/agents/new.md": true,
		".mcp.json": true, "sub/.claude/settings.local.json": true,
		".troupe/settings.json": true, ".vscode/settings.json": true, ".husky/pre-commit": true, ".envrc": true,
		".github/workflows/ci.yml": true, ".github/CODEOWNERS": false, ".gitlab-ci.yml": true,
		"main.go": false, "package.json": false, "CLAUDE.md": false, "claude/x": false, ".gitignore": false,
		"Makefile": false,
	} {
		if got := is(filepath.Join(h.repo, path)); got != want {
			t.Errorf("%s: protected %v, want %v", path, got, want)
		}
	}
	for path, want := range map[string]bool{
		".bashrc": true, ".profile": true, ".ssh/authorized_keys": true, ".config/systemd/user/x.service": true,
		".claude/settings.json": true, ".gitconfig": true,
		".config/troupe/settings.json": true, ".local/share/troupe/troupe.db": true, ".local/bin/ls": true,
		"notes.txt": false, ".cache/go-build/x": false, "src/repo/x": false,
	} {
		if got := is(filepath.Join(h.home, path)); got != want {
			t.Errorf("~/%s: protected %v, want %v", path, got, want)
		}
	}
	paths := Protect([]string{h.repo}, d, nil).Paths()
	for _, path := range []string{".git/hooks", ".git/config", ".claude", ".mcp.json", ".git/modules/one/hooks",
		".git/modules/one/modules/two/config"} {
		if !slices.Contains(paths, filepath.Join(h.repo, path)) {
			t.Errorf("%s is not among the paths", path)
		}
	}
	if slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, "*") || !filepath.IsAbs(p) }) {
		t.Errorf("a path is a glob: %q", paths)
	}
	// In a folder of the repository its root is protected too.
	deep := Protect([]string{filepath.Join(h.repo, "sub/deep")}, d, nil)
	globs, paths = deep.Globs(), deep.Paths()
	if !is(filepath.Join(h.repo, ".git/hooks/x")) || !is(filepath.Join(h.repo, ".claude/x")) ||
		!is(filepath.Join(h.repo, "other/.mcp.json")) || !slices.Contains(paths, filepath.Join(h.repo, ".git/hooks")) ||
		!slices.Contains(paths, filepath.Join(h.repo, "sub/deep/.claude")) {
		t.Errorf("in a folder below: %q, %q", globs, paths)
	}
	// Who works on their own scripts may; what decides about agents stays.
	bin := filepath.Join(h.home, "bin")
	globs = Protect([]string{bin}, d, nil).Globs()
	if is(filepath.Join(bin, "tool")) || !is(filepath.Join(bin, ".claude/settings.json")) ||
		!is(filepath.Join(h.home, ".bashrc")) {
		t.Errorf("in %s: %q", bin, globs)
	}
	globs = Protect([]string{filepath.Join(h.home, ".claude")}, d, nil).Globs()
	if !is(filepath.Join(h.home, ".claude/settings.json")) {
		t.Error("a session in ~/.claude may change settings")
	}
}

// TestGitDirs: real worktrees and submodules, and pointers that lie.
func TestGitDirs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	h := newHouse(t)
	if err := os.RemoveAll(filepath.Join(h.repo, ".git")); err != nil {
		t.Fatal(err)
	}
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c",
			"user.email=t@t", "-c", "protocol.file.allow=always"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+h.home, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git(h.repo, "init", "-q")
	git(h.repo, "commit", "-q", "--allow-empty", "-m", "x")
	tree := filepath.Join(h.home, "tree")
	git(h.repo, "worktree", "add", "-q", tree)
	if got, want := gitDirs(tree), []string{h.repo + "/.git/worktrees/tree", h.repo + "/.git"}; !slices.Equal(got,
		want) {
		t.Errorf("of a worktree: %q", got)
	}
	if got := gitDirs(h.repo); !slices.Equal(got, []string{h.repo + "/.git"}) {
		t.Errorf("of a repository: %q", got)
	}
	paths := Protect([]string{tree}, h.at().Dirs, nil).Paths()
	for _, path := range []string{tree + "/.git", h.repo + "/.git/hooks", h.repo + "/.git/config",
		h.repo + "/.git/worktrees/tree/gitdir"} {
		if !slices.Contains(paths, path) {
			t.Errorf("%s is not protected in a worktree: %q", path, paths)
		}
	}
	// What the repository itself keeps of its worktrees has no fixed place.
	paths = Protect([]string{h.repo}, h.at().Dirs, nil).Paths()
	for _, name := range []string{"config.worktree", "commondir", "gitdir"} {
		if path := h.repo + "/.git/worktrees/tree/" + name; !slices.Contains(paths, path) {
			t.Errorf("%s is not protected in its repository: %q", path, paths)
		}
	}
	for text, want := range map[string]int{
		"gitdir: /": 0, "gitdir: ../../..": 0, "gitdir:": 0, "nonsense": 0, "": 0, "gitdir: " + h.repo + "/.git\x00": 0,
		strings.Repeat("gitdir: x\n", 5000): 0, "gitdir: " + h.repo + "/.git\n": 1,
	} {
		dir := filepath.Join(h.root, "liar")
		h.write(filepath.Join(dir, ".git"), text)
		if got := gitDirs(dir); len(got) != want {
			t.Errorf("%.40q: %q", text, got)
		}
	}
	if got := gitDirs(h.root); got != nil {
		t.Errorf("without git: %q", got)
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob, path string
		want       bool
	}{
		{"/", "/a", true}, {"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/ab", false}, {"/a/b", "/a", false},
		{"/**/x", "/x", true}, {"/**/x", "/a/b/x/c", true}, {"/a/**/x", "/b/x", false},
		{"/a/**/b/**/c", "/a/1/b/2/3/c", true}, {"/a/**/b/**/c", "/a/1/c/2/b", false},
		{"/a/*.go", "/a/x.go", true}, {"/a/*.go", "/a/b/x.go", false}, {"/a/**", "/a/b", true}, {`/a\*`, "/a*", true},
		{`/a\*`, "/ab", false}, {"/a/[", "/a/x", true},
		{"/**/.env", "/.env", true}, {"/**/b/c", "/b/b/c", true}, {"/a", "/", false},
	} {
		if got := matchesAtOrAbove(test.glob, test.path); got != test.want {
			t.Errorf("%s and %s: %v", test.glob, test.path, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin", "PATH=/usr/bin", "HOME=/h", "LC_ALL=C", "GOFLAGS=-mod=mod", "SSL_CERT_FILE=/c", "VIRTUAL_ENV=/v",
		"ANTHROPIC_API_KEY=LEAKME", "AWS_SECRET_ACCESS_KEY=LEAKME", "GITHUB_TOKEN=LEAKME", "SSH_AUTH_SOCK=/s",
		"DBUS_SESSION_BUS_ADDRESS=/d", "BASH_ENV=/evil", "LD_PRELOAD=/evil",
		"BASH_FUNC_ls%%=() { evil; }", "LC_TOKEN=LEAKME", "HTTPS_PROXY=http://me:LEAKME@proxy:80",
		"http_proxy=http://proxy:80", "GOPROXY=https://a,https://u:LEAKME@b",
		"MAVEN_OPTS=-Xmx1g -Dtrust.password=LEAKME", "NODE_OPTIONS=--max-old-space-size=4096", "MY_FLAG=1",
		"MY_TOKEN=LEAKME", "WANTED_TOKEN=yes", "1BAD=x", "=x", "novalue",
	}
	var s Settings
	s.Sandbox.Keep = []string{"MY_*", "WANTED_TOKEN"}
	kept, names := Environment(environ, s)
	want := []string{"GOFLAGS=-mod=mod", "HOME=/h", "LC_ALL=C", "MY_FLAG=1", "NODE_OPTIONS=--max-old-space-size=4096",
		"PATH=/usr/bin", "SSL_CERT_FILE=/c", "VIRTUAL_ENV=/v", "WANTED_TOKEN=yes", "http_proxy=http://proxy:80"}
	if !slices.Equal(kept, want) || len(names) != len(kept) {
		t.Errorf("kept %q", kept)
	}
	for _, name := range environment() {
		if secretName(strings.TrimSuffix(name, "*")) {
			t.Errorf("%s is on the list and looks like a key", name)
		}
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, dir := range []string{".cache/go-build", "go/pkg/mod", ".npm/_cacache", ".npm/_npx", ".cargo/registry",
		"elsewhere/pip", "gp/pkg/mod"} {
		h.mkdir(filepath.Join(h.home, dir))
	}
	names := func(environ ...string) []string {
		var out []string
		for _, c := range h.read().Caches(environ, "linux") {
			rel, err := filepath.Rel(h.home, c.Folder)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, c.Name+" "+rel)
		}
		return out
	}
	if got, want := names(), []string{"go .cache/go-build", "go go/pkg/mod", "npm .npm/_cacache",
		"cargo .cargo/registry"}; !slices.Equal(got, want) {
		t.Errorf("all: %q", got)
	}
	got := names("GOCACHE=off", "GOPATH="+h.home+"/gp", "PIP_CACHE_DIR="+h.home+"/elsewhere/pip", "npm_config_cache=/",
		"CARGO_HOME="+h.repo)
	if want := []string{"go gp/pkg/mod", "pip elsewhere/pip"}; !slices.Equal(got, want) {
		t.Errorf("by variables: %q", got)
	}
	for _, dir := range []string{h.home, filepath.Dir(h.home), h.repo, "/"} {
		if got := names("GOCACHE="+dir, "GOMODCACHE="+dir); slices.ContainsFunc(got,
			func(s string) bool { return strings.HasPrefix(s, "go ") }) {
			t.Errorf("GOCACHE=%s: %q", dir, got)
		}
	}
	if err := os.Symlink(h.home, filepath.Join(h.home, ".cache/pip")); err != nil {
		t.Fatal(err)
	}
	h.write(h.userOurs, `{"sandbox": {"caches": ["pip", "npm", "cargoo"]}}`)
	if got := names(); !slices.Equal(got, []string{"npm .npm/_cacache"}) ||
		!h.warned("cargoo", `did you mean "cargo"?`) {
		t.Errorf("by name: %q, %v", got, h.warnings)
	}
}

func TestSandboxComplaints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, says string }{
		{`{"sandbox": {"network": "yes"}}`, `must be "on" or "off"`},
		{`{"sandbox": {"allowed_ports": [70000]}}`, "from 0 to 65535"},
		{`{"sandbox": {"allowed_ports": [0]}}`, "from 1 to 65535"},
		{`{"sandbox": {"allowed_hosts": ["https://a.b"]}}`, "the name of the host alone"},
		{`{"sandbox": {"allowed_hosts": ["a.b:0"]}}`, "has a port that"},
		{`{"sandbox": {"allowed_hosts": ["a.b:x"]}}`, "has a port that"},
		{`{"search": {"url": "https://x.example/q"}}`, "must have {query}"},
		{`{"search": {"url": "https://x.example/{query}", "header": "a: b"}}`, "name of a header"},
		{`{"sandbox": {"allowed_hosts": ["a*.b"]}}`, "only *.name"},
		{`{"fetch": {"local_hosts": ["*.corp"]}}`, "each host has to be named"},
		{`{"fetch": {"local_hosts": ["localhost:x"]}}`, "has a port that"},
		{`{"sandbox": {"allowed_hosts": ["a b"]}}`, "not the name of a host"},
		{`{"sandbox": {"allowed_hosts": ["éa.b"]}}`, "not the name of a host"},
		{`{"sandbox": {"limits": {"memory_mb": -1}}}`, "from 0"},
		{`{"sandbox": {"limits": {"memory_mb": 1e99}}}`, "whole number"},
		{`{"sandbox": {"environment": {"keep": ["A=B"]}}}`, "name of an environment variable"},
		{`{"sandbox": {"deny_read": [""]}}`, "cannot be one"},
		{`{"search": {"url": "http://x.example/q"}}`, "begins with https://"},
		{`{"search": {"url": "https://me:secret@x.example/q"}}`, "without a name or a password"},
		{`{"search": {"key_env": "a b"}}`, "name of an environment variable"},
	} {
		if _, _, err := Parse("f", []byte(test.in)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.in, err)
		}
	}
	s, w,
		err := Parse("f",
		[]byte(`{"search": {"url": "http://127.0.0.1:8080/search?q={query}", "key_env": "SEARCH_KEY", "header": "X-Key"}, "sandbox": {"allowed_hosts": ["Git.Example.org.", "*.example.net", "10.0.0.1", "::1", "a.b:8443"], "allowed_ports": [443]}}`))
	if err != nil || len(w) > 0 || s.Search.KeyEnv != "SEARCH_KEY" ||
		!slices.Equal(s.Sandbox.AllowedHosts, []string{"git.example.org", "*.example.net", "10.0.0.1", "::1",
			"a.b:8443"}) {
		t.Errorf("%+v, %v, %v", s, w, err)
	}
}

func BenchmarkGuards(b *testing.B) {
	project := b.TempDir()
	d := Dirs{Config: "/c", Data: "/d", Run: "/r", Home: b.TempDir()}
	all := All{places: Places{Dirs: d, Folder: project}, Folders: []string{project}}
	b.Run("protected", func(b *testing.B) {
		for b.Loop() {
			Protect([]string{project}, d, nil).Globs()
		}
	})
	b.Run("paths", func(b *testing.B) {
		for b.Loop() {
			Protect([]string{project}, d, nil).Paths()
		}
	})
	b.Run("hidden", func(b *testing.B) {
		for b.Loop() {
			all.Hidden().Paths()
		}
	})
	hidden := all.Hidden()
	b.Run("covers", func(b *testing.B) {
		for b.Loop() {
			hidden.Covers(project + "/src/main.go")
		}
	})
}
