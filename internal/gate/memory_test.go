package gate

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

// TestMemory: an agent changes files in its own memory unasked, and nothing besides because of it.
func TestMemory(t *testing.T) {
	t.Parallel()
	const own = "/proj/.claude/agent-memory/keeper"
	write := func(paths ...string) troupe.Access {
		return troupe.Access{Class: troupe.ClassEdit, Writes: paths}
	}
	deny := []troupe.Rule{{Effect: troupe.Deny, Text: "Edit(.claude/**)"}}
	ask := []troupe.Rule{{Effect: troupe.Ask, Text: "Write"}}
	only := []string{"Write"}
	for _, c := range []struct {
		name   string
		parent troupe.Mode
		mode   troupe.Mode
		rules  []troupe.Rule
		only   []string
		tool   string
		access troupe.Access
		want   troupe.Effect
	}{
		{name: "its own", access: write(own + "/MEMORY.md"), want: troupe.Allow},
		{name: "for that alone", only: only, access: write(own + "/MEMORY.md"), want: troupe.Allow},
		{name: "elsewhere", only: only, mode: troupe.ModeBypass, access: write("/proj/a"), want: troupe.Deny},
		{name: "the folder itself", only: only, access: write(own), want: troupe.Ask},
		{name: "another's", access: write("/proj/.claude/agent-memory/other/MEMORY.md"), want: troupe.Ask},
		{name: "another's, accepted edits", mode: troupe.ModeAcceptEdits, want: troupe.Ask,
			access: write("/proj/.claude/agent-memory/other/MEMORY.md")},
		{name: "a name that begins so", access: write(own + "-2/MEMORY.md"), want: troupe.Ask},
		{name: "out of it", only: only, access: write(own + "/../other/x"), want: troupe.Deny},
		{name: "a link out of it", access: write(own+"/x.md", "/proj/.claude/settings.json"), want: troupe.Ask},
		{name: "below it", access: write(own + "/more/notes.md"), want: troupe.Allow},
		{name: "a part of a repository", access: write(own + "/HEAD"), want: troupe.Ask},
		{name: "a hook", access: write(own + "/.git/hooks/pre-commit"), want: troupe.Ask},
		{name: "settings", access: write(own + "/.claude/settings.json"), want: troupe.Ask},
		{name: "a hidden folder", access: write(own + "/.git/x.md"), want: troupe.Ask},
		{name: "instructions", access: write(own + "/CLAUDE.md"), want: troupe.Ask},
		{name: "a deny rule", rules: deny, access: write(own + "/x.md"), want: troupe.Deny},
		{name: "an ask rule", rules: ask, access: write(own + "/x.md"), want: troupe.Ask},
		{name: "plan mode", mode: troupe.ModePlan, access: write(own + "/x.md"), want: troupe.Deny},
		{name: "a parent that plans", parent: troupe.ModePlan, access: write(own + "/x.md"), want: troupe.Deny},
		{name: "none is asked", mode: troupe.ModeDontAsk, access: write(own + "/x.md"), want: troupe.Allow},
		{name: "a command", tool: "Bash", want: troupe.Ask, access: troupe.Access{Class: troupe.ClassExec,
			Command: "echo x > " + own + "/x.md", Writes: []string{own + "/x.md"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.tool == "" {
				c.tool = "Write"
			}
			if c.mode == "" {
				c.mode = troupe.ModeDefault
			}
			if c.parent == "" {
				c.parent = c.mode
			}
			tools := []string{"Read", "Write", "Bash"}
			q := Query{Tool: c.tool, Access: c.access, Roots: []string{"/proj"}, Protected: []string{"/proj/.claude"},
				Chain: []Layer{
					known().LayerOf("main", troupe.Profile{Tools: tools}, troupe.Authority{Mode: c.parent}, true,
						false),
					known().LayerOf("k", troupe.Profile{Tools: tools,
						Memory: &troupe.Memory{Folder: own, Only: c.only}},
						troupe.Authority{Mode: c.mode, Rules: c.rules}, false, false),
				}}
			if got := Decide(q); got.Effect != c.want {
				t.Errorf("it is %s (%s: %s), want %s", got.Effect, got.Step, got.Why, c.want)
			}
		})
	}
}

// A memory widens nothing but what lies in it, whatever the call and the line of authority.
func TestMemoryWidensNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := genQuery(t)
		for _, path := range append(q.Access.Reads, q.Access.Writes...) {
			if troupe.Within(path, "/elsewhere") {
				t.Skip()
			}
		}
		without := Decide(q)
		q.Chain = append([]Layer{}, q.Chain...)
		if n := len(q.Chain); n > 0 {
			q.Chain[n-1].Memory = &troupe.Memory{Scope: troupe.MemoryLocal, Folder: "/elsewhere/keeper"}
		}
		if with := Decide(q); openness(with) > openness(without) {
			t.Fatalf("with a memory %+v, without %+v", with, without)
		}
	})
}
