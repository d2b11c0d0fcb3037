package config

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHiddenIn: a folder that stands for the project hides what the project hides, at the same places.
func TestHiddenIn(t *testing.T) {
	t.Parallel()
	project, top := t.TempDir(), "/trees/x"
	if err := os.MkdirAll(filepath.Join(project, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(project, ".troupe"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(project, ".troupe", "settings.json")
	if err := os.WriteFile(settings, []byte(`{"sandbox": {"deny_read": ["keys/**", "one.txt"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	all, _, err := Read(Places{Folder: project, Dirs: Dirs{Home: "/home/u", Config: "/home/u/.config/troupe",
		Data: "/home/u/.local/share/troupe"}})
	if err != nil {
		t.Fatal(err)
	}
	h := all.HiddenIn(top, all.Hidden().Project())
	for path, want := range map[string]bool{
		top + "/.env": true, top + "/deep/.env.local": true, top + "/.env.example": false, top + "/keys/a": true,
		top + "/one.txt": true, top + "/two.txt": false, top + "/sub/one.txt": true,
		project + "/.env": true, project + "/keys/a": true, "/home/u/.ssh/id_rsa": true,
	} {
		if _, got := h.Covers(path); got != want {
			t.Errorf("%s: hidden %v", path, got)
		}
	}
	if h.Project() != top {
		t.Errorf("looks through %s", h.Project())
	}
}
