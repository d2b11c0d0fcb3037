package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

// samples are what files are made of, sense and nonsense.
func samples(key string) []any {
	rules := []any{[]any{"Bash(x)", "Edit"}, []any{"*"}, []any{}, "Bash", []any{1}, []any{"Read(./.env)"}}
	paths := []any{[]any{"/"}, []any{"~"}, []any{"~/.ssh"}, []any{".."}, []any{"a", "**/b"}, []any{""}, "x"}
	switch {
	case strings.HasSuffix(key, "Mode") || key == "defaultMode":
		return []any{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "allowEdits", "disable", true, 7}
	case slices.Contains([]string{"allow", "deny", "ask"}, key):
		return rules
	case slices.Contains([]string{"additionalDirectories", "deny_read", "allow_read", "deny_write", "write", "denyRead",
		"denyWrite", "allowRead", "allowWrite"}, key):
		return paths
	case strings.Contains(key, "osts") || strings.Contains(key, "omains"):
		return []any{[]any{"a.example"}, []any{"*"}, []any{"*.b.example"}, []any{"http://x"}, []any{"a*"}, []any{}}
	case key == "network":
		return []any{"on", "off", "maybe"}
	case key == "caches":
		return []any{[]any{}, []any{"go", "npm"}, []any{"gopher"}}
	case key == "keep":
		return []any{[]any{"AWS_*"}, []any{"SECRET"}, []any{"a b"}}
	case key == "model" || key == "fallback_model":
		return []any{"one", "two"}
	case key == "effort":
		return []any{"low", "max", "much", 3}
	case key == "providers":
		return []any{map[string]any{"p": map[string]any{"base_url": "http://x"}},
			map[string]any{"openai": map[string]any{"api": "responses"}}, map[string]any{}}
	case key == "env":
		return []any{map[string]any{"PATH": "."}}
	case key == "url":
		return []any{"https://x.example/{query}", "http://x.example"}
	case key == "allowed_ports":
		return []any{[]any{443}, []any{0}}
	default:
		return []any{0, 1, 5, 100_000, -1, true, false}
	}
}

func anyObject(t *rapid.T, label string, keys ...string) map[string]any {
	out := map[string]any{}
	for _, key := range keys {
		if rapid.IntRange(0, 2).Draw(t, label+key) == 0 {
			out[key] = rapid.SampledFrom(samples(key)).Draw(t, label+key+"=")
		}
	}
	return out
}

