package gate_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
)

// TestAutoStaysInTheFolder: what mode auto leaves to its model changes nothing outside of the session's folders, which
// no command could either; a person is asked about that. It may read there, as commands do.
func TestAutoStaysInTheFolder(t *testing.T) {
	t.Parallel()
	tools := gate.NewTools(nil)
	writes := func(paths ...string) troupe.Access {
		return troupe.Access{Class: troupe.ClassEdit, Writes: paths}
	}
	for _, c := range []struct {
		tool   string
		access troupe.Access
		auto   bool
	}{
		{"Write", writes("/proj/a"), true},
		{"Write", writes("/home/me/a"), false},
		{"Write", writes("/proj/a", "/home/me/a"), false},
		{"Write", writes("a"), false},
		{"Read", troupe.Access{Class: troupe.ClassRead, Reads: []string{"/home/me/a"}}, true},
		{"WebFetch", troupe.Access{Class: troupe.ClassRead, URL: "https://example.com"}, true},
		{"mcp__a__b", troupe.Access{Class: troupe.ClassExec}, true},
	} {
		line := tools.LayerOf("main", troupe.Profile{Tools: []string{c.tool}, Mode: troupe.ModeAuto},
			troupe.Authority{Mode: troupe.ModeAuto}, false, false)
		d := tools.Decide(gate.Query{Tool: c.tool, Access: c.access, Chain: []gate.Layer{line},
			Roots: []string{"/proj"}, Home: "/home/me"})
		if d.Effect != troupe.Ask || d.Auto != c.auto {
			t.Errorf("%s %+v: %s, auto %v: %s", c.tool, c.access, d.Effect, d.Auto, d.Why)
		}
	}
}
