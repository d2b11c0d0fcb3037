package gate

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestClosed: what settings keep from being written is denied to tools, redirects and git, whatever rules and answers
// say; only where there is no sandbox at all it is open.
func TestClosed(t *testing.T) {
	t.Parallel()
	all := allows(t, "Edit", "Bash", "Edit(/keep.txt)", "Write(/keep.txt)")
	for _, tt := range []struct {
		tool   string
		access troupe.Access
		mode   troupe.Mode
		want   troupe.Effect
	}{
		{"Write", writes("/proj/keep.txt"), troupe.ModeDefault, troupe.Deny},
		{"Edit", writes("/proj/other", "/proj/keep.txt"), troupe.ModeAcceptEdits, troupe.Deny},
		{"Edit", writes("/proj/keep.txt"), troupe.ModeBypass, troupe.Allow},
		{"Edit", writes("/proj/other"), troupe.ModeDefault, troupe.Allow},
		{"Read", troupe.Access{Class: troupe.ClassRead, Reads: []string{"/proj/keep.txt"}}, troupe.ModeDefault,
			troupe.Allow},
		{"Bash", bash("echo x > keep.txt"), troupe.ModeDefault, troupe.Deny},
		{"Bash", bash("cat keep.txt > other"), troupe.ModeDefault, troupe.Allow},
		{"Bash", bash("git checkout old"), troupe.ModeDefault, troupe.Deny},
		{"Bash", bash("git log"), troupe.ModeDefault, troupe.Allow},
	} {
		q := query(tt.tool, tt.access, all...)
		q.Chain[0].Mode, q.Levels = tt.mode, []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
		q.Protected = []string{"/proj/keep.txt"}
		q.GitChanges = func([]string) []string { return []string{"/proj/keep.txt"} }
		q.Closed = func(path string) string {
			if path == "/proj/keep.txt" {
				return "settings say so"
			}
			return ""
		}
		d := Decide(q)
		const why = "/proj/keep.txt stays as it is: settings say so"
		if d.Effect != tt.want ||
			d.Effect == troupe.Deny && (d.Source != "sandbox.deny_write" || !strings.Contains(d.Why, why)) {
			t.Errorf("%s %+v in %s: %+v", tt.tool, tt.access, tt.mode, d)
		}
	}
}

// TestClosedIsOfFiles: what a command writes to no file, or to one whose name no one knows yet, is no closed place: the
// kernel holds the latter.
func TestClosedIsOfFiles(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]troupe.Effect{
		"ls 2>/dev/null": troupe.Allow, "ls >/dev/null 2>&1": troupe.Allow, "echo x > /dev/stderr": troupe.Allow,
		"sh -c 'ls 2>/dev/null'": troupe.Allow, "ls > $(mktemp)": troupe.Allow, "ls > /elsewhere": troupe.Deny,
		"ls 2>/dev/null > /elsewhere": troupe.Deny,
	} {
		q := query("Bash", bash(command), allows(t, "Bash")...)
		q.Levels = []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
		q.Resolve = func(path string) string { return strings.Replace(path, "/dev/std", "/proc/self/fd/", 1) }
		q.Closed = func(path string) string {
			if troupe.Within(path, "/proj") {
				return ""
			}
			return "it is outside"
		}
		if d := Decide(q); d.Effect != want {
			t.Errorf("%s: %s, %s", command, d.Effect, d.Why)
		}
	}
}

// TestClosedInBypass: a session whose commands are held to its folder is held there with its tools, whatever its mode.
func TestClosedInBypass(t *testing.T) {
	t.Parallel()
	for bound, want := range map[troupe.Level]troupe.Effect{"": troupe.Allow, troupe.LevelWorkspace: troupe.Deny} {
		q := query("Write", writes("/caller/a"))
		q.Chain[0].Mode, q.Chain[0].Sandbox = troupe.ModeBypass, bound
		q.Levels = []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
		q.Closed = func(path string) string { return "it belongs to another" }
		if d := Decide(q); d.Effect != want {
			t.Errorf("bound to %q: %s, %s", bound, d.Effect, d.Why)
		}
	}
}
