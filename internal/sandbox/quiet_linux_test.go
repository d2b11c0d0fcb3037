//go:build amd64 || arm64

package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// newProject is a room with a project whose files look changed to git and are not, and with
// tools that have never been used. It has only the cache of builds that settings would make.
func newProject(t testing.TB) *room {
	t.Helper()
	has(t, "git")
	r := newRoom(t, Options{})
	needLandlock(t, r)
	r.env = append(r.env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@a",
		"GOPATH=", "GOMODCACHE=", "GOFLAGS=", "GOENV=", "GOCACHE=", "XDG_CACHE_HOME=", "GOTOOLCHAIN=local",
		"npm_config_cache=", "CARGO_HOME=")
	r.file("go.mod", "module example.test/m\n\ngo 1.21\n")
	r.file("a.go", "package main\n\nfunc main() {}\n")
	r.file("m.py", "x = 1\n")
	r.file("package.json", `{"name": "n", "version": "1.0.0", "scripts": {"hi": "echo hello"}}`)
	r.file("README.md", "one\n")
	if out, code, _ := r.plain("git init -q . && git add . && git commit -qm one && echo two >> README.md && git " +
		"commit -qam two && touch -d 2001-01-01 *"); code != 0 {
		t.Fatal(out)
	}
	cache := filepath.Join(r.home, ".cache", "go-build")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	r.conf.Writable = append(r.conf.Writable, cache)
	secret := filepath.Join(r.home, "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.conf.Hidden = []string{secret} // so that it runs in namespaces of its own
	return r
}

// needs skips what this machine has no tool for.
func (r *room) needs(t *testing.T, tools string) {
	t.Helper()
	for tool := range strings.FieldsSeq(tools) {
		if _, code, _ := r.plain("export HOME=" + os.Getenv("HOME") + "; " + tool + " --version || " + tool +
			" version"); code != 0 {
			t.Skipf("there is no %s", tool)
		}
	}
}

// Tools that do their work without what they are refused on the side leave nothing to ask about.
func TestChoresAreQuiet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, needs, prepare, command, want string }{
		{"git diff", "", "", "git diff --word-diff HEAD~1 -- README.md", "{+two+}"},
		{"git diff with others", "", "", "git diff HEAD~1 --name-only | xargs -r ls", "README.md"},
		{"git diff elsewhere", "", "", "cd / && git -C " + `"$OLDPWD"` + " -c color.ui=never --no-pager diff HEAD~1",
			"+two"},
		{"git diff in a worktree", "", "git worktree add -q w && touch -d 2001-01-01 w/*",
			"cd w && git --literal-pathspecs diff HEAD~1", "+two"},
		{"git status", "", "", "git status --short --branch", "##"},
		{"git describe", "", "", "git describe --always --dirty", ""},
		{"python ignores its settings", "python3", "", `python3 -E -c 'import m; print(m.x)'`, "1"},
		{"python at a prompt", "python3", "", "echo 'print(1+1)' | python3 -i", "2"},
		{"pip", "pip", "", "pip list --format=freeze >$TMPDIR/l && python3 -m pip --version", "pip"},
		{"java", "java", "", "java -version", "ersion"},
		{"a stand-in for java", "bash", "mkdir -p bin && cp $(command -v bash) bin/java",
			"bin/java -c 'echo > /tmp/hsperfdata_$$; echo done'", "done"},
		{"go list", "go", "", "go list ./...", "example.test/m"},
		{"go list after another version", "go", "mkdir -p ~/.config", "go list ./...", "example.test/m"},
		{"go env", "go", "mkdir -p ~/.config ~/go", "go env GOPATH && go list -deps . | tail -n 1", "example.test/m"},
		{"go with what was fetched", "go", "mkdir -p ~/go/pkg/mod/cache", "go list -m all", "example.test/m"},
		{"npm ls", "npm", "", "npm ls", "n@1.0.0"},
		{"npm run", "npm", "mkdir ~/.npm", "npm run && npm run hi", "hello"},
		{"npm pkg", "npm", "", "npm pkg get name", `"n"`},
		{"npm config", "npm", "", "npm config get registry", "http"},
		{"man", "man", "man -w git-log >$TMPDIR/page || exit 77", "git log --help | head -n 5", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newProject(t)
			r.needs(t, c.needs)
			switch out, code, _ := r.plain("set -e; " + c.prepare); code {
			case 0:
			case 77:
				t.Skip("it has nothing to show here")
			default:
				t.Fatal(out)
			}
			before := state(t, filepath.Dir(r.ws))
			out, code, w := r.run("set -o pipefail; " + c.command)
			if len(w.Attempts) > 0 || code != 0 || !strings.Contains(out, c.want) {
				t.Errorf("%s\nattempted %s\nexit %d\n%s", c.command, attempts(w), code, out)
			}
			kept := func(p string) bool { return strings.HasPrefix(p, r.temp) || strings.Contains(p, "/go-build") }
			if list := slices.DeleteFunc(changes(before, state(t, filepath.Dir(r.ws))), kept); len(list) > 0 {
				t.Errorf("%s changed %q", c.command, list)
			}
		})
	}
}

