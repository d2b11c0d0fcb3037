package app

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/wire"
)

// guardedFolder is a guard for a folder with a repository, one nested in it, a submodule and a bare one.
func guardedFolder(t *testing.T) (g *guard, dir string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(root, "proj")
	for _, name := range []string{
		".git/HEAD", ".git/objects/x", ".git/refs/x", "nested/.git/HEAD", "nested/.git/objects/x", "nested/.git/refs/x",
		"bare/HEAD", "bare/objects/x", "bare/refs/x", "src/x.go",
	} {
		writeFile(t, filepath.Join(dir, name), "x")
	}
	writeFile(t, filepath.Join(dir, "module/.git"), "gitdir: ../.git/modules/module\n")
	a, err := OpenSettings(Env{
		Lookup: func(name string) (string, bool) {
			return map[string]string{"TROUPE_HOME": root + "/home/troupe", "HOME": root + "/home"}[name],
				name == "TROUPE_HOME" || name == "HOME"
		},
		Environ: []string{"HOME=" + root + "/home"}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	g = a.newGuard(t.Context())
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g, dir
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// guardedBy is what a command in dir is kept from.
func guardedBy(t *testing.T, g *guard, dir string) func(string) string {
	t.Helper()
	guarded, _ := confinedBy(t, g, dir)
	return guarded
}

// confinedBy is the same with what was granted for this run in the folder, and what no leave opens.
func confinedBy(t *testing.T, g *guard, dir string, granted ...troupe.Attempt) (guarded func(string) string,
	closed func(string) bool) {
	t.Helper()
	c := session.Confine{Session: troupe.Session{ID: "0123456789ab", Cwd: dir}, Level: troupe.LevelWorkspace}
	for _, a := range granted {
		a.Path = filepath.Join(dir, a.Path)
		c.Granted = append(c.Granted, a)
	}
	out, _, err := g.Confine(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return out.Guarded, out.Closed
}

// TestGateAndKernelAgree: of a path in the folder, the gate lets a tool and a redirect write it unasked in
// acceptEdits just if a command may write it.
func TestGateAndKernelAgree(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	known, err := g.app.known()
	if err != nil {
		t.Fatal(err)
	}
	tools, guarded := gate.NewTools(known.Facts()), guardedBy(t, g, dir)
	ask := func(tool string, access troupe.Access) bool {
		q := session.QueryIn(g, troupe.Session{Cwd: dir}, nil, access)
		q.Tool, q.Roots = tool, []string{dir}
		q.Levels = []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
		q.Chain = []gate.Layer{{Agent: "main", Mode: troupe.ModeAcceptEdits}}
		q.Hidden = nil
		d := tools.Decide(q)
		return d.Effect != troupe.Allow || gate.IsReadOnlyRun(d)
	}
	names := []string{"src", "a", ".git", "nested", "bare", "module", "hooks", "config", "HEAD", "objects", "refs",
		"info", "attributes", "commondir", ".claude", ".envrc", ".github", "workflows", ".vscode", ".cargo",
		"config.toml",
		".yarnrc.yml", "opencode.json", "settings.json", ".husky", "modules", "main.go", ".gitmodules"}
	r := rand.New(rand.NewPCG(3, 4))
	kept := 0
	for range 1000 {
		path := dir
		for range 1 + r.IntN(4) {
			name := names[r.IntN(len(names))]
			switch r.IntN(8) {
			case 0:
				name = strings.ToUpper(name)
			case 1:
				name += []string{".lock", "x", ".d"}[r.IntN(3)]
			}
			path = filepath.Join(path, name)
		}
		why := guarded(path)
		if why != "" {
			kept++
		}
		asks := ask("Write", troupe.Access{Class: troupe.ClassEdit, Writes: []string{path}})
		if asks != (why != "") {
			t.Fatalf("%s: Write is asked about %v, a command is kept from it by %q", path, asks, why)
		}
		command := fmt.Sprintf("echo x > '%s'", path)
		if asks = ask("Bash", troupe.Access{Class: troupe.ClassExec, Command: command}); asks != (why != "") {
			t.Fatalf("%s: a redirect is asked about %v, a command is kept from it by %q", path, asks, why)
		}
	}
	if kept < 150 || kept > 850 {
		t.Errorf("%d of the paths were protected: they show little", kept)
	}
}

// TestGuarded: a path that was granted stays guarded, but for the operation that the sandbox knows. What is open is
// what makes the one repository that was allowed to be made. Troupe's own folders are closed to any leave.
func TestGuarded(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	own := g.app.dirs.Settings()
	plain := guardedBy(t, g, dir)
	some, closed := confinedBy(t, g, dir, troupe.Attempt{Op: troupe.OpCreate, Path: ".envrc"},
		troupe.Attempt{Op: troupe.OpCreate, Path: "new/.git", Kind: troupe.KindTree},
		troupe.Attempt{Op: troupe.OpCreate, Path: "b", Kind: troupe.KindRepository},
		troupe.Attempt{Op: troupe.OpCreate, Path: "looks/HEAD"},
		troupe.Attempt{Op: troupe.OpCreate, Path: ".git/worktrees/w/HEAD"})
	if !closed(own) || closed(filepath.Join(dir, ".envrc")) {
		t.Error("leave would open Troupe's own settings, or not .envrc")
	}
	for path, want := range map[string][2]bool{ // without and with
		"main.go": {}, ".envrc": {true, true}, ".envrc/x": {true, true}, "sub/.envrc": {true, true},
		"new/.git": {true, true}, "new/.git/hooks/pre-commit": {true, true}, "new/.claude": {true, true},
		"b/HEAD": {true, false}, "b/hooks/x": {false, false}, "b/.envrc": {true, true}, "b/.git": {true, true},
		"looks/HEAD": {true, true}, ".git/worktrees/w/commondir": {true, false},
		".git/worktrees/v/commondir": {true, true},
		own:                          {true, true},
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		for i, guarded := range []func(string) string{plain, some} {
			if why := guarded(path); (why != "") != want[i] {
				t.Errorf("%s, granted %v: %q", path, i == 1, why)
			}
		}
	}
	// While the repository is half made its pieces are part of what was allowed, and of no other.
	writeFile(t, filepath.Join(dir, "b/HEAD"), "x")
	writeFile(t, filepath.Join(dir, "c/HEAD"), "x")
	if why := some(filepath.Join(dir, "b/objects")); why != "" {
		t.Errorf("b/objects: %s", why)
	}
	if some(filepath.Join(dir, "c/objects")) == "" {
		t.Error("c/objects is open")
	}
}

// TestDeniedByRules: what deny rules keep is kept from commands, wildcards or not, also once it was granted;
// one about all edits leaves commands no folder to write.
func TestDeniedByRules(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	known, err := g.app.known()
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "d.md"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	confined := func(deny string) *troupe.Confinement {
		r, err := gate.NewTools(known.Facts()).ParseRule(troupe.Rule{Effect: troupe.Deny, Text: deny})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := g.Confine(t.Context(), session.Confine{
			Session: troupe.Session{ID: "0123456789ab", Cwd: dir}, Level: troupe.LevelWorkspace,
			Keeps: gate.Kept([]gate.Layer{{Rules: []rule.Rule{r}}}, []string{dir}, ""),
			Granted: []troupe.Attempt{{Op: troupe.OpCreate, Path: filepath.Join(dir, "src/a.md")},
				{Op: troupe.OpWrite, Path: filepath.Join(dir, "d.md")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for deny, want := range map[string]map[string]bool{
		"Edit(/src/**)": {"src/a.md": true, "src/x": true, "b.md": false},
		"Edit(*.md)":    {"src/a.md": true, "src/x": false, "b.md": true},
		"Write(**)":     {"src/a.md": true, "src/x": true, "b.md": true},
	} {
		c := confined(deny)
		for name, denied := range want {
			if why := c.Guarded(filepath.Join(dir, name)); (why != "") != denied {
				t.Errorf("%s, %s: %q", deny, name, why)
			}
		}
		if why := c.Guarded(filepath.Join(c.Temp, "x.md")); why != "" {
			t.Errorf("%s, a temporary file: %s", deny, why)
		}
		if open := slices.Contains(c.Writable, dir); open != (deny != "Write(**)") {
			t.Errorf("%s: writable are %q", deny, c.Writable)
		}
		opens := func(name string) bool {
			path := filepath.Join(dir, name)
			return slices.ContainsFunc(c.Granted, func(a troupe.Attempt) bool { return a.Path == path })
		}
		if opens("src/a.md") {
			t.Errorf("%s: an answer opens what it denies: %q", deny, c.Granted)
		}
		if opens("d.md") != (deny == "Edit(/src/**)") {
			t.Errorf("%s: an answer about a folder that is there opens %q", deny, c.Granted)
		}
	}
	// A change of git's config by which no program runs needs no question, and no leave to write that file.
	named := []byte("[user]\n\tname = a\n")
	for deny, want := range map[string]bool{"Edit(*.md)": true, "Edit(.git/config)": false, "Write(**)": false} {
		if confined(deny).Replaces(filepath.Join(dir, ".git/config"), []byte{}, named) != want {
			t.Errorf("%s: the user is named in git's config: %v", deny, !want)
		}
	}
}

// TestOtherTemps: a command is kept from the temporary files of other trees, of its own process and of others.
func TestOtherTemps(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	if !g.box.Support(t.Context()).Namespaces {
		t.Skip("nothing can be covered")
	}
	confined := func(root, id troupe.SessionID) *troupe.Confinement {
		out, _, err := g.Confine(t.Context(), session.Confine{Level: troupe.LevelReadOnly,
			Session: troupe.Session{ID: id, Root: root, Cwd: dir}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first, other := confined("one", "one"), confined("two", "two")
	child := confined("one", "child")
	theirs := filepath.Join(filepath.Dir(g.temps[0].Path), fmt.Sprintf("troupe-%d", rand.Int64()))
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(theirs) })
	now := confined("one", "one")
	isHidden := func(path string) bool {
		return slices.Contains(now.Hidden, path) || slices.ContainsFunc(now.Rooms, func(r troupe.Room) bool {
			return filepath.Dir(path) == r.Folder && path != r.Own
		})
	}
	for path, want := range map[string]bool{filepath.Dir(other.Temp): true, theirs: true, first.Temp: false,
		filepath.Dir(first.Temp): false, filepath.Dir(child.Temp): false, g.temps[0].Path: false} {
		if isHidden(path) != want {
			t.Errorf("%s: hidden %v, want %v", path, !want, want)
		}
	}
	for path, want := range map[string]bool{other.Temp: true, child.Temp: true, first.Temp: false} {
		path = filepath.Join(path, "x")
		if why := first.Guarded(path); (why != "") != want || first.Closed(path) != want {
			t.Errorf("%s: %q, closed %v", path, why, !want)
		}
	}
}

// TestLookingIsSaid: who watches is told that the project is looked through, before the first command alone where
// the kernel tells of what changes.
func TestLookingIsSaid(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	for n, want := range []int{1, 0} {
		said := 0
		_, _, err := g.Confine(t.Context(), session.Confine{Level: troupe.LevelReadOnly,
			Session: troupe.Session{ID: "one", Root: "one", Cwd: dir}, Looks: func() { said++ }})
		if err != nil {
			t.Fatal(err)
		}
		if len(g.unwatched()) > 0 {
			t.Skip("changes are not watched here")
		}
		if said != want {
			t.Errorf("before command %d it was said %d times", n+1, said)
		}
	}
}

// TestProxyOfHosts: commands share a proxy if all that settings say of hosts is the same, and only then.
func TestProxyOfHosts(t *testing.T) {
	t.Parallel()
	g, _ := guardedFolder(t)
	ports := make(map[int]int)
	for i, s := range []config.Sandbox{
		{AllowedHosts: []string{"a.example"}},
		{AllowedHosts: []string{"a.example"}, DeniedHosts: []string{"b.a.example"}},
		{AllowedHosts: []string{"a.example", "b.example"}},
		{DeniedHosts: []string{"a.example"}},
	} {
		p, err := g.proxy(s)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := g.proxy(s); err != nil || again != p {
			t.Errorf("%+v: it has two proxies: %v", s, err)
		}
		if other, taken := ports[p.Port()]; taken {
			t.Errorf("%+v has the proxy of setting %d", s, other)
		}
		ports[p.Port()] = i
	}
}

// TestReachGranted: an address that was allowed is opened as far as settings leave the network open, and nothing
// beside it.
func TestReachGranted(t *testing.T) {
	t.Parallel()
	g, _ := guardedFolder(t)
	c := session.Confine{Level: troupe.LevelGranted}
	all := []string{"10.0.0.1:443", "10.0.0.1:7000", "127.0.0.1:7000", "/run/s"}
	for _, path := range all {
		c.Granted = append(c.Granted, troupe.Attempt{Op: troupe.OpConnect, Path: path})
	}
	c.Granted = append(c.Granted, troupe.Attempt{Op: troupe.OpListen, Path: "127.0.0.1:443"})
	for name, tt := range map[string]struct {
		s       config.Sandbox
		want    []string
		listens bool
	}{
		"nothing said": {config.Sandbox{}, all, true},
		"some ports":   {config.Sandbox{AllowedPorts: []int{443}}, []string{"10.0.0.1:443", "/run/s"}, true},
		"offline":      {config.Sandbox{Offline: true}, nil, false},
		"some hosts":   {config.Sandbox{AllowedHosts: []string{"example.com", "10.0.0.2"}}, []string{"/run/s"}, false},
		"all hosts":    {config.Sandbox{AllowedHosts: []string{"*"}}, all, true},
		"these": {config.Sandbox{AllowedHosts: []string{"10.0.0.1", "localhost:7000"}},
			[]string{"10.0.0.1:443", "127.0.0.1:7000", "/run/s"}, false},
		"these, but": {config.Sandbox{AllowedHosts: []string{"10.0.0.1", "127.0.0.1:7000"},
			DeniedHosts: []string{"localhost"}}, []string{"10.0.0.1:443", "/run/s"}, false},
		"all hosts but": {config.Sandbox{DeniedHosts: []string{"example.com"}}, []string{"/run/s"}, false},
	} {
		var out troupe.Confinement
		environ, err := g.reachGranted(c, tt.s, &out)
		if err != nil || !slices.Equal(out.Network.Addresses, tt.want) || out.Network.All || out.Network.Proxy != 0 ||
			len(environ) > 0 || slices.Contains(out.Network.Listens, "127.0.0.1:443") != tt.listens {
			t.Errorf("%s: %+v %q, %v", name, out.Network, environ, err)
		}
	}
	c.Reach = true // any host was shown as well
	var out troupe.Confinement
	if _, err := g.reachGranted(c, config.Sandbox{AllowedHosts: []string{"example.com"}}, &out); err != nil ||
		out.Network.Proxy == 0 || !slices.Equal(out.Network.Addresses, []string{"/run/s"}) {
		t.Errorf("any host: %+v, %v", out.Network, err)
	}
}

// TestMissingCachesStay: where a cache would be no command puts a link, also in a project that does not need it.
func TestMissingCachesStay(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	out, _, err := g.Confine(t.Context(), session.Confine{
		Session: troupe.Session{ID: "0123456789ab", Cwd: dir}, Level: troupe.LevelReadOnly,
		Hides: gate.Hides{Key: "k", Test: func(string) bool { return false }},
	})
	missing := filepath.Join(filepath.Dir(dir), "home/.cache/go-build")
	if err != nil || !slices.Contains(out.Fixed, missing) || slices.Contains(out.Scratch, missing) {
		t.Errorf("%q, %q, %v", out.Fixed, out.Scratch, err)
	}
}

// TestConfined: what was fetched is written only by what may fetch, and what a rule names outside of the project
// is hidden.
func TestConfined(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	home := filepath.Join(filepath.Dir(dir), "home")
	fetched, built := filepath.Join(home, "go/pkg/mod"), filepath.Join(home, ".cache/go-build")
	for _, cache := range []string{fetched, built} {
		if err := os.MkdirAll(cache, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(home, "key")
	writeFile(t, key, "x")
	for _, reach := range []bool{false, true} {
		out, _, err := g.Confine(t.Context(), session.Confine{
			Session: troupe.Session{ID: "0123456789ab", Cwd: dir}, Level: troupe.LevelWorkspace, Reach: reach,
			Unreadable: []string{key, home + "/*.pem"},
			Hides:      gate.Hides{Key: "k", Test: func(string) bool { return false }},
		})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(out.Scratch, fetched) != reach || !slices.Contains(out.Scratch, built) {
			t.Errorf("with the network %v it writes the caches %q", reach, out.Scratch)
		}
		if !slices.Contains(out.Hidden, key) || slices.Contains(out.Hidden, home+"/*.pem") {
			t.Errorf("hidden are %q", out.Hidden)
		}
	}
}

// TestAgentTypesAreTrusted: what can be started in a folder does not name agents of its own that are not trusted,
// however many files lie beside them, and what is read is what was looked at.
func TestAgentTypesAreTrusted(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	g.app.env.Log = slog.New(slog.DiscardHandler)
	for name, mode := range map[string]string{"bold": "acceptEdits", "meek": "plan"} {
		writeFile(t, filepath.Join(dir, ".claude/agents", name+".md"),
			"---\nname: "+name+"\ndescription: d\npermissionMode: "+mode+"\n---\nx")
	}
	for i := range 2100 {
		if err := os.MkdirAll(filepath.Join(dir, ".claude/agents/a/b/c/d", fmt.Sprintf("%d.md", i)),
			0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, ".claude/agents/z.md"), "---\nname: general-purpose\ndescription: d\n---\nx")
	list, err := machine{bound{app: g.app}}.Agents(t.Context(), wire.AgentQuery{Place: wire.Place{Cwd: dir}})
	has := func(name string) bool {
		return slices.ContainsFunc(list.Agents, func(a wire.AgentType) bool {
			return a.Name == name &&
				a.Scope == "project"
		})
	}
	if err != nil || !has("meek") || has("bold") || has("general-purpose") {
		t.Errorf("there are %+v, %v", list.Agents, err)
	}
	if len(list.Problems) > 10 {
		t.Errorf("%d problems are told", len(list.Problems))
	}
	// A file that is exchanged between the look and the reading does not count.
	p, err := g.app.policyOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	meek := filepath.Join(dir, ".claude/agents/meek.md")
	if skip := p.untrustedAgents(); !skip(meek, []byte("---\nname: Explore\n---\nx")) || !skip(meek+"x", nil) {
		t.Error("what was not looked at counts")
	}
}
