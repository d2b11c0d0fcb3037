package cmd

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestWriteVerdict: a person reads a verdict line by line, without what says nothing and nothing that obeys a terminal.
func TestWriteVerdict(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	c := &console.Console{Out: &b, OutTTY: true, Lookup: func(string) (string, bool) { return "", false }}
	writeVerdict(c, wire.Verdict{Decision: troupe.Deny, Sandbox: troupe.LevelNone, Rule: "Bash(git push:*)",
		Source: "/s.json", Why: "a rule\x1b denies it"})
	const want = "decision  deny\nrule      Bash(git push:*)\nin        /s.json\nwhy       a rule\\u{001b} denies it\n"
	if b.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", b.String(), want)
	}
}