// cargo is often found through rustup, which does not start without a home of its own.
func TestCargoIsQuiet(t *testing.T) {
	t.Parallel()
	r := newProject(t)
	real, code, _ := r.plain("HOME=" + os.Getenv("HOME") + " sh -c 'cd / && rustup which cargo 2>/dev/null || " +
		"command -v cargo'")
	if code == 0 {
		_, code, _ = r.plain("HOME=" + os.Getenv("HOME") + " " + strings.TrimSpace(real) + " --version")
	}
	if code != 0 {
		t.Skip("there is no cargo, or rustup has none to run")
	}
	r.file("Cargo.toml", "[package]\nname = \"n\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
	r.file("src/main.rs", "fn main() {}\n")
	path := "PATH=" + filepath.Dir(strings.TrimSpace(real)) + ":$PATH; "
	if out, code, _ := r.plain(path + "CARGO_HOME=$TMPDIR/c cargo --offline generate-lockfile"); code != 0 {
		t.Fatal(out)
	}
	r.env = slices.DeleteFunc(r.env, func(kv string) bool { return strings.HasPrefix(kv, "CARGO_HOME=") })
	out, code, w := r.run(path + "cargo --offline tree && cargo metadata --offline --format-version 1")
	if code != 0 || len(w.Attempts) > 0 || !strings.Contains(out, "n v0.1.0") {
		t.Errorf("attempted %s\nexit %d\n%s", attempts(w), code, out)
	}
}

// What somebody asked for is asked about, though a tool would do the same on the side.
func TestWhatWasMeantIsNotQuiet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, needs, prepare, command, want string }{
		{"git add", "", "", "git add -A", "create WS/.git/index.lock"},
		{"git commit", "", "", "git diff; git commit -qam diff", "create WS/.git/index.lock"},
		{"git stash", "", "echo x >> README.md", "git stash", "create WS/.git/"},
		{"git checkout", "", "echo x >> README.md", "git -C . -c alias.x=diff checkout status -- . || git checkout " +
			"-- .", "create WS/.git/index.lock"},
		{"git in another's name", "", "", "touch .git/index.lock diff", "create WS/.git/index.lock"},
		{"git diff into a file", "", "", "git diff --output=index HEAD~1", "create WS/index"},
		{"made by hand", "", "", "mkdir -p ~/.npm ~/go/pkg __pycache__ ~/.config; echo > ~/.python_history",
			"create HOME/.npm; create HOME/go; create WS/__pycache__; create HOME/.config; create " +
				"HOME/.python_history"},
		{"removed by hand", "", "mkdir __pycache__ && touch __pycache__/m.pyc", "rm -rf __pycache__",
			"remove WS/__pycache__/m.pyc"},
		{"removed by python", "python3", "mkdir __pycache__", "python3 -c 'import os; os.rmdir(\"__pycache__\")'",
			"remove WS/__pycache__"},
		{"compiled by hand", "python3", "", "python3 -m compileall -q .", "create WS/__pycache__"},
		{"go env -w", "go", "mkdir -p ~/.config", "go env -w GOFLAGS=-v", "create HOME/.config/go"},
		{"go telemetry", "go", "", "go telemetry off", "create HOME/.config"},
		{"go clean", "go", "mkdir -p ~/go/pkg/mod/cache/download", "go clean -modcache",
			"remove HOME/go/pkg/mod/cache/download"},
		{"npm cache", "npm", "", "npm cache verify", "create HOME/.npm"},
		{"npm config", "npm", "", "npm config set fund=false", "create HOME/.npmrc"},
		{"another's java", "", "", "cp /dev/null /tmp/hsperfdata_none/x 2>/dev/null; touch /tmp/hsperfdata_none",
			"create /tmp/hsperfdata_none"},
		{"rustup", "rustup", "", "rustup show", "create HOME/.rustup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newProject(t)
			r.needs(t, c.needs)
			if out, code, _ := r.plain("set -e; " + c.prepare); code != 0 {
				t.Fatal(out)
			}
			out, code, w := r.run(c.command)
			got := strings.NewReplacer(r.ws, "WS", r.home, "HOME").Replace(attempts(w))
			if !strings.Contains(got, c.want) || w.Touched && !strings.HasPrefix(c.name, "go ") {
				t.Errorf("%s\nattempted %s, want %s\nexit %d\n%s", c.command, got, c.want, code, out)
			}
		})
	}
}

