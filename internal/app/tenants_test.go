package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
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
	return func(b *wire.Begin) { b.Permissions.Allow = append(b.Permissions.Allow, rules...) }
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
		fmt.Sprintf("{tool: Glob, input: {pattern: '*.txt', path: %q}}", p.a), "{tool: Glob, input: {pattern: '*.txt'}}",
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
