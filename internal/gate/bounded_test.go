package gate

import (
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestBoundedRules: a rule of one who only operates at a server lets nothing that is protected be written, however it
// is spelled, and nothing run outside of the sandbox; the same rule of another does.
func TestBoundedRules(t *testing.T) {
	t.Parallel()
	confined := []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
	server := troupe.Access{Class: troupe.ClassExec, Unconfined: true}
	const hook = "/proj/.git/hooks/post-commit"
	for _, tt := range []struct {
		rule, tool string
		access     troupe.Access
		levels     []troupe.Level
		both       bool // it allows, whoever gave it
	}{
		{"Edit({.git/hooks/post-commit,zz})", "Write", writes(hook), confined, false},
		{"Edit({.envrc,a})", "Write", writes("/proj/.envrc"), confined, false},
		{"Edit(mise.toml)", "Edit", writes("/proj/mise.toml"), confined, false},
		{"Edit(/mise.toml)", "Edit", writes("/proj/a", "/proj/mise.toml"), confined, false},
		{"Edit(mise.toml)", "Bash", bash("echo x > mise.toml"), confined, false},
		{"Bash(echo evil > .git/hooks/post-commit)", "Bash", bash("echo evil > .git/hooks/post-commit"), confined,
			false},
		{"Edit(mise.toml)", "Bash", bash("git checkout old"), confined, false},
		{"Bash(make test)", "Bash", bash("make test"), nil, false},
		{"Bash", "Bash", bash("make test"), nil, false},
		{"mcp__srv", "mcp__srv__do", server, confined, false},
		{"mcp__srv__do", "mcp__srv__do", server, confined, false},
		{"mcp__srv", "mcp__srv__do", troupe.Access{Class: troupe.ClassExec}, confined, true},
		{"Edit({a,b})", "Write", writes("/proj/a"), confined, true},
		{"Bash(make test > log)", "Bash", bash("make test > log"), confined, true},
		{"Bash(make test)", "Bash", bash("make test"), confined, true},
	} {
		for _, bounded := range []bool{false, true} {
			q := query(tt.tool, tt.access, allows(t, tt.rule, "Edit(/a)", "Bash(echo *)", "Bash(git checkout *)")...)
			for i := range q.Chain[0].Rules {
				q.Chain[0].Rules[i].Written.Bounded = bounded
			}
			q.Levels, q.Protected = tt.levels, []string{"/proj/.git/hooks", "/proj/.envrc", "/proj/mise.toml"}
			q.GitChanges = func([]string) []string { return []string{"/proj/mise.toml"} }
			d := Decide(q)
			allowed := d.Effect == troupe.Allow && !IsReadOnlyRun(d)
			if want := tt.both || !bounded; allowed != want {
				t.Errorf("%s, bounded %t: %s %+v: %+v", tt.rule, bounded, tt.tool, tt.access, d)
			}
			if bounded && slices.Contains(d.Opens, "/proj/mise.toml") && d.Effect == troupe.Allow {
				t.Errorf("%s opens %v", tt.rule, d.Opens)
			}
			q.Chain[0].Mode = troupe.ModeDefault
			if d := Decide(q); tt.access.Unconfined && bounded && (d.Effect != troupe.Ask || !d.Unconfined) {
				t.Errorf("%s does not say that it is unconfined: %+v", tt.rule, d)
			}
		}
	}
}
