package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// TestAlike: a server's tools are its own by name, however another one is written, and whoever brings that.
func TestAlike(t *testing.T) {
	t.Parallel()
	dirs := config.Dirs{Config: t.TempDir(), Home: t.TempDir()}
	if err := os.WriteFile(filepath.Join(dirs.Config, "mcp.json"), []byte(`{"mcpServers": {"a_b": {"command": "x"},
		"off": {"command": "x", "disabled": true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stdio := func(name string) entry.Entry { return entry.Entry{Name: name, Type: entry.Stdio, Command: "x"} }
	own := Own(Places{Dirs: dirs, Plugins: []Server{{Entry: stdio("plugin:pl:s"), Scope: ScopePlugin}}})
	for name, want := range map[string]struct {
		own   string
		stays bool
	}{"a_b": {"a_b", false}, "A_b": {"a_b", true}, "a.b": {"a_b", true}, "a__b": {"a_b", true}, "ab": {}, "off": {},
		"plugin:pl:s": {"plugin:pl:s", true}, "plugin.pl.s": {"plugin:pl:s", true}} {
		if got, stays := own(name); got != want.own || stays != want.stays {
			t.Errorf("%s: %q, %v", name, got, stays)
		}
	}
	k := &Known{Servers: []Server{{Entry: stdio("a.b"), Scope: ScopeProject, Why: sameTools("a_b")},
		{Entry: stdio("a_b"), Scope: ScopeUser}, {Entry: stdio("p"), Scope: ScopeProject}},
		failed: map[string]string{}}
	long := stdio("long")
	long.Args = []string{strings.Repeat("x", troupe.MostShown)}
	for e, out := range map[*entry.Entry]bool{{Name: "A.B"}: true, {Name: "a_b"}: false, {Name: "P"}: false,
		&long: true} {
		if why := k.keepsOut(*e); (why != "") != out {
			t.Errorf("%s: %q", e.Name, why)
		}
	}
	// Who names it means the one that is used.
	if _, missing := k.Of([]entry.Ref{{Name: "a-b"}, {Name: "A_B"}}, ""); len(missing) != 2 ||
		!strings.Contains(missing[1], "a_b (what it offers is not known yet") {
		t.Error(missing)
	}
}
