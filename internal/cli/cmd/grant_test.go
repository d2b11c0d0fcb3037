package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestGrantIsVisible: the rule that a yes would make is an agent's command. What it holds shows as text, on its
// own line: else it could hide its end, or look like an answer, a folder or another request.
func TestGrantIsVisible(t *testing.T) {
	t.Parallel()
	r := wire.Request{
		ID: "9m20-1.0", Root: apitest.Root, Path: "main/a\x1b[2J", Tool: "Bash\u202e", Since: apitest.Born(),
		Until: apitest.Born().Add(time.Hour), Action: "echo a\x1b[1A", File: "/h/a\x1b[3m\n.yaml",
		Grant: "Bash(echo a\x1b[8m\u202e\n9m20-1.0  main asks for Read)",
	}
	var b bytes.Buffer
	writeRequest(&console.Console{Out: &b}, r, apitest.Born())
	shown := map[string]string{"request": b.String()}
	for name, out := range map[string]answered{
		"once": {Allow: true}, "session": {Allow: true, Session: true},
		"always": {Allow: true, Session: true, Always: true}, "denied": {},
	} {
		var b bytes.Buffer
		if err := tellAnswer(&console.Console{Out: &b}, wire.Tree{Running: true}, r, out); err != nil {
			t.Fatal(err)
		}
		shown[name] = b.String()
	}
	const grant = `Bash(echo a\u{001b}[8m\u{202e}\n9m20-1.0  main asks for Read)`
	for name, text := range shown {
		if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\n9m20-1.0  main") {
			t.Errorf("%s shows what the agent wrote as it is: %q", name, text)
		}
		if asks := name != "once" && name != "denied"; strings.Contains(text, grant) != asks {
			t.Errorf("%s: %q, want the rule %s: %v", name, text, grant, asks)
		}
	}
}
