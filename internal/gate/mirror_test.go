package gate

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// TestMirror: what rules say of the caller's tree they say of the same places in a session's own folder, and the other
// way round, wherever they begin.
func TestMirror(t *testing.T) {
	t.Parallel()
	own := troupe.Workspace{Kind: troupe.WorkspaceTree, From: "/proj/sub", Of: "/proj", Top: "/trees/x",
		Folder: "/trees/x/sub"}
	bound, err := ParseRule(troupe.Rule{Effect: troupe.Deny, Text: "Read(/config/**)", Folder: "/proj"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rule       rule.Rule
		one, other string // both denied
		not        string
	}{
		{parse(t, troupe.Deny, "Read(/secret.txt)"), "/trees/x/sub/secret.txt", "/proj/sub/secret.txt",
			"/proj/secret.txt"},
		{parse(t, troupe.Deny, "Read(//proj/keys/**)"), "/proj/keys/a", "/trees/x/keys/a", "/trees/y/keys/a"},
		{parse(t, troupe.Deny, "Read(~/x)"), "/home/u/x", "/home/u/x", "/trees/x/x"},
		{bound, "/proj/config/a", "/trees/x/config/a", "/trees/x/sub/config/a"},
	} {
		line := Mirror([]Layer{{Agent: "main", Mode: troupe.ModeBypass, Rules: []rule.Rule{tt.rule}}}, own, "/home/u",
			own.Of)
		for path, want := range map[string]troupe.Effect{tt.one: troupe.Deny, tt.other: troupe.Deny,
			tt.not: troupe.Allow} {
			q := query("Read", reads(path))
			q.Chain, q.Roots = line, []string{own.Folder}
			if d := Decide(q); d.Effect != want {
				t.Errorf("%s: %s is %s", tt.rule.Written.Text, path, d.Effect)
			}
			hides := Hidden(line, q.Roots, "/home/u")
			if got := hides(path); got != (want == troupe.Deny) {
				t.Errorf("%s hides %s: %v", tt.rule.Written.Text, path, got)
			}
		}
	}
	if line := []Layer{{Agent: "main"}}; &Mirror(line, troupe.Workspace{Kind: troupe.WorkspaceReadOnly},
		"")[0] != &line[0] {
		t.Error("a session in its caller's folder has the line changed")
	}
}
