package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/wire"
)

// secretOfB stands in each file of project B that project A goes for.
const secretOfB = "only-b-may-know-this"

// twoProjects is a server with a home and two folders.
type twoProjects struct {
	t           *testing.T
	app         *App
	admin, user api.API
	base, home  string
	a, b        string
	n           int
}

// projectsOf opens a server; settings are those of its home.
func projectsOf(t *testing.T, settings string, environ ...string) *twoProjects {
	t.Helper()
	base, err := filepath.EvalSymlinks(outsideTemp(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &twoProjects{t: t, base: base, home: filepath.Join(base, "home"), a: filepath.Join(base, "srv/a"),
		b: filepath.Join(base, "srv/b")}
	for _, dir := range []string{p.home, p.a, p.b} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(p.b, "plan.txt"), secretOfB)
	writeFile(t, filepath.Join(p.a, "mine.txt"), "of a")
	if settings != "" {
		writeFile(t, filepath.Join(p.home, "troupe/settings.json"), settings)
	}
	environ = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TROUPE_HOME=" + p.home + "/troupe"},
		environ...)
	p.app, err = Open(t.Context(), Env{Environ: environ, Lookup: func(name string) (string, bool) {
		for _, kv := range environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v, true
			}
		}
		return "", false
	}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Version: "test", Folders: []string{p.a, p.b}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.app.Close(); err != nil {
			t.Error(err)
		}
	})
	as := func(name string, r troupe.Right) api.API {
		return p.app.As(troupe.Caller{Name: name, Right: r, Surface: troupe.SurfaceServer})
	}
	p.admin, p.user = as("ann", troupe.RightAdmin), as("bob", troupe.RightOperator)
	return p
}

