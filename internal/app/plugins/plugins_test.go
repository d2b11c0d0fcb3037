package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/config"
)

// put writes a file below a folder.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// says are settings of a scope about one plugin.
func says(scope config.Scope, id string, on bool) config.PluginSource {
	return config.PluginSource{Source: config.Source{Scope: scope},
		PluginSettings: config.PluginSettings{Enabled: map[string]bool{id: on}}}
}

// TestAdministratorForbids: what an administrator forbids counts for nothing, whoever enabled it and however.
func TestAdministratorForbids(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "p/plugin.json", `{"name": "p"}`)
	put(t, dir, "p/agents/a.md", "---\nname: a\n---\nDo it.\n")
	forbidden := []config.PluginSource{says(config.ScopeUser, "p", true), says(config.ScopeManaged, "p", false)}
	h := In(config.Dirs{Config: filepath.Join(dir, "config"), Home: filepath.Join(dir, "home")})
	if err := h.Add(filepath.Join(dir, "p")); err != nil {
		t.Fatal(err)
	}
	look := func(settings []config.PluginSource) (active int, f Found) {
		t.Helper()
		list, _, err := h.Active(settings, dir)
		all, _, err2 := h.All(settings, dir)
		if err != nil || err2 != nil || len(all) != 1 {
			t.Fatal(err, err2, all)
		}
		return len(list), all[0]
	}
	for _, enabled := range []bool{false, true} {
		if enabled {
			_, f := look(nil)
			if err := h.Enable(f, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n, f := look(forbidden[:1]); n != 1 || f.State != On {
			t.Errorf("enabled here %v: %d count, it is %s", enabled, n, f.State)
		}
		if n, f := look(forbidden); n != 0 || f.State != Off || !strings.Contains(f.Why, "administrator") {
			t.Errorf("enabled here %v, and forbidden: %d count, it is %s (%s)", enabled, n, f.State, f.Why)
		}
	}
}
