package gate

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

const planAt = "/home/u/.local/share/troupe/plans/p.md"

// TestPlanFile: in plan mode the plan of the session that calls is the one file that is written, by tools for files and
// by nothing else; deny rules count for it too.
func TestPlanFile(t *testing.T) {
	t.Parallel()
	root := Layer{Agent: "main", Mode: troupe.ModePlan, Plan: planAt}
	plan := []Layer{root}
	bypass := Layer{Agent: "main", Mode: troupe.ModeBypass, Plan: planAt}
	edit := func(paths ...string) troupe.Access { return troupe.Access{Class: troupe.ClassEdit, Writes: paths} }
	for name, x := range map[string]struct {
		chain []Layer
		tool  string
		a     troupe.Access
		deny  string // a rule
		want  troupe.Effect
	}{
		"its plan": {chain: plan, tool: "Write", a: edit(planAt), want: troupe.Allow},
		"its plan, read": {chain: plan, tool: "Read", a: troupe.Access{Reads: []string{planAt}},
			want: troupe.Allow},
		"by Edit, which reads": {chain: plan, tool: "Edit",
			a:    troupe.Access{Class: troupe.ClassEdit, Reads: []string{planAt}, Writes: []string{planAt}},
			want: troupe.Allow},
		"another": {chain: plan, tool: "Write", a: edit("/home/u/.local/share/troupe/plans/q.md"),
			want: troupe.Deny},
		"its plan and more": {chain: plan, tool: "Write", a: edit(planAt, "/proj/x"), want: troupe.Deny},
		"through a link":    {chain: plan, tool: "Write", a: edit("/proj/link", planAt), want: troupe.Deny},
		"a command that says so": {chain: plan, tool: "Bash",
			a:    troupe.Access{Class: troupe.ClassExec, Command: "echo x > " + planAt, Writes: []string{planAt}},
			want: troupe.Deny},
		"a call of no class": {chain: plan, tool: "Preview",
			a: troupe.Access{Class: troupe.ClassExec, Writes: []string{planAt}}, want: troupe.Deny},
		"denied by a rule": {chain: plan, tool: "Write", a: edit(planAt), deny: "Write", want: troupe.Deny},
		"a child of who plans": {chain: []Layer{root, {Agent: "main/x", Mode: troupe.ModePlan}}, tool: "Write",
			a: edit(planAt), want: troupe.Deny},
		"in its own, a child": {chain: []Layer{{Agent: "main", Mode: troupe.ModeDontAsk}, root}, tool: "Write",
			a: edit(planAt), want: troupe.Allow},
		"out of plan mode": {chain: []Layer{{Agent: "main", Mode: troupe.ModeDefault, Plan: planAt}},
			tool: "Write", a: edit(planAt), want: troupe.Ask},
		"when hidden, after it": {chain: []Layer{bypass}, tool: "Read", a: troupe.Access{Reads: []string{planAt}},
			want: troupe.Deny},
	} {
		q := Query{Tool: x.tool, Access: x.a, Roots: []string{"/proj"}, Chain: x.chain,
			Protected: []string{"/home/u/.local/share/troupe"},
			Hidden: func(path string) (string, bool) {
				return "Troupe's own", troupe.Within(path, "/home/u/.local/share/troupe")
			}}
		if x.want == troupe.Ask {
			q.Hidden = nil
		}
		if x.deny != "" {
			q.Chain = []Layer{root}
			q.Chain[0].Rules = []rule.Rule{parse(t, troupe.Deny, x.deny)}
		}
		if d := Decide(q); d.Effect != x.want {
			t.Errorf("%s: %+v, want %s", name, d, x.want)
		}
	}
}

// TestDangerousRules: what leaves open what is run does not count while an agent of the line plans.
func TestDangerousRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Bash": true, "Bash(*)": true, "Bash(python3:*)": true, "Bash(node *)": true, "Bash(sudo:*)": true,
		"Bash(bash -c:*)": true, "Bash(/usr/bin/python3 *)": true, "Bash(npx:*)": true, "Agent": true, "Agent(*)": true,
		"Bash(go test ./...)": false, "Bash(go test:*)": false, "Bash(python3 x.py)": false, "Read": false,
		"Agent(Explore)": false, "Read(//etc/**)": false, "Write": false,
	} {
		r := parse(t, troupe.Allow, text)
		if got := dangerous(&r); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	chain := []Layer{{Mode: troupe.ModeDefault, Rules: []rule.Rule{parse(t, troupe.Allow, "Bash"),
		parse(t, troupe.Allow, "Bash(go test:*)"), parse(t, troupe.Deny, "Bash(rm:*)")}}}
	for _, l := range InForce(chain) {
		if l.Problem != "" {
			t.Errorf("out of plan mode %s: %s", l.Rule.Text, l.Problem)
		}
	}
	for _, l := range InForce(append(chain, Layer{Mode: troupe.ModePlan})) {
		if (l.Problem != "") != (l.Rule.Text == "Bash") {
			t.Errorf("while one plans, %s: %q", l.Rule.Text, l.Problem)
		}
	}
}
