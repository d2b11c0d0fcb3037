package cmd

import (
	"bytes"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestRuleListWords: `troupe permissions list` in the words that people read.
func TestRuleListWords(t *testing.T) {
	t.Parallel()
	list := wire.RuleList{
		Mode: troupe.ModeDefault, Levels: []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}, Untrusted: true,
		Rules: []wire.RuleRow{
			{Effect: troupe.Deny, Rule: "Bash(curl:*)", Source: "/p/.claude/settings.json",
				Meaning: "commands that begin with curl", Shadows: []string{"allow Bash(curl:*)"}},
			{Effect: troupe.Allow, Rule: "Bash(curl:*)", Source: "--allowed-tools",
				Meaning: "commands that begin with curl", Shadowed: []string{"deny Bash(curl:*)"},
				Problem: "it is written twice"},
		},
		Without: []wire.RuleRow{{Effect: troupe.Allow, Rule: "Edit", Source: "/p/x\x1b[31m", Meaning: "all edits"}},
		Hidden:  []wire.Kept{{}, {}}, Protected: []wire.Kept{{}},
	}
	for want, l := range map[string]wire.RuleList{
		`mode       default
sandbox    commands can be confined: read-only, workspace
trust      this folder is not trusted: what its own files allow does not count (troupe --trust)
hidden     agents cannot read 2 places, such as keys; --json lists them
protected  agents cannot change 1 place without a question, such as git hooks; --json lists them

deny  Bash(curl:*)
      commands that begin with curl
      in /p/.claude/settings.json
      is stronger than allow Bash(curl:*)

allow Bash(curl:*)
      commands that begin with curl
      in --allowed-tools
      ! it is written twice
      has no effect, because this rule is stronger: deny Bash(curl:*)

off   allow Edit
      does not count until this folder is trusted (troupe --trust)
      all edits
      in /p/x\u{001b}[31m
`: list,
		`mode       plan
sandbox    none on this machine: what a command does is judged by its text
hidden     agents cannot read 0 places, such as keys; --json lists them
protected  agents cannot change 0 places without a question, such as git hooks; --json lists them

No rules are set.
`: {Mode: troupe.ModePlan},
	} {
		var out bytes.Buffer
		c := &console.Console{Out: &out, Lookup: func(string) (string, bool) { return "", false }}
		if err := writeRuleList(c, l); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
}
