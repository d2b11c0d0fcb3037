package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/internal/profile"
)

// What a definition brought in once counts for agents of then, but not what could have been changed since: a project's
// that is not trusted, and what runs a file of the folder.
func TestFormerServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "srv.py"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	define := func(scope profile.Scope, server string) definitions {
		from := filepath.Join(t.TempDir(), ".claude", "agents")
		if err := os.MkdirAll(from, 0o700); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: x\ndescription: x\nmcpServers: [{" + server + "}}]\n---\nWork.\n"
		if err := os.WriteFile(filepath.Join(from, "x.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set, problems := profile.Load(profile.Sources{Folders: []profile.Folder{{Path: from, Scope: scope}}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return definitions{Types: set}
	}
	none, _ := profile.Load(profile.Sources{})
	for _, c := range []struct {
		scope   profile.Scope
		command string
		trusted bool
		has     bool
	}{
		{profile.ScopeUser, "server", false, true},
		{profile.ScopeProject, "server", true, true},
		{profile.ScopeProject, "server", false, false},
		{profile.ScopeUser, "python3, args: [srv.py]", true, false},
	} {
		before := define(c.scope, "own: {command: "+c.command)
		for what, now := range map[string]profile.Set{
			"gone": none, "changed": define(profile.ScopeUser, "other: {command: server").Types,
		} {
			p := &profiles{definitions: definitions{Types: now, Cwd: dir}}
			p.remember(before, c.trusted)
			p.remember(definitions{Types: now, Former: p.Former}, c.trusted) // by the next process
			refs := p.refs("X")
			has := len(refs.Former) > 0
			for _, r := range refs.Named {
				has = has || r.Bad == "" && r.Name == "own"
			}
			if has != c.has {
				t.Errorf("%+v, its definition %s: has it: %v", c, what, has)
			}
		}
	}
}
