package live_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/live"
)

// TestWhat: of a call the argument that says most is shown, and of a server's tool, of which nothing is known, all.
func TestWhat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, input, want string }{
		{"Read", `{"file_path":"/w/a.go","limit":3}`, "a.go"},
		{"Bash", `{"description":"build","command":"go build"}`, "go build"},
		{"TaskList", `{}`, ""},
		{"mcp__db__query", `{"path":"/w/x","sql":"drop table t"}`, `{"path":"/w/x","sql":"drop table t"}`},
		{"mcp__db__list", ` {} `, ""},
		{"mcp__db__query", `{"sql`, ""},
	} {
		if got := live.What(troupe.Call{Name: c.name, Input: c.input}, "/w"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.input, got, c.want)
		}
	}
}
