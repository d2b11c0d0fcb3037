package app

import (
	"crypto/rand"
	"path/filepath"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestHiddenBeside: what is hidden in an agent's own folder is hidden there from the main agent and from other agents,
// from commands and from tools; what the agent made is not.
func TestHiddenBeside(t *testing.T) {
	t.Parallel()
	g, dir := guardedFolder(t)
	w := &workspaces{app: g.app, guard: g, keeper: keeperOf(g.app)}
	settings := filepath.Join(g.app.dirs.Home, "troupe/settings.json")
	writeFile(t, settings, `{"sandbox": {"deny_read": ["/keys", "*.pem"]}}`)
	born := func(from string, of troupe.Workspace) troupe.Session {
		id, err := troupe.NewRootID(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		s := troupe.Session{ID: id, Root: id, Cwd: from, Workspace: of}
		if s.Workspace, err = w.Plan(s, session.Wish{ID: id, Kind: troupe.WorkspaceCopy}); err != nil {
			t.Fatal(err)
		}
		if _, err = w.Open(t.Context(), session.Opening{Session: s}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	main := troupe.Session{ID: "0123456789ab", Cwd: dir}
	hidden := func(s troupe.Session) []string {
		c, _, err := g.Confine(t.Context(), session.Confine{Session: s, Level: troupe.LevelReadOnly})
		if err != nil {
			t.Fatal(err)
		}
		return c.Hidden
	}
	hidden(main) // nobody has a folder yet
	one := born(dir, troupe.Workspace{})
	other := born(dir, troupe.Workspace{})
	inner := born(dir, one.Workspace)
	for _, s := range []troupe.Session{one, other, inner} {
		for _, name := range []string{".env", "keys/a", "sub/b.pem", "open.txt"} {
			writeFile(t, filepath.Join(s.Workspace.Top, name), "PASS phrase")
		}
	}
	for _, s := range []troupe.Session{main, one, other, inner} {
		covered := hidden(s)
		tools := g.Hidden(session.PlaceOf(s))
		for _, of := range []troupe.Session{one, other, inner} {
			for name, want := range map[string]bool{".env": true, "sub/b.pem": true, "open.txt": false} {
				path := filepath.Join(of.Workspace.Top, name)
				if got := slices.Contains(covered, path); got != want {
					t.Errorf("from commands in %s %s is hidden: %t", s.Dir(), path, got)
				}
				if _, got := tools.Path(path); got != want {
					t.Errorf("from tools in %s %s is hidden: %t", s.Dir(), path, got)
				}
				if in := tools.In(filepath.Dir(path)); (in != nil && in(filepath.Base(path))) != want {
					t.Errorf("from lists in %s %s is hidden: %t", s.Dir(), path, !want)
				}
			}
		}
	}
}
