package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/plugins"
	"github.com/troupe-dev/troupe/internal/app/servers"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/plugin"
	"github.com/troupe-dev/troupe/internal/profile"
	"github.com/troupe-dev/troupe/internal/skill"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
)

// genPlugin writes a plugin that tries to get more than it may.
func genPlugin(t *rapid.T, dir string) {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := func(name string) string {
		return pick(name, "./agents", "../outside", "./../outside/a.md", "/etc", "link", "~", "./agents/../../outside",
			".", "")
	}
	write("plugin.json", fmt.Sprintf(`{"name": %q, "agents": [%q, %q], "commands": %q, "skills": %q, "hooks": %s,
		"mcpServers": %s}`, pick("name", "p", "main", "Explore", "p"), path("a"), path("b"), path("c"), path("s"),
		pick("hooks", `{}`, `{"PreToolUse": [{"hooks": [{"command": "exit 0"}]}]}`, `"../outside/h.json"`),
		pick("servers", `{}`, `{"s": {"command": "x", "sandbox": "none", "cwd": "/"}}`,
			`{"github": {"url": "http://a"}}`)))
	for i := range rapid.IntRange(1, 3).Draw(t, "files") {
		var lines []string
		for range rapid.IntRange(0, 5).Draw(t, "lines") {
			lines = append(lines, pick("line", "name: Explore", "name: main", "name: general-purpose", "name: a:b",
				"name: x", "tools: Read", "tools: '*'", "tools: [Read", "tools:", "tools: {a: b}", "tools: Agent, Bash",
				"disallowedTools: Bash", "permissionMode: bypassPermissions", "permissionMode: acceptEdits",
				"permissionMode: plan", "permission-mode: [plan]", "sandbox: none", "sandbox: read-only",
				"mcpServers: [github]", "mcpServers: {x: {command: y}}", "hooks: {Stop: [{hooks: [{command: x}]}]}",
				"hooks: [", "memory: user", "memory: project", "memory: local",
				"allowed-tools: Bash(*)", "isolation: none", "<<: *a", "\tmodel: opus"))
		}
		name := fmt.Sprintf("%s/f%d.md", pick("where", "agents", "commands", "skills/s"), i)
		write(strings.Replace(name, fmt.Sprintf("skills/s/f%d", i), "skills/s/SKILL", 1),
			"---\n"+strings.Join(lines, "\n")+"\n---\nDo !`touch x` ${CLAUDE_PLUGIN_ROOT}\n")
	}
	if err := os.Symlink("../outside", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
}

// TestNoPluginWidens: no plugin, however written, has an agent do what one above it may not, sets its mode, hooks or
// servers, replaces another type or skill, brings in a file from outside of its folder, starts a server with more than
// the workspace, or runs anything where only its texts count.
func TestNoPluginWidens(t *testing.T) {
	t.Parallel()
	list, err := all.Tools(all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set := tool.NewSet(list...)
	tools := gate.NewTools(set.Facts())
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "outside"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.md": "---\nname: out\n---\nSECRET", "h.json": "{}",
		"SKILL.md": "SECRET"} {
		if err := os.WriteFile(filepath.Join(base, "outside", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	builtIn, _ := profile.Load(profile.Sources{})
	known := map[string]profile.Definition{}
	for _, d := range append(builtIn.List(), builtIn.Main()) {
		known[d.Name] = d
	}
	agents := 0
	rapid.Check(t, func(t *rapid.T) {
		dir := filepath.Join(base, "plugin")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		genPlugin(t, dir)
		f := plugins.Found{State: rapid.SampledFrom([]plugins.State{plugins.On, plugins.Texts}).Draw(t, "state")}
		f.Plugin, f.Findings, f.Usable = plugin.Read(dir, nil)
		p := &policy{plugins: []plugins.Found{f}}
		runsNothing(t, p, &f)
		types, _ := profile.Load(profile.Sources{Folders: p.texts(agentsOf), Tools: set.Callable()})
		for _, d := range append(types.List(), types.Main()) {
			if d.Scope != front.ScopePlugin {
				if b := known[d.Name]; b.Prompt != d.Prompt || d.Source != troupe.BuiltIn {
					t.Fatalf("%s is another one: %+v", d.Name, d)
				}
				continue
			}
			agents++
			notMore(t, tools, set, d, dir)
		}
		skills, _ := skill.Load(skill.Sources{Folders: p.pluginSkills(), Tools: set.Callable()})
		for _, k := range skills.List() {
			if !strings.HasPrefix(k.Name, f.Name+":") || !troupe.Within(k.Source, dir) ||
				strings.Contains(k.Body, "SECRET") || k.Runs && f.State != plugins.On {
				t.Fatalf("the skill %+v", k)
			}
		}
	})
	if agents == 0 {
		t.Error("no plugin had an agent, so nothing was tried")
	}
}

// runsNothing: where only texts count nothing of the plugin runs, and no server gets more than the workspace.
func runsNothing(t *rapid.T, p *policy, f *plugins.Found) {
	for _, h := range p.pluginHooks("/proj") {
		if h.off == "" && f.State != plugins.On {
			t.Fatalf("the hook runs: %+v", h)
		}
	}
	brought, _ := p.pluginServers()
	for _, s := range brought {
		if f.State != plugins.On || !strings.HasPrefix(s.Name, "plugin:"+f.Name+":") ||
			s.Level() != troupe.LevelWorkspace && s.Level() != troupe.LevelReadOnly || s.Scope != servers.ScopePlugin {
			t.Fatalf("the server %+v", s)
		}
	}
}

// notMore: an agent of the type may do nothing that is denied or asked about for who starts it, and has less of a
// sandbox never.
func notMore(t *rapid.T, tools *gate.Tools, set tool.Set, d profile.Definition, dir string) {
	if !strings.Contains(d.Name, ":") || !troupe.Within(d.Source, dir) || strings.Contains(d.Prompt, "SECRET") ||
		d.Mode != "" && d.Mode != troupe.ModePlan || len(d.Hooks) > 0 || d.Memory != "" {
		t.Fatalf("the type %+v", d)
	}
	for _, r := range d.Servers.Named() {
		t.Fatalf("%s has the server %+v", d.Name, r)
	}
	born, err := d.Resolve(profile.Place{Offer: set.Callable(), Model: "m", Child: true,
		Named: func(name string) (string, error) { return name, nil }}, troupe.Spawn{})
	if err != nil {
		return // it is not started
	}
	q := gate.Query{Roots: []string{"/proj"}, Home: "/home/u", Chain: []gate.Layer{genHookLayer(t, tools, "main")},
		Protected: []string{"/proj/.git/**", "/proj/.claude/**", "/proj/.git", "/proj/.claude"},
		Levels:    []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}}
	q.Tool, q.Access = genHookCall(t)
	before := tools.Decide(q)
	q.Chain = append(q.Chain, tools.LayerOf("main/x", born, troupe.Authority{Mode: born.Mode}, true, false))
	after := tools.Decide(q)
	switch {
	case before.Effect == troupe.Deny && after.Effect != troupe.Deny,
		before.Effect == troupe.Ask && after.Effect == troupe.Allow,
		before.Sandbox != troupe.LevelNone && before.Sandbox != "" && after.Effect == troupe.Allow &&
			after.Sandbox == troupe.LevelNone:
		t.Fatalf("%s %+v of %+v is %+v, of who starts it %+v", q.Tool, q.Access, d, after, before)
	}
}
