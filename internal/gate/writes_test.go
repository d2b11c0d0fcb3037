package gate_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

func mustWrite(t interface{ Fatal(...any) }, globs ...string) []rule.Rule {
	out, err := gate.NewTools([]troupe.ToolFacts{{Name: "Edit", Class: troupe.ClassEdit,
		Argument: troupe.PathArgument}}).Writes(globs, "/p")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMayMeet: patterns that may mean one file meet, whatever the case of names; those that cannot do not.
func TestMayMeet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		// A folder may be called x.go, and hold y.md.
		{"src/**", "src/a/b.go", true}, {"src", "src/a", true}, {"src/a", "src/ab", false},
		{"src/**", "docs/**", false}, {"/*.go", "/*.md", false}, {"*.go", "*.md", true}, {"*.go", "src/**", true},
		{"*.go", "src/x.md", true},
		{"**", "a", true}, {"a/*/c", "a/b", true}, {"a/*/c", "a/b/d", false}, {"SRC/x", "src/X", true},
		{"**/b/c", "a/b", true}, {"/a.go", "/*.GO", true}, {"{a,b}/x", "b/**", true}, {"{a,b}/x", "c/**", false},
		{"/pre*", "/other*", false}, {"/a*b", "/ab*", true}, {"src/[ab]", "src/c", false},
		{"src/[ab]*", "src/c*", true},
		{"internal/*_test.go", "internal/*_linux.go", false},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := gate.MayMeet(mustWrite(t, pair[0]), mustWrite(t, pair[1])); got != c.want {
				t.Errorf("%s and %s: %v", pair[0], pair[1], got)
			}
		}
	}
}

// TestMayMeetSays: where a file is one that both of two patterns cover, they meet.
func TestMayMeetSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		glob := func(label string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "A", "b", "ab", "*", "**", "a*", "*b",
				"[ab]",
				"?", "{a,b}", "a?b"}), 1, 4).Draw(t, label), "/")
		}
		a, b := mustWrite(t, glob("a")), mustWrite(t, glob("b"))
		file := "/p/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "A", "b", "ab", "aab"}), 1,
			5).Draw(t, "file"), "/")
		keeps := func(w []rule.Rule) string { return gate.KeptTo([]gate.Layer{{Writes: w}}, "")(file) }
		if keeps(a) == "" && keeps(b) == "" && !gate.MayMeet(a, b) {
			t.Fatalf("%s is one of both, and they do not meet: %s, %s", file, gate.Patterns(a), gate.Patterns(b))
		}
	})
}

// TestWritesRead: patterns that name no file of the agent's folder are refused.
func TestWritesRead(t *testing.T) {
	t.Parallel()
	tools := gate.NewTools([]troupe.ToolFacts{{Name: "Edit", Class: troupe.ClassEdit, Argument: troupe.PathArgument}})
	for _, bad := range []string{"../x", "//etc/x", "~/x", "", "a/../../b", "a{b", "!x", "$HOME/x"} {
		if _, err := tools.Writes([]string{bad}, "/p"); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := tools.Writes(nil, "/p"); err == nil {
		t.Error("no pattern is taken")
	}
}

// TestKeptTo: a session is held to its own patterns and to those of all above it, in every mode; the scratchpad is
// free, and in a folder of its own the same places are meant.
func TestKeptTo(t *testing.T) {
	t.Parallel()
	boss, kid := gate.Layer{Agent: "main/boss", Writes: mustWrite(t, "src/**")}, gate.Layer{Agent: "main/boss/kid",
		Writes: mustWrite(t, "*.go")}
	keeps := gate.KeptTo([]gate.Layer{{Agent: "main"}, boss, kid}, "/p/pad/x")
	for file, free := range map[string]bool{
		"/p/src/a.go": true, "/p/src": false, "/p/src/a.md": false, "/p/a.go": false, "/p/pad/x/y": true,
		"/p/pad/x": false,
		"/p/pad/z": false, "/q/src/a.go": false, "/p/SRC/a.go": false, "/p/src/../a.go": false, "/p/pad/x/../z": false,
	} {
		if why := keeps(file); (why == "") != free {
			t.Errorf("%s: %q", file, why)
		}
	}
	if gate.KeptTo([]gate.Layer{{Agent: "main"}}, "") != nil {
		t.Error("nobody is bound, and there is a test")
	}
	w := troupe.Workspace{Kind: troupe.WorkspaceTree, Of: "/p", Top: "/w", Folder: "/w"}
	if why := gate.KeptTo(gate.Mirror([]gate.Layer{boss}, w, "", "/p"), "")("/w/src/a"); why != "" {
		t.Errorf("in its own folder: %s", why)
	}
}

// TestWholeOf: a kernel is told of no folder as one that may be changed whole, which another of the line keeps a
// session from.
func TestWholeOf(t *testing.T) {
	t.Parallel()
	layer := func(globs ...string) gate.Layer { return gate.Layer{Agent: "a", Writes: mustWrite(t, globs...)} }
	for _, c := range []struct {
		chain []gate.Layer
		want  string
	}{
		{[]gate.Layer{{Agent: "main"}}, ""},
		{[]gate.Layer{layer("/src/**")}, "/p/src"},
		{[]gate.Layer{layer("/src/**"), layer("/docs/**")}, ""},
		{[]gate.Layer{layer("/src/**", "/docs/**"), {Agent: "b"}, layer("/docs/**")}, "/p/docs"},
	} {
		if got := strings.Join(gate.WholeOf(c.chain), " "); got != c.want {
			t.Errorf("%d layers: %q, not %q", len(c.chain), got, c.want)
		}
	}
}
