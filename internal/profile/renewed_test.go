package profile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/profile"
)

// A tree's types follow their files, but for what came by a flag, what is gone and what cannot be used any more.
func TestRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	load := func(flag string) profile.Set {
		set, _ := profile.Load(profile.Sources{Folders: []profile.Folder{{Path: dir, Scope: profile.ScopeUser}},
			Flag: flag})
		return set
	}
	agent := func(name, text string) string {
		return "---\nname: " + name + "\ndescription: " + text + "\ntools: Read\n---\nDo it.\n"
	}
	write("same.md", agent("same", "as it was"))
	write("other.md", agent("other", "as it was"))
	write("gone.md", agent("gone", "as it was"))
	write("spoilt.md", agent("spoilt", "as it was"))
	served := func(name, text, server string) string {
		return strings.Replace(agent(name, text), "tools: Read", "mcpServers: ["+server+"]", 1)
	}
	write("served.md", served("served", "as it was", "one"))
	write("worded.md", served("worded", "as it was", "one"))
	had := load(`{"flagged": {"description": "by flag", "prompt": "x"}}`)
	// As another process reads it.
	var kept profile.Set
	if data, err := json.Marshal(had); err != nil || json.Unmarshal(data, &kept) != nil {
		t.Fatal(err)
	}
	if _, names := kept.Renewed(load("")); names != nil {
		t.Errorf("nothing has changed, and %q is told", names)
	}
	write("other.md", agent("other", "otherwise"))
	write("new.md", agent("new", "it is new"))
	write("flagged.md", agent("flagged", "by file"))
	guard := "hooks: {PreToolUse: [{hooks: [{type: command, command: guard}]}]}\ntools: Read"
	write("guarded.md", strings.Replace(agent("guarded", "begins with hooks"), "tools: Read", guard, 1))
	write("same.md", strings.Replace(agent("same", "gets hooks"), "tools: Read", guard, 1))
	write("served.md", served("served", "has another server", "two"))
	write("worded.md", served("worded", "otherwise", "one"))
	write("spoilt.md", "---\nname: spoilt\ntools: [\n---\n")
	write("explore.md", agent("Explore", "of the user's own"))
	if err := os.Remove(filepath.Join(dir, "gone.md")); err != nil {
		t.Fatal(err)
	}
	now, names := kept.Renewed(load(""))
	if want := []string{"Explore", "new", "other", "worded"}; !slices.Equal(names, want) {
		t.Errorf("told are %q, want %q", names, want)
	}
	for name, want := range map[string]string{"same": "as it was", "other": "otherwise", "gone": "as it was",
		"spoilt": "as it was", "new": "it is new", "flagged": "by flag", "Explore": "of the user's own",
		"served": "as it was", "worded": "otherwise"} {
		if d, err := now.Lookup(name); err != nil || d.Description != want {
			t.Errorf("%s is %q (%v), want %q", name, d.Description, err, want)
		}
	}
	if _, err := now.Lookup("guarded"); err == nil {
		t.Error("an agent can be started without the hooks that its definition gives it")
	}
	if _, names := now.Renewed(load("")); names != nil {
		t.Errorf("%q is told twice", names)
	}
}