// A port that the kernel picks is nobody's concern until somebody waits there. Then it is, and
// so is a port that was chosen.
func TestPorts(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	for name, o := range lacking() {
		if o.NoNotify {
			continue // there are no sockets then
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, o)
			needLandlock(t, r)
			port, called := listener(t)
			for _, c := range []struct{ program, says, want string }{
				{`
for f,a in (socket.AF_INET6,'::1'),(socket.AF_INET,'127.0.0.1'),(socket.AF_INET,''):
    s=socket.socket(f); s.bind((a,0))
    print('PICKED' if s.getsockname()[1] else 'NONE')`, "PICKED\nPICKED\nPICKED\n", ""},
				{`
s=socket.socket(); s.bind(('127.0.0.1',0))
try: s.listen(); print('LISTENS')
except PermissionError: print('no')
try: socket.create_connection(s.getsockname(),2); print('REACHED')
except OSError: print('no')`, "no\nno\n", "listen 127.0.0.1:0; connect 127.0.0.1:N"},
				{`
s=socket.socket(socket.AF_INET6); s.bind(('::1',0))
try: s.connect(('::1',` + port + `)); print('REACHED')
except PermissionError: print('no')`, "no\n", "connect [::1]:" + port},
				{`
try: socket.socket().listen(); print('LISTENS')
except PermissionError: print('no')`, "no\n", "listen 0.0.0.0:0"},
				{`
for a in '127.0.0.1','':
    try: socket.socket().bind((a,` + port + `)); print('BOUND')
    except PermissionError: print('no')`, "no\nno\n", "listen 127.0.0.1:" + port + "; listen 0.0.0.0:" + port},
				{`
try: socket.socket(socket.AF_INET).bind(('192.0.2.1',0)); print('BOUND')
except OSError as e: print(e.errno)`, "99\n", ""},
				{`
a,b=socket.socketpair()
try: socket.socket(fileno=os.dup(a.fileno()),family=socket.AF_INET).bind(('127.0.0.1',0)); print('BOUND')
except OSError: print('no')`, "no\n", "listen 127.0.0.1:0"},
			} {
				out, _, w := r.run(python(c.program))
				got := attempts(w)
				if strings.HasSuffix(c.want, ":N") { // whichever port it was
					got = got[:strings.LastIndexByte(got, ':')] + ":N"
				}
				if out != c.says+"DONE\n" || got != c.want {
					t.Errorf("%s\nsaid %q, want %q\nattempted %q, want %q", c.program, out, c.says, got, c.want)
				}
			}
			if called() {
				t.Error("somebody was reached")
			}
		})
	}
}

// Whoever is bound waits for nobody: a caller from outside finds the port closed.
func TestBoundIsNotOpen(t *testing.T) {
	t.Parallel()
	has(t, "python3")
	r := newRoom(t, Options{})
	needLandlock(t, r)
	out, _, w := r.run(python("s=socket.socket(); s.bind(('127.0.0.1',0)); print(s.getsockname()[1])\n" +
		"pid=os.fork()\nif pid: os.waitpid(pid,0)\nelse:\n    try: s.listen(1)\n    except OSError: print('no')\n    " +
		"os._exit(0)"))
	number, rest, _ := strings.Cut(out, "\n")
	if _, err := strconv.Atoi(number); err != nil || !strings.Contains(rest, "no") {
		t.Fatal(out)
	}
	if got := attempts(w); got != "listen 127.0.0.1:0" {
		t.Errorf("attempted %q", got)
	}
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+number); err == nil {
		_ = c.Close()
		t.Error("it was open")
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]int{"": 0, "a\x00b\x00": 2, "a\x00\x00": 1,
		strings.Repeat("x\x00", maxWords): 0} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := words(file); len(got) != want {
			t.Errorf("%d words, want %d", len(got), want)
		}
	}
	if isChore(1<<30, troupe.OpCreate, "/x/__pycache__") {
		t.Error("a chore of nobody")
	}
}