// call has an agent of a project make one call, and is what its model is told of it.
func (p *twoProjects) call(cwd, call string, more ...func(*wire.Begin)) string {
	p.t.Helper()
	p.n++
	name := filepath.Join(p.base, fmt.Sprintf("s%d.yaml", p.n))
	writeFile(p.t, name, "replies:\n  - turn: 1\n    calls: ["+call+"]\n  - text: done\n")
	begin := wire.Begin{Prompt: "go", Cwd: cwd, Model: "script:" + name}
	for _, m := range more {
		m(&begin)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	b, err := p.user.Begin(ctx, begin)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.user.Wait(ctx, b.Root); err != nil {
		p.t.Fatal(err)
	}
	events, err := p.app.trees.events(ctx, b.Root, 0, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range events {
		if f, ok := e.Body.(troupe.ToolFinished); ok {
			return troupe.JoinText(f.Result.Blocks)
		}
	}
	p.t.Fatalf("%s has no result", call)
	return ""
}

// allow gives a run rules.
func allow(rules ...string) func(*wire.Begin) {
	return func(b *wire.Begin) { b.Allow = append(b.Allow, rules...) }
}

// TestTenantsByTool: at a server no tool of project A reads what lies in project B, by whatever name, and whatever is
// allowed; its own project it reads as ever.
func TestTenantsByTool(t *testing.T) {
	t.Parallel()
	p := projectsOf(t, "")
	for link, to := range map[string]string{"link.txt": "plan.txt", "folder": ""} {
		if err := os.Symlink(filepath.Join(p.b, to), filepath.Join(p.a, link)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(dir string) []string {
		return []string{
			fmt.Sprintf("{tool: Read, input: {file_path: %q}}", dir+"/plan.txt"),
			fmt.Sprintf("{tool: Grep, input: {pattern: only-b, path: %q, output_mode: content}}", dir),
			fmt.Sprintf("{tool: Grep, input: {pattern: only-b, path: %q, output_mode: content}}", dir+"/plan.txt"),
			fmt.Sprintf("{tool: Glob, input: {pattern: '**/plan*', path: %q}}", dir),
			fmt.Sprintf("{tool: Edit, input: {file_path: %q, old_string: only, new_string: x}}", dir+"/plan.txt"),
			fmt.Sprintf("{tool: Write, input: {file_path: %q, content: x}}", dir+"/plan.txt"),
			fmt.Sprintf("{tool: Write, input: {file_path: %q, content: x}}", dir+"/new.txt"),
		}
	}
	calls := append(in(p.b), in(p.a+"/../b")...)
	calls = append(calls, in(p.a+"/folder")...)
	calls = append(calls,
		fmt.Sprintf("{tool: Read, input: {file_path: %q}}", p.a+"/link.txt"),
		fmt.Sprintf("{tool: Grep, input: {pattern: only-b, path: %q, output_mode: content}}", p.a+"/link.txt"),
		fmt.Sprintf("{tool: Grep, input: {pattern: only-b, path: %q, output_mode: content}}", filepath.Dir(p.a)),
		fmt.Sprintf("{tool: Glob, input: {pattern: '*/plan.txt', path: %q}}", filepath.Dir(p.a)),
		"{tool: Glob, input: {pattern: '../b/**'}}", "{tool: Glob, input: {pattern: 'folder/**'}}",
		fmt.Sprintf("{tool: Glob, input: {pattern: '%s/**'}}", p.b),
		"{tool: Grep, input: {pattern: only-b, glob: '../b/**', output_mode: content}}",
		"{tool: Grep, input: {pattern: only-b, output_mode: content}}",
		"{tool: Read, input: {file_path: /tmp/../proc/1/cmdline}}",
	)
	for _, c := range calls {
		got := p.call(p.a, c, allow("Read", "Grep", "Glob", "Edit", "Write", "Read(//**)", "Edit(//**)"))
		denied := strings.HasPrefix(got, "permission denied: ")
		if strings.Contains(got, secretOfB) || strings.Contains(got, "plan.txt") && !denied {
			t.Errorf("%s\ntells %s", c, got)
		}
		if !denied && strings.Contains(c, "Read, ") {
			t.Errorf("%s\nis told %s", c, got)
		}
	}
	if data, err := os.ReadFile(filepath.Join(p.b, "plan.txt")); err != nil || string(data) != secretOfB {
		t.Errorf("plan.txt is %q, %v", data, err)
	}
	if entries, err := os.ReadDir(p.b); err != nil || len(entries) != 1 {
		t.Errorf("project B has %v, %v", entries, err)
	}
	for _, c := range []string{fmt.Sprintf("{tool: Read, input: {file_path: %q}}", p.a+"/mine.txt"),
		"{tool: Grep, input: {pattern: 'of a', output_mode: content}}",
		fmt.Sprintf("{tool: Glob, input: {pattern: '*.txt', path: %q}}", p.a),
		"{tool: Glob, input: {pattern: '*.txt'}}",
		fmt.Sprintf("{tool: Read, input: {file_path: %q}}", "/etc/passwd")} {
		got := p.call(p.a, c, allow("Read(//etc/**)"))
		if !strings.Contains(got, "of a") && !strings.Contains(got, "mine.txt") && !strings.Contains(got, "root:") {
			t.Errorf("%s\nis told %s", c, got)
		}
	}
}

// TestTenantsOpened: an admin opens more to the agents of a server; nobody else does.
func TestTenantsOpened(t *testing.T) {
	t.Parallel()
	read := func(p *twoProjects) string {
		return p.call(p.a, fmt.Sprintf("{tool: Read, input: {file_path: %q}}", p.b+"/plan.txt"), allow("Read(//**)"))
	}
	for what, setting := range map[string]string{
		"anything": `{"sandbox": {"read": ["/"]}}`, "the folder": `{"sandbox": {"read": ["../b"]}}`,
		"a folder of the session": `{"permissions": {"additionalDirectories": ["../b"]}}`,
	} {
		if got := read(projectsOf(t, setting)); !strings.Contains(got, secretOfB) {
			t.Errorf("%s is not opened: %s", what, got)
		}
	}
	p := projectsOf(t, "")
	writeFile(t, filepath.Join(p.a, ".troupe/settings.json"),
		`{"sandbox": {"read": ["/"]}, "permissions": {"additionalDirectories": ["../b"]}}`)
	if got := read(p); strings.Contains(got, secretOfB) {
		t.Errorf("a project that nobody trusts opens another one: %s", got)
	}
}

// bash is a call of Bash.
func bash(text string) string { return fmt.Sprintf("{tool: Bash, input: {command: %q}}", text) }

// canConfine leaves out a test of what the kernel does where it does not.
func (p *twoProjects) canConfine() {
	p.t.Helper()
	if runtime.GOOS != "linux" || len(sandbox.New(sandbox.Options{}).Levels()) == 0 {
		p.t.Skip("this machine confines no commands")
	}
}

// TestTenantsByCommand: no command of project A reads project B, or what Troupe keeps, whether it runs read-only or is
// allowed; and it does the everyday work of its own project.
func TestTenantsByCommand(t *testing.T) {
	t.Parallel()
	p := projectsOf(t, "")
	p.canConfine()
	for _, cache := range []string{"XDG_CACHE_HOME", "GOCACHE"} {
		if got := p.call(p.b, bash("echo "+secretOfB+" > $"+cache+"/f; echo $"+cache),
			allow("Bash")); !strings.Contains(got,
			"/troupe-caches/b-") {
			t.Fatalf("project B has its cache at %s", got)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", p.a).CombinedOutput(); err != nil {
		t.Skipf("git: %v\n%s", err, out)
	}
	other := exec.CommandContext(t.Context(), "sleep", "86397.5")
	other.Dir, other.Env = p.b, []string{"KEY=" + secretOfB}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill() // it may have ended
		_ = other.Wait()
	}()
	if err := os.Symlink(p.b, filepath.Join(p.a, "folder")); err != nil {
		t.Fatal(err)
	}
	caches := p.app.dirs.Caches()
	for _, c := range []string{
		"cat ../b/plan.txt", "cat folder/plan.txt", "ls -la ../b ../ " + p.base, "cd ../b; cat plan.txt",
		"cp -r ../b x; cat x/*",
		"ln ../b/plan.txt h; cat h", "mv ../b/plan.txt .; cat plan.txt", "git -C ../b status",
		"tar c -C ../b . | strings",
		"stat ../b/plan.txt", "find " + p.base + " -name 'plan*'",
		"grep -r only-b " + p.base + " /tmp /var/tmp /dev/shm 2>/dev/null",
		"grep -ra only-b " + p.home + "/troupe*", "cat " + p.home + "/troupe/troupe.db*", "ls " + caches,
		"cat " + caches + "/*/xdg/x/f " + caches + "/*/gocache/f",
		"cat /proc/[0-9]*/cmdline | tr '\\0' ' '", "cat /proc/[0-9]*/environ", "cat /proc/[0-9]*/cwd/plan.txt",
		"ps axww -o args",
		"for i in /proc/[0-9]*; do readlink $i/cwd $i/exe; cat $i/root" + p.b + "/plan.txt; done",
	} {
		for _, more := range [][]string{nil, {"Bash"}} {
			got := p.call(p.a, bash(c), allow(more...))
			if strings.Contains(got, secretOfB) || strings.Contains(got, "86397.5") ||
				strings.Contains(got, "b-") && strings.HasPrefix(c, "ls") {
				t.Errorf("%s (%v)\ntells %s", c, more, got)
			}
			if namespaces := p.app.engine.Load().guard.box.Support(t.Context()).Namespaces; namespaces &&
				strings.HasPrefix(c, "stat") && !strings.Contains(got, "No such file") {
				t.Errorf("%s\nsays that there is something: %s", c, got)
			}
		}
	}
	for c, want := range map[string]string{
		"cat mine.txt": "of a", "ls": "mine.txt", "echo x > new.txt && cat new.txt": "x",
		"echo y > $TMPDIR/y; cat $TMPDIR/y":                                                        "y",
		"echo z > $XDG_CACHE_HOME/z; cat $XDG_CACHE_HOME/z":                                        "z",
		"git add mine.txt && git status --short":                                                   "A  mine.txt",
		"printf 'module x\\n' > go.mod; printf 'package x\\n' > x.go; go vet ./... && echo vetted": "vetted",
		"cat /proc/self/comm":                                                                      "cat",
		"python3 -c 'print(40+2)'":                                                                 "42",
		"date +%Y | cat; getent passwd root":                                                       "root",
	} {
		if got := p.call(p.a, bash(c), allow("Bash")); !strings.Contains(got, want) {
			t.Errorf("%s\ntells %s", c, got)
		}
	}
}

// TestTenantsByName: no command of project A sees what project B is called, what its sessions have made, or when they
// touch it, whether it may read there or not.
func TestTenantsByName(t *testing.T) {
	t.Parallel()
	p := projectsOf(t, "")
	p.canConfine()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	p.call(p.b, bash("echo x > $TMPDIR/of-b; echo x > /dev/shm/of-b"), allow("Bash"))
	if s := p.app.engine.Load().guard.box.Support(t.Context()); !s.Namespaces || !s.Root {
		t.Skip("names are told without mount namespaces, and those of sockets to who is not root")
	}
	var seen []string
	for _, all := range []string{p.app.dirs.Worktrees, p.app.dirs.Checkouts(), p.app.dirs.Scratchpads(),
		p.app.dirs.Caches(), p.app.dirs.Data} {
		dir := filepath.Join(all, "tree-of-b")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/says-of-b", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "file"), "x")
		seen = append(seen, all, dir, dir+"/link", dir+"/file")
	}
	shared, err := os.CreateTemp("/dev/shm", "of-b")
	if err != nil {
		t.Skip(err)
	}
	defer os.Remove(shared.Name())
	defer shared.Close()
	l, err := net.Listen("unix", filepath.Join(p.b, "of-b.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	quoted := "'" + strings.Join(append(seen, p.b, p.b+"/plan.txt"), "','") + "'"
	script := filepath.Join(p.a, "look.py")
	writeFile(t, script, `
import ctypes,os,select
libc=ctypes.CDLL(None); w=libc.inotify_init()
for path in [`+quoted+`]:
    if libc.inotify_add_watch(w,path.encode(),0xfff)>=0 and not path.endswith(('worktrees','scratchpads','caches')):
        print('watches',path)
    if os.path.lexists(path) and 'of-b' in path: print('stats',os.lstat(path).st_mtime,path)
    if os.path.islink(path): print('reads',os.readlink(path))
print('looked',flush=True)
if select.select([w],[],[],0.5)[0]: print('was told',os.read(w,9999))
`)
	done := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() { // project B at work
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
			for _, dir := range []string{p.app.dirs.Worktrees, p.b} {
				if os.WriteFile(filepath.Join(dir, "tick-of-b"), []byte{byte(i)}, 0o600) != nil {
					return
				}
			}
		}
	})
	defer busy.Wait()
	defer close(done)
	for _, more := range [][]string{nil, {"Bash"}} {
		if got := p.call(p.a, bash("python3 look.py"), allow(more...)); !strings.Contains(got, "looked") ||
			strings.Contains(got, "of-b") || strings.Contains(got, "watches") || strings.Contains(got, "was told") {
			t.Errorf("with %v it is told\n%s", more, got)
		}
		for _, c := range []string{"cat /proc/self/mountinfo; cat /proc/mounts", "cat /proc/[0-9]*/mount*",
			"cat /proc/net/unix", "cat /proc/[0-9]*/net/unix", "ls -Ra " + p.base, "df -a",
			"ls -la /dev/shm /tmp /var/tmp",
			"find / -xdev -name '*of-b*' 2>/dev/null"} {
			if got := p.call(p.a, bash(c), allow(more...)); strings.Contains(got, "of-b") ||
				strings.Contains(got, p.b) || strings.Contains(got, p.app.dirs.Run+"/") {
				t.Errorf("%s (%v)\ntells %s", c, more, got)
			}
		}
	}
}

// TestTenantsInWorktrees: a session in a worktree works there with git as ever, reads its project and the worktrees of
// that, and finds none of another project, whose name and files are as hidden as the project.
func TestTenantsInWorktrees(t *testing.T) {
	t.Parallel()
	p := projectsOf(t, "", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com")
	p.canConfine()
	for _, dir := range []string{p.a, p.b} {
		for _, args := range [][]string{{"init", "-q"}, {"add", "."},
			{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first"},
			{"config", "user.name", "a"}, {"config", "user.email", "a@example.com"}} {
			if out, err := exec.CommandContext(t.Context(), "git",
				append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
				t.Skipf("git: %v\n%s", err, out)
			}
		}
	}
	in := func(name string) func(*wire.Begin) { return func(b *wire.Begin) { b.Worktree = &name } }
	var working sync.WaitGroup
	var trees []string
	defer func() {
		for _, dir := range trees {
			writeFile(t, filepath.Join(dir, "over"), "")
		}
		working.Wait()
	}()
	tree := func(cwd, name string) string { // of a session that works in it for as long as the test does
		q := *p
		q.n = 100 * len(name+cwd)
		working.Go(func() {
			q.call(cwd, bash("echo made > made.txt; until [ -e over ]; do sleep 0.02; done"), in(name), allow("Bash"))
		})
		for {
			made, err := filepath.Glob(filepath.Join(p.app.dirs.Worktrees, "*", name, "made.txt"))
			if err != nil || t.Context().Err() != nil {
				t.Fatal(err)
			}
			if len(made) == 1 {
				trees = append(trees, filepath.Dir(made[0]))
				return trees[len(trees)-1]
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	ofA, ofB := tree(p.a, "one-of-a"), tree(p.b, "one-of-bb")
	for c, want := range map[string]string{
		"cat mine.txt; git status --short": "of a",
		"echo z > z.txt && git add z.txt && git commit -qm second && git log --oneline | wc -l": "2",
		"git diff HEAD --stat; git show HEAD:mine.txt":                                          "of a",
		"cat " + ofA + "/made.txt":                                                              "made",
		"cat " + p.a + "/mine.txt; git -C " + p.a + " log --oneline":                            "first",
	} {
		if got := p.call(p.a, bash(c), in("more-"+fmt.Sprint(p.n)), allow("Bash")); !strings.Contains(got, want) {
			t.Errorf("%s\ntells %s", c, got)
		}
	}
	if got := p.call(p.a, bash("cat "+ofA+"/made.txt")); !strings.Contains(got, "made") {
		t.Errorf("its project's own worktree is not read: %s", got)
	}
	if !p.app.engine.Load().guard.box.Support(t.Context()).Namespaces {
		return
	}
	for _, more := range []func(*wire.Begin){allow(), in("last"), allow("Bash")} {
		got := p.call(p.a, bash("stat "+ofB+" "+p.b+" "+ofB+"/made.txt 2>&1 | grep -c 'No such file'; "+
			"cat /proc/self/mountinfo"), more)
		if !strings.HasPrefix(got, "3\n") || strings.Contains(got, "of-b") {
			t.Errorf("it is told\n%s", got)
		}
	}
}

// TestTenantsNeedASandbox: where commands cannot be confined none runs at a server, whatever is allowed, unless an
// admin
// lets agents read anything.
func TestTenantsNeedASandbox(t *testing.T) {
	t.Parallel()
	for setting, runs := range map[string]bool{"": false, `{"sandbox": {"read": ["/"]}}`: true} {
		p := projectsOf(t, setting)
		e, err := p.app.start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e.guard.box = sandbox.New(sandbox.Options{Landlock: -1})
		got := p.call(p.a, bash("echo o''k"), allow("Bash"))
		if ran := got == "ok" || strings.HasPrefix(got, "ok\n"); ran != runs {
			t.Errorf("with the settings %q it is told %q", setting, got)
		}
	}
}

// TestTenantsByHook: what project A has run outside of its commands, hooks and MCP servers, reads nothing of project B
// though an admin trusts A; a hook of who runs the server does what it says.
func TestTenantsByHook(t *testing.T) {
	t.Parallel()
	script := func(out string) string {
		return "cat ../b/plan.txt mine.txt > " + out + " 2>&1; cat /proc/[0-9]*/environ >> " + out +
			" 2>/dev/null; exit 0"
	}
	hooks := func(out string) string {
		return fmt.Sprintf(`"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": %q}]}]}`,
			script(out))
	}
	p := projectsOf(t, "{"+hooks("own.txt")+"}", "KEY="+secretOfB+"-key")
	p.canConfine()
	writeFile(t, filepath.Join(p.a, ".troupe/settings.json"), "{"+hooks("hook.txt")+"}")
	writeFile(t, filepath.Join(p.a, ".mcp.json"),
		fmt.Sprintf(`{"mcpServers": {"a": {"command": "/bin/sh", "args": ["-c", %q]}}}`, script("server.txt")))
	p.user = p.admin
	p.call(p.a, bash("true"), allow("Bash"), func(b *wire.Begin) { b.Trust = true })
	for file, reads := range map[string]bool{"hook.txt": false, "server.txt": false, "own.txt": true} {
		data, err := os.ReadFile(filepath.Join(p.a, file))
		if err != nil || strings.Contains(string(data), secretOfB) != reads || !strings.Contains(string(data), "of a") {
			t.Errorf("%s has %q, %v", file, data, err)
		}
	}
}
