package servers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// TestProjectsFoldersBind: no file in a project's folder, the local one included, gives a server more than the
// workspace; and what is denied is denied by name without regard to case, a server of an agent's own included.
func TestProjectsFoldersBind(t *testing.T) {
	t.Parallel()
	repo, home := t.TempDir(), t.TempDir()
	file := filepath.Join(repo, ".claude", "settings.local.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"lo": {"command": "x", "sandbox": "none"},
		"EV": {"command": "y"}}, "deniedMcpServers": ["ev"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	all, _, err := config.Read(config.Places{Dirs: config.Dirs{Home: home}, Folder: repo})
	if err != nil {
		t.Fatal(err)
	}
	found, _ := read(Places{Dirs: config.Dirs{Home: home}, Cwd: repo, Settings: all.Servers(true),
		Limits: all.ServerLimits()})
	if len(found) != 2 || found[1].Scope != ScopeLocal || found[1].Level() != troupe.LevelWorkspace ||
		found[0].Why == "" {
		t.Errorf("%+v", found)
	}
	for level, out := range map[troupe.Level]bool{troupe.LevelNone: true, "": false} {
		s := Server{Entry: entry.Entry{Type: entry.Stdio, Sandbox: level}, Scope: ScopeUser}
		if a := (call{runner: runner{server: s}}).Access(); a.Unconfined != out {
			t.Errorf("with the sandbox %q its calls are unconfined: %t", level, a.Unconfined)
		}
		if a := (resourceCall{server: s}).Access(); a.Unconfined != out {
			t.Errorf("with the sandbox %q its resources are: %t", level, a.Unconfined)
		}
	}
	k := &Known{limits: all.ServerLimits()}
	if have, missing := k.Of([]entry.Ref{{Name: "Ev", Inline: &entry.Entry{Name: "Ev"}}}, ""); len(have) > 0 ||
		len(missing) != 1 || k.keepsOut(entry.Entry{Name: "other"}) != "" {
		t.Error(have, missing)
	}
}
