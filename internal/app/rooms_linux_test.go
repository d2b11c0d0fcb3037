package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestRooms: what sessions have beside each other is closed to a command also as far as it comes later.
func TestRooms(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	if !g.box.Support(t.Context()).Namespaces {
		t.Skip("this kernel has no mount namespaces for us")
	}
	s := troupe.Session{ID: "0123456789ab", Cwd: dir}
	pads := scratchpadsOf(g.app)
	if err := pads.Make(s.ID); err != nil {
		t.Fatal(err)
	}
	confined := func(s troupe.Session, pad string) *troupe.Confinement {
		t.Helper()
		c, _, err := g.Confine(t.Context(), session.Confine{Session: s, Level: troupe.LevelReadOnly, Scratchpad: pad})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	room := func(c *troupe.Confinement, all, own string) bool {
		return slices.Contains(c.Rooms, troupe.Room{Folder: all, Own: own})
	}
	own, outputs := pads.Folder(s.ID), g.app.dirs.Outputs()
	c := confined(s, own)
	temps := filepath.Dir(filepath.Dir(c.Temp))
	if !room(c, pads.all, own) || !room(c, temps, filepath.Join(temps, string(s.ID))) {
		t.Errorf("rooms: %+v", c.Rooms)
	}
	if info, err := os.Stat(outputs); !slices.Contains(c.Hidden, outputs) || err != nil || !info.IsDir() {
		t.Errorf("outputs, none of its own: %v, %q", err, c.Hidden)
	}
	if err := os.MkdirAll(g.app.outputDir(s.ID), 0o700); err != nil {
		t.Fatal(err)
	}
	if c := confined(s, ""); !room(c, outputs, g.app.outputDir(s.ID)) || !slices.Contains(c.Hidden, pads.all) {
		t.Errorf("outputs of its own, no scratchpad: %+v, %q", c.Rooms, c.Hidden)
	}
	// Who begins a session in the scratchpad of another means to work there.
	other := filepath.Join(pads.all, "aaaaaaaaaaaa")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if c := confined(troupe.Session{ID: s.ID, Cwd: other}, own); room(c, pads.all, own) {
		t.Errorf("its folder is beside the room: %+v", c.Rooms)
	}
}
