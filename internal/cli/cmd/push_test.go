package cmd

import (
	"bytes"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
)

// TestPushArguments: what is wrong is refused before anything is pushed.
func TestPushArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"fixer", "more"}, {"fixer", "--base", "next"}, {"fixer", "--title", "x"}} {
		home := t.TempDir()
		cmd := newPush(&console.Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Cwd: home,
			Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" }})
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); console.Code(err) != troupe.ExitUsage {
			t.Errorf("push %q: %v", args, err)
		}
	}
}
