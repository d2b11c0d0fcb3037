package gate

import (
	"cmp"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// TestScratchpad: tools for files write the folder that the agents of a tree share in every mode, and nothing else by
// it: no link that leads out, no folder of another tree, and nothing that a rule denies.
func TestScratchpad(t *testing.T) {
	t.Parallel()
	const pad = "/home/u/.local/state/troupe/scratchpads/k3f"
	edit := func(paths ...string) troupe.Access { return troupe.Access{Class: troupe.ClassEdit, Writes: paths} }
	for name, x := range map[string]struct {
		a    troupe.Access
		mode troupe.Mode
		rule string // that denies
		want troupe.Effect
	}{
		"a file":               {a: edit(pad + "/a.md"), want: troupe.Allow},
		"in plan mode":         {a: edit(pad + "/a.md"), mode: troupe.ModePlan, want: troupe.Allow},
		"where nothing asks":   {a: edit(pad + "/a.md"), mode: troupe.ModeDontAsk, want: troupe.Allow},
		"what is protected":    {a: edit(pad + "/.git/hooks/pre-commit"), want: troupe.Allow},
		"itself":               {a: edit(pad), mode: troupe.ModePlan, want: troupe.Deny},
		"through a link":       {a: edit(pad+"/link", "/proj/x"), mode: troupe.ModePlan, want: troupe.Deny},
		"a hidden one by it":   {a: edit(pad+"/keys", "/home/u/.ssh/id"), want: troupe.Deny},
		"another tree's":       {a: edit("/home/u/.local/state/troupe/scratchpads/x/a.md"), want: troupe.Deny},
		"beside them":          {a: edit("/home/u/.local/state/troupe/x"), want: troupe.Ask},
		"denied by a rule":     {a: edit(pad + "/no.md"), rule: "Edit(//**/no.md)", want: troupe.Deny},
		"another, with a rule": {a: edit(pad + "/yes.md"), rule: "Edit(//**/no.md)", want: troupe.Allow},
		"a command":            {a: troupe.Access{Command: "echo x > " + pad + "/a.md"}, want: troupe.Ask},
		"read": {a: troupe.Access{Class: troupe.ClassRead, Reads: []string{pad + "/a.md"}}, mode: troupe.ModeDontAsk,
			want: troupe.Allow},
		"read another tree's": {a: troupe.Access{Class: troupe.ClassRead,
			Reads: []string{"/home/u/.local/state/troupe/scratchpads/x/a.md"}}, want: troupe.Deny},
	} {
		tool := "Write"
		if x.a.Class == troupe.ClassRead {
			tool = "Read"
		} else if x.a.Command != "" {
			tool = "Bash"
		}
		l := Layer{Agent: "main", Mode: cmp.Or(x.mode, troupe.ModeDefault)}
		if x.rule != "" {
			l.Rules = []rule.Rule{parse(t, troupe.Deny, x.rule)}
		}
		d := Decide(Query{Tool: tool, Access: x.a, Chain: []Layer{l}, Roots: []string{"/proj", pad},
			Scratchpad: pad, Home: "/home/u", Protected: []string{"/**/.git/hooks"},
			Hidden: func(p string) (string, bool) {
				return "SSH keys", troupe.Within(p, "/home/u/.ssh")
			}})
		if d.Effect != x.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Effect, d.Why, x.want)
		}
	}
}
