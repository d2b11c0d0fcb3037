package chat

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/wire"
)

// The commands of the conversation, under each of their names, are those that no file replaces, and no others.
func TestBuiltInCommands(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range commands() {
		for _, name := range append([]string{c.name}, c.aliases...) {
			known[name] = true
			if _, _, ok := wire.SlashCommand("/" + name); ok && !wire.BuiltInCommand(name) {
				t.Errorf("wire.BuiltInCommand does not have %q", name)
			}
		}
	}
	for _, name := range wire.BuiltInCommands() {
		if !known[name] {
			t.Errorf("no file may be called %q, and no command is", name)
		}
	}
}

// A command of a file is sent as it is typed; what is none is kept from being taken for one.
func TestCommandsOfFiles(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/ship now": "/ship now", "/Ship": "/Ship", "/sub:dir a b": "/sub:dir a b",
		"//ship now": "//ship now", "/usr/bin is full": "/usr/bin is full", "//tmp is": "//tmp is", "// x": "// x",
	} {
		m := &machine{begun: true, skills: map[string]bool{"ship": true, "sub:dir": true, "undo": true}}
		acts := m.line(typed, -1)
		if len(acts) != 1 || acts[0].kind != actSend {
			t.Errorf("%q: %+v", typed, acts)
			continue
		}
		m.skills = map[string]bool{"ship": strings.HasPrefix(typed, "/") && !strings.HasPrefix(typed, "//"),
			"sub:dir": true}
		if got := literal(m, acts[0].text); got != want {
			t.Errorf("%q: sent %q, want %q", typed, got, want)
		}
	}
	m := &machine{begun: true, skills: map[string]bool{"undo": true}}
	if acts := m.line("/undo", -1); len(acts) != 1 || acts[0].kind != actCommand {
		t.Errorf("%+v", acts)
	}
}