func anyFile(t *rapid.T, label string, claude bool) string {
	all := map[string]any{}
	with := func(name string, part map[string]any) {
		if len(part) > 0 {
			all[name] = part
		}
	}
	permissions := []string{"allow", "deny", "ask", "defaultMode", "additionalDirectories",
		"disableBypassPermissionsMode"}
	if claude {
		with("permissions", anyObject(t, label, permissions...))
		for key, v := range anyObject(t, label, "allowManagedPermissionRulesOnly", "env", "model", "disableAllHooks") {
			all[key] = v
		}
		box := anyObject(t, label, "enabled", "excludedCommands")
		box["filesystem"] = anyObject(t, label, "denyRead", "denyWrite", "allowRead", "allowWrite")
		box["network"] = anyObject(t, label, "allowedDomains", "deniedDomains", "allowManagedDomainsOnly")
		with("sandbox", box)
	} else {
		with("permissions", anyObject(t, label, append(permissions, "ask_seconds", "managed_rules_only")...))
		for key, v := range anyObject(t, label, "model", "effort", "fallback_model", "providers", "retry_seconds") {
			all[key] = v
		}
		with("agents", anyObject(t, label, "max_depth", "max_active", "max_total", "max_tokens", "max_cost_usd",
			"max_turns", "each_max_turns", "each_max_tokens", "background_seconds", "ask_above_usd", "fork",
			"wait_above_usd"))
		with("search", anyObject(t, label, "url"))
		with("sessions", anyObject(t, label, "keep_days"))
		with("fetch", anyObject(t, label, "local_hosts"))
		box := anyObject(t, label, "deny_read", "allow_read", "deny_write", "write", "caches", "network",
			"allowed_ports", "allowed_hosts", "denied_hosts")
		box["limits"] = anyObject(t, label, "processes", "memory_mb", "file_mb")
		box["environment"] = anyObject(t, label, "keep")
		with("sandbox", box)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.IntRange(0, 19).Draw(t, label+"broken") == 0 {
		data = data[:len(data)-1]
	}
	return string(data)
}

// TestWithoutTrustNothingOpens: whatever a project's files say, without trust nothing is more
// open than it would be without them.
func TestWithoutTrustNothingOpens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mkdir(filepath.Join(h.repo, "a"))
	rapid.Check(t, func(rt *rapid.T) {
		for path, claude := range map[string]bool{h.policy: false, h.theirs: true, h.userOurs: false,
			h.userTheirs: true} {
			if err := os.RemoveAll(path); err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, path) {
				h.write(path, anyFile(rt, path, claude))
			}
			if _, _, err := Read(h.at()); err != nil { // the start stops; nothing to compare
				if err := os.RemoveAll(path); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for _, dir := range []string{".claude", ".troupe"} {
			if err := os.RemoveAll(filepath.Join(h.repo, dir)); err != nil {
				rt.Fatal(err)
			}
		}
		before, _, err := Read(h.at())
		if err != nil {
			rt.Fatal(err)
		}
		for name, claude := range map[string]bool{
			".claude/settings.json": true, ".claude/settings.local.json": true, ".troupe/settings.json": false,
			".troupe/settings.local.json": false,
		} {
			if rapid.Bool().Draw(rt, name) {
				h.project(name, anyFile(rt, name, claude))
			}
		}
		after, warnings, err := Read(h.at())
		if err != nil {
			rt.Fatalf("a project's files stop the start: %v", err)
		}
		if text := opened(before, after); text != "" {
			rt.Errorf("%s (warnings %v)", text, warnings)
		}
	})
}

// opened says what is more open, "" if nothing is.
func opened(before, after All) string {
	has := func(rules []troupe.Rule, r troupe.Rule) bool { return slices.Contains(rules, r) }
	for _, r := range after.Rules(false) {
		if r.Effect == troupe.Allow && !has(before.Rules(false), r) {
			return "an allow rule came: " + r.Text
		}
	}
	for _, r := range before.Rules(false) {
		if r.Effect != troupe.Allow && !has(after.Rules(false), r) {
			return "a rule went: " + r.Text
		}
	}
	if openness(after.Mode(false)) > openness(before.Mode(false)) || openness(after.Most()) > openness(before.Most()) {
		return "the mode is " + string(after.Mode(false))
	}
	if !subset(after.Directories(false), before.Directories(false)) {
		return "a directory came"
	}
	b, a := before.Settings(false), after.Settings(false)
	if a.Model != b.Model || a.Fallback != b.Fallback || len(a.Providers) != len(b.Providers) || a.Search != b.Search ||
		!slices.Equal(a.LocalHosts, b.LocalHosts) || a.Home.KeepDays != b.Home.KeepDays ||
		!slices.Equal(a.Home.NotifyHosts, b.Home.NotifyHosts) || a.RetrySeconds != b.RetrySeconds ||
		a.Permissions.AskSeconds != b.Permissions.AskSeconds {
		return "what only the user decides changed"
	}
	for _, limit := range bounds() {
		rest := b
		if !limit.lower(&rest, &a) {
			return limit.key + " is higher"
		}
	}
	return openedSandbox(before, after)
}

func openedSandbox(before, after All) string {
	b, a := before.Settings(false).Sandbox, after.Settings(false).Sandbox
	switch {
	case b.Offline && !a.Offline:
		return "the network is on"
	case !subset(a.Write, b.Write), !subset(a.Keep, b.Keep), !subset(a.AllowRead, b.AllowRead),
		!slices.Equal(a.AllowedPorts, b.AllowedPorts), !slices.Equal(a.Caches, b.Caches):
		return "the sandbox lets more through"
	case len(b.AllowedHosts) > 0 && !subset(a.AllowedHosts, b.AllowedHosts), !subset(b.DeniedHosts, a.DeniedHosts),
		!subset(b.DenyWrite, a.DenyWrite):
		return "more hosts or files are open"
	}
	was, is := before.Hidden(), after.Hidden()
	for _, path := range []string{
		"/etc/shadow", before.places.Dirs.Home + "/.ssh/id_rsa", before.Folders[0] + "/.env",
		before.Folders[0] + "/x/.env.local", before.Folders[0] + "/a", before.places.Dirs.Home + "/b", "/srv",
	} {
		if _, hidden := was.Covers(path); hidden {
			if _, still := is.Covers(path); !still {
				return path + " is not hidden any more"
			}
		}
	}
	return ""
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// FuzzRead: bytes of a project, in both dialects.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/settings/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"sandbox": {"deny_read": ["[", "**", "\\"], "limits": {"processes": 1e3}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, claude := range []bool{true, false} {
			for _, scope := range []Scope{ScopeManaged, ScopeUser, ScopeProject, ScopeLocal} {
				l, p := read(Source{Path: "/p/f.json", Scope: scope, Folder: "/p"}, data, claude)
				l.Broken = p.err != nil
				if p.err != nil && scope.trusted() {
					continue
				}
				dirs := Dirs{Home: "/h", Data: "/h/d", Config: "/h/c", Run: "/h/r"}
				before := All{places: Places{Dirs: dirs, Folder: "/p"}, Folders: []string{"/p"}}
				after := before
				after.layers = []layer{l}
				r := reader{places: after.places, layers: after.layers}
				r.refuse(&l)
				if !scope.trusted() {
					if text := opened(before, after); text != "" {
						t.Error(text)
					}
				}
				for _, mode := range []troupe.Mode{after.Mode(true), after.Mode(false)} {
					if openness(mode) < 0 || openness(mode) > openness(after.Most()) {
						t.Errorf("mode %q of %q", mode, after.Most())
					}
				}
				if c := after.Settings(true).Caps(); c.MaxDepth < 0 || c.MaxTotal < 0 || c.MaxCost < 0 {
					t.Errorf("a negative cap: %+v", c)
				}
			}
		}
	})
}

