package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestPushArguments: what is wrong is refused before anything is pushed.
func TestPushArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"": "", "fixer more": "", "fixer --base next": "go with --pull-request",
		"fixer --title x": "go with --pull-request"} {
		home := t.TempDir()
		cmd := newPush(&console.Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Cwd: home,
			Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" }})
		cmd.SetArgs(strings.Fields(args))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); console.Code(err) != troupe.ExitUsage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("push %q: %v", args, err)
		}
	}
}
