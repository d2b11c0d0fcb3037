package profile

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/front"
	"github.com/troupe-dev/troupe/internal/mcp/entry"
)

// sourceOf is a source with definitions by name.
func sourceOf(scope Scope, definitions ...string) Folder {
	var held []front.File
	for i := 0; i < len(definitions); i += 2 {
		held = append(held, front.File{Path: string(scope) + "/" + definitions[i], Name: definitions[i] + ".md",
			Data: []byte("---\ndescription: d\n" + definitions[i+1] + "\n---\nOf " + string(scope))})
	}
	return Folder{Path: string(scope), Scope: scope, Held: &held}
}

// TestStoredOrder: a stored agent is weaker than all but what is built in and plugins', and with the same name a
// project's gives no more than both do.
func TestStoredOrder(t *testing.T) {
	t.Parallel()
	tools := []troupe.ToolFacts{{Name: "Read", Class: troupe.ClassRead}, {Name: "Write", Class: troupe.ClassEdit},
		{Name: "Bash", Class: troupe.ClassExec}, {Name: "Agent", Schedule: troupe.Birth}}
	load := func(skip func(string, []byte) bool, sources ...Folder) Set {
		set, _ := Load(Sources{Folders: sources, Tools: tools, Skip: skip})
		return set
	}
	has := func(s Set) (out []string) {
		d, err := s.Lookup("x")
		for _, tool := range tools {
			if err == nil && d.has(tool) {
				out = append(out, tool.Name)
			}
		}
		return out
	}
	stored := sourceOf(ScopeStored, "x", "tools: Read, Bash\nmaxTurns: 5\nsandbox: read-only")
	for _, x := range []struct {
		what string
		set  Set
		from Scope
		has  string
	}{
		{"alone", load(nil, stored), ScopeStored, "Read Bash"},
		{"the user's", load(nil, stored, sourceOf(ScopeUser, "x", "")), ScopeUser, "Read Write Bash"},
		{"managed", load(nil, stored, sourceOf(ScopeManaged, "x", "tools: Write")), ScopeManaged, "Write"},
		{"a wider project", load(nil, stored, sourceOf(ScopeProject, "x", "")), ScopeProject, "Read Bash"},
		{"a project with Agent", load(nil, stored, sourceOf(ScopeProject, "x", "tools: Read, Agent")), ScopeProject,
			"Read"},
		{"a project with the vocabulary", load(nil, sourceOf(ScopeStored, "x", ""), sourceOf(ScopeProject, "x",
			"vocabulary: subagents")), ScopeProject, "Read Write Bash"},
		{"a narrower project", load(nil, stored, sourceOf(ScopeProject, "x", "tools: Bash, Write")), ScopeProject,
			"Bash"},
		{"a folder of a project", load(nil, stored, sourceOf(ScopeProject, "x", ""),
			sourceOf(ScopeProject, "x", "tools: '*'")), ScopeProject, "Read Bash"},
		{"a project in the place of the user's", load(nil, stored, sourceOf(ScopeUser, "x", ""),
			sourceOf(ScopeProject, "x", "")), ScopeProject, "Read Write Bash"},
	} {
		d, err := x.set.Lookup("x")
		if got := strings.Join(has(x.set), " "); err != nil || d.Scope != x.from || got != x.has {
			t.Errorf("%s: %s has %q, and should have %q of %s: %v", x.what, d.Scope, got, x.has, x.from, err)
		}
		if bounded := d.MaxTurns == 5 && d.Sandbox == troupe.LevelReadOnly; bounded != (x.from == ScopeStored ||
			x.from == ScopeProject && !strings.Contains(x.has, "Write")) {
			t.Errorf("%s: %d turns, sandbox %q", x.what, d.MaxTurns, d.Sandbox)
		}
	}
	// Where a project's does not count, or cannot be used, nobody gets more than it would have given.
	all := func(string, []byte) bool { return true }
	for _, set := range []Set{load(all, stored, sourceOf(ScopeProject, "x", "tools: Read")),
		load(nil, stored, sourceOf(ScopeProject, "x", "name: 'x'\n- tools"))} {
		if d, err := set.Lookup("x"); err == nil && d.Scope == ScopeStored {
			t.Errorf("the stored one counts: %+v", d)
		}
	}
}

// TestStoredFields: what would run something on the machine, or reach other sessions, is refused in a stored agent, and
// where it is read all the same gives nothing.
func TestStoredFields(t *testing.T) {
	t.Parallel()
	for text, fine := range map[string]bool{
		"hooks: {Stop: [{hooks: [{type: command, command: x}]}]}": false,
		"mcpServers: [{s: {command: x}}]":                         false,
		"mcpServers: [s]":                                         true,
		"mcpServers: s":                                           true,
		"memory: user":                                            false,
		"permissionMode: bypassPermissions":                       false,
		"permissionMode: plan":                                    false,
		"name: Explore":                                           false,
		"name: main":                                              false,
		"tools: Read":                                             true,
	} {
		text = "---\ndescription: d\n" + text + "\n---\nDo."
		c := CheckStored("s", "x", []byte(text), []troupe.ToolFacts{{Name: "Read"}})
		refused := c.Definition == nil || slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Unusable })
		if refused == fine {
			t.Errorf("%s: refused %t: %v", text, refused, c.Problems)
		}
		if d := c.Definition; d != nil && (d.Hooks != nil || d.Memory != "" || d.Mode != "" || slices.ContainsFunc(
			d.Servers.Only, func(r entry.Ref) bool { return r.Inline != nil })) {
			t.Errorf("%s: %+v", text, d)
		}
	}
}
