package skill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
)

// TestMute: the commands of a project's text that cannot be shown whole do not run, nor those that a mask changes; what
// else trust gives it stays.
func TestMute(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, ".claude", "commands")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"long": "!`" + strings.Repeat("x", troupe.MostShown+1) + "`",
		"many": strings.Repeat("!`true` ", maxCommands+1), "secret": "!`echo SECRET`", "fine": "SECRET !`true`"} {
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, scope := range []front.Scope{front.ScopeProject, front.ScopeUser} {
		set, _ := Load(Sources{Folders: []Folder{Of(dir, root, scope, true)},
			Trusted: func(string, []byte) bool { return true },
			Mask:    func(s string) string { return strings.ReplaceAll(s, "SECRET", "[masked]") }})
		for _, k := range set.List() {
			if mute := scope == front.ScopeProject && k.Name != "fine"; (k.Mute != "") != mute || !k.Runs {
				t.Errorf("%s %s: runs %v, %q", scope, k.Name, k.Runs, k.Mute)
			}
		}
		if len(set.List()) != 4 {
			t.Errorf("%s: %d", scope, len(set.List()))
		}
	}
}