// TestCorpus: shapes of settings as people publish them are read, with no more than notes in the
// user's place.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/settings/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h := newHouse(t)
		h.write(h.userTheirs, string(data))
		all := h.read()
		h.project(".claude/settings.json", string(data))
		h.read()
		for _, w := range h.warnings {
			if strings.HasPrefix(w.Path, h.userTheirs) && !w.Note && !strings.Contains(w.Text, "allowEdits") {
				t.Errorf("%s: %s", file, w)
			}
		}
		t.Logf("%s: mode %s, %d rules, warnings %q", filepath.Base(file), all.Mode(false), len(all.Rules(false)),
			h.warnings)
	}
}

func BenchmarkRead(b *testing.B) {
	root := b.TempDir()
	for _, folder := range []string{"none", "repo/a/b"} {
		dir := filepath.Join(root, folder)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		if folder != "none" {
			if err := os.MkdirAll(filepath.Join(root, "repo/.git"), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		places := Places{
			Managed: []ManagedFile{{filepath.Join(root, "etc/c/managed-settings.json"), true},
				{filepath.Join(root, "etc/t/managed-settings.json"), false}},
			Dirs: Dirs{Config: root + "/c", Data: root + "/d", Run: root + "/r", Home: root + "/h"}, Folder: dir,
		}
		b.Run(strings.ReplaceAll(folder, "/", "-"), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Read(places); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
