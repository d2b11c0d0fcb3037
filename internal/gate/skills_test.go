package gate

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

// Whatever a skill says of tools, a session that uses it may do no more than before, nor may one below it.
func TestNoSkillWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := genQuery(t)
		without := Decide(q)
		n := rapid.IntRange(0, len(q.Chain)-1).Draw(t, "who uses it")
		q.Chain = slices.Clone(q.Chain)
		use := troupe.SkillUse{Name: "s", Folder: "/etc", Model: rapid.String().Draw(t, "model"),
			Effort: troupe.Effort(rapid.String().Draw(t, "effort"))}
		if rapid.Bool().Draw(t, "narrows") {
			use.Narrows = &troupe.Narrowing{}
			for range rapid.IntRange(0, 3).Draw(t, "tools") {
				use.Narrows.Tools = append(use.Narrows.Tools,
					rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
						return genRule(t).Written.Text
					})).Draw(t, "tool"))
			}
		}
		q.Chain[n] = known().Following(q.Chain[n], []troupe.SkillUse{use})
		if with := Decide(q); openness(with) > openness(without) {
			t.Fatalf("with the skill %+v, without %+v", with, without)
		}
	})
}

// What a skill leaves is read as strictly as an allow rule.
func TestNarrowing(t *testing.T) {
	t.Parallel()
	levels := []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
	for _, c := range []struct {
		tools   []string
		without []string
		tool    string
		access  troupe.Access
		left    bool
	}{
		{[]string{"Read"}, nil, "Read", troupe.Access{Reads: []string{"/proj/a"}}, true},
		{[]string{"Read"}, nil, "Grep", troupe.Access{Reads: []string{"/proj/a"}}, true},
		{[]string{"Read"}, nil, "Edit", troupe.Access{Class: troupe.ClassEdit, Writes: []string{"/proj/a"}}, false},
		{[]string{"Read"}, nil, "Bash", bash("ls"), false},
		{[]string{"Bash"}, nil, "Bash", bash("rm x"), true},
		{[]string{"Bash(git log:*)"}, nil, "Bash", bash("git log -3"), true},
		{[]string{"Bash(git log:*)"}, nil, "Bash", bash("git log -3; rm x"), false},
		{[]string{"Bash(git log:*)"}, nil, "Bash", bash("git logs"), false},
		{[]string{"Edit(src/**)"}, nil, "Edit", troupe.Access{Class: troupe.ClassEdit, Writes: []string{"/proj/src/a"}},
			true},
		{[]string{"Edit(src/**)"}, nil, "Edit", troupe.Access{Class: troupe.ClassEdit, Writes: []string{"/proj/a"}},
			false},
		{[]string{"Agent(Explore)"}, nil, "Agent", troupe.Access{Agent: "Plan"}, false},
		{[]string{"Agent(Explore)"}, nil, "Agent", troupe.Access{Agent: "Explore"}, true},
		{[]string{}, nil, "Read", troupe.Access{Reads: []string{"/proj/a"}}, false},
		{[]string{"Bash(("}, nil, "Bash", bash("ls"), false},
		{[]string{"Read"}, nil, "TaskCreate", troupe.Access{}, true},
		{[]string{}, nil, "AskUserQuestion", troupe.Access{}, true},
		{[]string{}, []string{"AskUserQuestion"}, "AskUserQuestion", troupe.Access{}, false},
		{[]string{"Edit"}, nil, "Grep", troupe.Access{}, false},
		{[]string{"Read"}, nil, "Skill", troupe.Access{Agent: "other"}, false},
		{[]string{"Read"}, nil, "WebSearch", troupe.Access{URL: "https://example.com/"}, false},
		{[]string{"Read"}, nil, "mcp__a__b", troupe.Access{Class: troupe.ClassExec}, false},
		{nil, []string{"Bash"}, "Bash", bash("ls"), false},
		{nil, []string{"Bash"}, "Read", troupe.Access{Reads: []string{"/proj/a"}}, true},
	} {
		use := []troupe.SkillUse{{Name: "s", Narrows: &troupe.Narrowing{Tools: c.tools, Without: c.without}}}
		l := known().Following(Layer{Agent: "main", Mode: troupe.ModeBypass}, use)
		for _, chain := range [][]Layer{{l}, {l, {Agent: "main/x", Mode: troupe.ModeBypass}}} {
			if len(chain) > 1 && known().Facts(c.tool).Holder != troupe.AnyAgent {
				continue
			}
			d := Decide(Query{Tool: c.tool, Access: c.access, Chain: chain, Roots: []string{"/proj"}, Levels: levels})
			if (d.Effect == troupe.Allow) != c.left || !c.left && (d.Step != StepSkill ||
				!strings.Contains(d.Why, "the skill s leaves")) {
				t.Errorf("%v %v: %s %+v: %+v", c.tools, c.without, c.tool, c.access, d)
			}
		}
	}
}

// The folder of a skill may be read, and no more.
func TestSkillsFolder(t *testing.T) {
	t.Parallel()
	q := Query{Tool: "Read", Access: troupe.Access{Reads: []string{"/s/a"}}, Roots: []string{"/proj"},
		Readable: []string{"/s"}, Chain: []Layer{{Mode: troupe.ModeAcceptEdits}}}
	if d := Decide(q); d.Effect != troupe.Allow {
		t.Error(d)
	}
	q.Tool, q.Access = "Edit", troupe.Access{Class: troupe.ClassEdit, Reads: []string{"/s/a"}, Writes: []string{"/s/a"}}
	if d := Decide(q); d.Effect != troupe.Ask {
		t.Error(d)
	}
	q.Tool, q.Access = "Read", troupe.Access{Reads: []string{"/s2/a"}}
	if d := Decide(q); d.Effect != troupe.Ask {
		t.Error(d)
	}
	deny, _ := ParseRule(troupe.Rule{Effect: troupe.Deny, Text: "Read(//s/**)"})
	q.Access, q.Chain[0].Rules = troupe.Access{Reads: []string{"/s/a"}}, append(q.Chain[0].Rules, deny)
	if d := Decide(q); d.Effect != troupe.Deny {
		t.Error(d)
	}
}
