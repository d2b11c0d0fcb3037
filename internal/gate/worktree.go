package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate/command"
	"github.com/troupe-dev/troupe/internal/gate/rule"
)

// Git takes the files of another commit one after the other, and goes on when it is refused one: it
// would leave the work tree half there. So what it would change of what is protected is found out
// before it starts, and is either opened to it or asked about.

// changesOfGit are the protected files that git commands in the call would change.
func changesOfGit(c *call, q *Query) []target {
	if q.GitChanges == nil || !slices.Contains(c.levels, troupe.LevelWorkspace) || !c.runsGit() {
		return nil
	}
	var out []target
	seen := map[string]bool{}
	for i := range c.shell.parts {
		p := &c.shell.parts[i]
		if len(p.Words) < 2 || path.Base(p.Words[0].Text) != "git" {
			continue
		}
		folder, args, changes := command.GitChangesTree(p.Words[1:])
		if !changes {
			continue
		}
		if p.Moved || folder != "" {
			args = []string{}
		}
		for _, name := range q.GitChanges(args) {
			if guards := c.guarded(name); len(guards) > 0 && !seen[name] {
				seen[name] = true
				out = append(out, target{name: name, inside: c.isInside(name), guards: guards})
			}
		}
	}
	return out
}

// gitNamed: each protected file that git would change is named by a rule.
func (v *view) gitNamed() bool {
	return !slices.ContainsFunc(v.call.tree, func(t target) bool { return !t.by.holds(v.layer) })
}

// gitHalf: git would begin, and be refused what is protected.
func (v *view) gitHalf() bool {
	return v.mode.Ceiling == troupe.ClassExec && v.bound != troupe.LevelReadOnly && !v.gitNamed()
}

// matchTree notes which files that git changes an allow rule about edits names.
func matchTree(c *call, r *rule.Rule, layer int) {
	for i := range c.tree {
		if t := &c.tree[i]; !t.by.found && matchesFile(r, c, t.name, t.guards) {
			t.by.take(r, layer)
		}
	}
}

// opens are the protected files that the command may write in the workspace: rules name them, or whoever says yes
// does, who is shown them.
func opens(c *call, e troupe.Effect) []string {
	var out []string
	add := func(list []target) {
		for _, t := range list {
			if len(t.guards) > 0 && t.name != "" && (t.by.found || e == troupe.Ask) && !slices.Contains(out, t.name) {
				out = append(out, t.name)
			}
		}
	}
	add(c.tree)
	if !strings.Contains(c.shell.text, ">") {
		return out
	}
	for _, p := range c.parsed().parts {
		for _, t := range p.writes {
			if c.shell.exact.found && t.name != "" && len(t.guards) > 0 {
				t.by = c.shell.exact // the rule holds the name itself
			}
			add([]target{t})
		}
	}
	return out
}

// treeNames says which files those are that no rule names, shortened.
func treeNames(tree []target) string {
	const most = 5
	var out []string
	more := 0
	for _, t := range tree {
		switch {
		case t.by.found:
		case len(out) == most:
			more++
		default:
			out = append(out, rule.Visible(t.name))
		}
	}
	text := strings.Join(out, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// treeGrants are the rules that name them.
func treeGrants(c *call) []string {
	var out []string
	for _, t := range c.tree {
		if !t.by.found {
			out = append(out, ruleFor(c, rule.ToolEdit, t.name))
		}
	}
	return out
}
